package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.FilePart;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.data.files.CsvFormat.Column;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Opens {@code csv}: one file, or {@code train.csv} and {@code test.csv}, raw or {@code .gz}, with
 * one sample on each line.
 *
 * <p>Options: {@code label} (column of the class, by its name in line 1 or counted from 1; 1) and
 * {@code classes} (10, or found), or instead of both {@code labels} (columns of labels that are 0
 * or 1) or {@code targets} (columns of real values); {@code features} or {@code ignore} (columns
 * that are inputs, or are not), {@code categories} (feature columns of words); {@code missing}
 * (refuse); {@code normalization} (raw or standard), {@code scale} (factor on every value; 1),
 * {@code shape} (such as {@code [1, 28, 28]}; flat), {@code header} (whether line 1 holds names;
 * true if an option uses one), {@code separator} (between two values; a comma), {@code quote}
 * (around values; the double quote), {@code decimal} (mark in numbers; a point), {@code testShare}
 * (share of the rows for testing if there is no {@code test.csv}) and {@code seed} (of their
 * choice; 1), {@code augmentation} (none; others need a shape).
 */
public final class CsvProvider implements DatasetProvider {

  private static final int MOST_COLUMNS = 1_000_000;
  private static final int MOST_CLASSES = 100_000;
  private static final double USUAL_SHARE = 0.1;
  private static final String NORMALIZATION = "normalization";
  private static final String AUGMENTATION = "augmentation";
  private static final String OF_NUMBERS_AND_LINES = "0123456789+-.eE\r\n";
  private static final String TRAIN = "train.csv";
  private static final String TEST = "test.csv";
  private static final String ADVICE =
      "name one file, or the folder with train.csv and test.csv, with --data";

  /**
   * The options, and how rows are divided into splits.
   *
   * @param share share of the rows for testing, if one file holds both splits; else empty
   */
  private record Options(CsvFormat format, OptionalDouble share, long seed) {}

  @Override
  public String name() {
    return "csv";
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(kind(config.settings()));
  }

  @Override
  public List<String> classNames(DataConfig config) {
    Options options = options(config);
    if (!options.format().findsClasses()) {
      return List.of();
    }
    boolean one = isOneFile(config);
    if (!one) {
      Optional<Path> training = folder(config).find(TRAIN);
      if (training.isEmpty() || !CsvSamples.hasWordsForLabels(training.get(), options.format())) {
        return List.of();
      }
    }
    return open(config, Split.TRAIN).classNames();
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Options options = options(config);
    CsvFormat format = options.format();
    Path file = file(config, options, split);
    if (options.share().isPresent()) {
      CsvSamples samples =
          config.fitted().isEmpty()
              ? CsvSamples.read(file, format, isOneFile(config))
              : CsvSamples.read(file, format, CsvDataset.columns(config.fitted()));
      int size = samples.size();
      double share = options.share().getAsDouble();
      if (size < 2) {
        throw new DataException(
            "%s: holds 1 sample, expected at least 2, one to train and one to test on"
                .formatted(file));
      }
      int[] training = TestShare.split(size, share, options.seed(), Split.TRAIN);
      CsvColumns fitted = samples.fit(training);
      return samples.dataset(
          split == Split.TRAIN ? training : TestShare.split(size, share, options.seed(), split),
          fitted);
    }
    if (!config.fitted().isEmpty()) {
      return whole(CsvSamples.read(file, format, CsvDataset.columns(config.fitted())));
    }
    boolean alone = !format.isFitted() && folder(config).find(TRAIN).isEmpty();
    return split == Split.TRAIN || alone
        ? whole(CsvSamples.read(file, format, false))
        : whole(CsvSamples.read(file, format, trained(file(config, options, Split.TRAIN), format)));
  }

  /** Returns the columns of the training file; reads no more of it than they need. */
  private static CsvColumns trained(Path file, CsvFormat format) {
    if (!format.isFitted()
        && !(format.findsClasses() && CsvSamples.hasWordsForLabels(file, format))) {
      return CsvSamples.columns(file, format);
    }
    CsvSamples training = CsvSamples.read(file, format, false);
    return training.fit(all(training));
  }

  @Override
  public List<String> warnings(DataConfig config) {
    Options options = options(config);
    return CsvSamples.warnings(
        file(config, options, Split.TRAIN), options.format(), isOneFile(config));
  }

  @Override
  public void check(DataConfig config, Split split) {
    file(config, options(config), split);
  }

  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    Path file = file(config, options(config), split);
    long hash = DataFingerprint.hash(opened);
    return Optional.of(DataFingerprint.of(opened, List.of(FilePart.of(file, file, hash))));
  }

  @Override
  public Dataset unlabelled(DataConfig config, Path file, List<Integer> shape) {
    CsvFormat format = options(config).format();
    if (!config.fitted().isEmpty()) {
      return whole(CsvSamples.unlabelled(file, format, CsvDataset.columns(config.fitted())));
    }
    if (format.fitsInputs()) {
      throw new DataException(
          "%s: the model was saved without the columns of its training, expected one that was trained with this version"
              .formatted(file));
    }
    int values = shape.stream().reduce(1, Math::multiplyExact);
    return whole(CsvSamples.unlabelled(file, format, values));
  }

  @Override
  public Dataset unlabelled(DataConfig config, String line, List<Integer> shape) {
    CsvFormat format = options(config).format();
    CsvColumns columns =
        config.fitted().isEmpty()
            ? columnsOf(format, shape.stream().reduce(1, Math::multiplyExact))
            : CsvDataset.columns(config.fitted());
    return whole(CsvSamples.unlabelled(line, format, columns));
  }

  @Override
  public String describe(DataConfig config, Dataset opened) {
    CsvColumns columns = CsvDataset.columns(opened.fitted());
    Settings options = config.settings();
    Targets.Kind kind = kind(options);
    String option =
        kind == Targets.Kind.CLASS ? "label" : kind == Targets.Kind.LABELS ? "labels" : "targets";
    String named =
        columns.targets().stream()
            .limit(MOST_CLASSES_SHOWN)
            .map(columns::name)
            .collect(Collectors.joining(", "));
    return "%s %s%s%s, %s"
        .formatted(
            option,
            named,
            columns.targets().size() > MOST_CLASSES_SHOWN ? ", ..." : "",
            options.has(option) ? "" : ", because data.label is not set",
            DatasetProvider.super.describe(config, opened));
  }

  @Override
  public List<TargetColumn> targetColumns(DataConfig config) {
    return kind(config.settings()) != Targets.Kind.CLASS && !config.fitted().isEmpty()
        ? CsvDataset.columns(config.fitted()).targetColumns()
        : List.of();
  }

  @Override
  public Model adapt(DataConfig config, Model model) {
    List<TargetColumn> columns = targetColumns(config);
    return kind(config.settings()) == Targets.Kind.VALUES && !columns.isEmpty()
        ? new StandardisedModel(model, columns)
        : model;
  }

  @Override
  public Optional<FieldReader> fields(DataConfig config, List<Integer> shape) {
    CsvFormat format = options(config).format();
    if (config.fitted().isEmpty() && format.fitsInputs()) {
      return Optional.empty();
    }
    CsvColumns columns =
        config.fitted().isEmpty()
            ? columnsOf(format, shape.stream().reduce(1, Math::multiplyExact))
            : CsvDataset.columns(config.fitted());
    return Optional.of(new CsvFields(columns, format));
  }

  /**
   * Returns the columns for a model that was saved by an earlier version, which only counted them.
   */
  private static CsvColumns columnsOf(CsvFormat format, int values) {
    List<Integer> targets = format.targetColumns().stream().map(Column::index).toList();
    int count = values + targets.size();
    return CsvColumns.of(
        count,
        List.of(),
        targets,
        IntStream.range(0, count).filter(i -> !targets.contains(i)).boxed().toList());
  }

  private static CsvDataset whole(CsvSamples samples) {
    int[] all = all(samples);
    return samples.dataset(all, samples.fit(all));
  }

  private static int[] all(CsvSamples samples) {
    return IntStream.range(0, samples.size()).toArray();
  }

  private static Options options(DataConfig config) {
    Settings options = config.settings();
    char separator = character(options, "separator", ",");
    char quote = character(options, "quote", "\"");
    if (separator == quote) {
      throw options.refuse("quote", "is the separator too, expected another character");
    }
    DecimalNotation decimal = DecimalNotation.of(options);
    if (decimal.mark() == separator || decimal.mark() == quote) {
      throw options.refuse(
          "decimal",
          "is \"%s\", the %s too, expected another one, such as data.separator \";\""
              .formatted(decimal.mark(), decimal.mark() == separator ? "separator" : "quote"));
    }
    Targets.Kind kind = kind(options);
    List<Column> columns =
        kind == Targets.Kind.CLASS
            ? List.of(label(options))
            : columns(options, kind == Targets.Kind.LABELS ? "labels" : "targets");
    boolean findsClasses = kind == Targets.Kind.CLASS && !options.has("classes");
    Targets targets =
        kind == Targets.Kind.CLASS
            ? Targets.classes(options.integer("classes", 10, 2, MOST_CLASSES))
            : new Targets(kind, columns.size(), 1);
    List<Column> features = optionalColumns(options, "features");
    List<Column> ignored = optionalColumns(options, "ignore");
    if (!features.isEmpty() && !ignored.isEmpty()) {
      throw options.refuse("ignore", "is given beside features, which leaves out all others");
    }
    List<Column> categories = optionalColumns(options, "categories");
    List<Integer> shape = shape(options);
    if (!categories.isEmpty() && !shape.isEmpty()) {
      throw options.refuse("categories", "is given beside shape, expected one of them");
    }
    boolean one = isOneFile(config);
    boolean scaled = options.has("scale");
    boolean standard =
        options
            .choice(
                NORMALIZATION,
                one && shape.isEmpty() && !scaled ? "standard" : "raw",
                "raw",
                "standard")
            .equals("standard");
    if (standard && scaled) {
      throw options.refuse(
          "scale", "is given beside normalization standard, which no factor changes");
    }
    Augmentations.check(options);
    if (standard && !options.string(AUGMENTATION, "none").equals("none")) {
      throw options.refuse(
          AUGMENTATION, "needs normalization raw: standardised columns have no common black");
    }
    OptionalDouble share = share(config, options, one);
    CsvFormat format =
        new CsvFormat(
            columns,
            targets,
            findsClasses,
            features,
            ignored,
            categories,
            missing(options),
            (float) options.number("scale", 1, -Float.MAX_VALUE, Float.MAX_VALUE),
            standard,
            kind == Targets.Kind.VALUES && (standard || !options.has(NORMALIZATION)),
            shape,
            options.flag("header", false),
            separator,
            quote,
            decimal);
    if (format.usesNames()) {
      if (options.has("header") && !format.header()) {
        throw options.refuse(
            "header", "is false, but columns are named, expected true or columns by number");
      }
      format = format.withHeader();
    }
    long seed = options.longInteger("seed", 1, 0, Long.MAX_VALUE);
    options.refuseUnknown();
    return new Options(format, share, seed);
  }

  /** Returns the test share if one file holds both splits; empty if there is a test file. */
  private static OptionalDouble share(DataConfig config, Settings options, boolean one) {
    boolean given = options.has("testShare");
    double share = options.number("testShare", USUAL_SHARE, 0.001, 0.999);
    boolean shared = one || given && !hasTestFile(config);
    return shared ? OptionalDouble.of(share) : OptionalDouble.empty();
  }

  private static boolean hasTestFile(DataConfig config) {
    return config.directory().filter(Files::isDirectory).isPresent()
        && folder(config).find(TEST).isPresent();
  }

  private static boolean isOneFile(DataConfig config) {
    return config.directory().filter(Files::isRegularFile).isPresent();
  }

  private static CsvFormat.Missing missing(Settings options) {
    Object value = options.toJson().getValue("missing");
    if (value instanceof Number) {
      double most = Float.MAX_VALUE;
      return new CsvFormat.Missing(
          false, OptionalDouble.of(options.number("missing", 0, -most, most)));
    }
    if (!(value instanceof String text) || text.equals("refuse") || text.equals("mean")) {
      boolean mean = options.choice("missing", "refuse", "refuse", "mean").equals("mean");
      return new CsvFormat.Missing(mean, OptionalDouble.empty());
    }
    throw options.refuse(
        "missing", "is %s, expected refuse, mean or a number".formatted(Json.encode(text)));
  }

  /**
   * Returns the kind of targets from the keys that are present; keys of a class must not be
   * combined with others.
   */
  private static Targets.Kind kind(Settings options) {
    boolean labels = options.has("labels");
    boolean values = options.has("targets");
    if (labels && values) {
      throw options.refuse(
          "labels", "is given beside targets, expected one of them: 0 and 1, or real values");
    }
    for (String key : List.of("label", "classes")) {
      if (options.has(key) && (labels || values)) {
        throw options.refuse(
            key,
            "is given beside %s, expected one of them: a class, or the columns of several targets"
                .formatted(labels ? "labels" : "targets"));
      }
    }
    return labels ? Targets.Kind.LABELS : values ? Targets.Kind.VALUES : Targets.Kind.CLASS;
  }

  private static Column label(Settings options) {
    return options.toJson().getValue("label") instanceof String
        ? Column.named(options.requiredString("label").strip())
        : Column.at(options.integer("label", 1, 1, MOST_COLUMNS) - 1);
  }

  private static List<Column> optionalColumns(Settings options, String key) {
    return options.has(key) ? columns(options, key) : List.of();
  }

  /** Reads one column or a list of columns, each by name or number. */
  private static List<Column> columns(Settings options, String key) {
    Object value = options.toJson().getValue(key);
    List<?> found = value instanceof JsonArray array ? array.getList() : List.of(value);
    if (found.stream().noneMatch(String.class::isInstance)) {
      found = options.oneOrMoreNumbers(key);
    }
    options.has(key);
    List<Column> columns = new ArrayList<>();
    for (Object one : found) {
      Column column = column(options, key, one);
      if (columns.contains(column)) {
        throw options.refuse(key, "has column %s twice, expected each once".formatted(column));
      }
      columns.add(column);
    }
    return columns;
  }

  private static Column column(Settings options, String key, Object value) {
    if (value instanceof String name && !name.isBlank()) {
      return Column.named(name.strip());
    }
    double number = value instanceof Number some ? some.doubleValue() : 0;
    if (number != Math.rint(number) || number < 1 || number > MOST_COLUMNS) {
      throw options.refuse(
          key,
          "has %s, expected columns, whole numbers from 1 to %s".formatted(value, MOST_COLUMNS));
    }
    return Column.at((int) number - 1);
  }

  private static DataFolder folder(DataConfig config) {
    return DataFolder.of(config, List.of("csv"), ADVICE);
  }

  private static Path file(DataConfig config, Options options, Split split) {
    if (isOneFile(config)) {
      return config.directory().get();
    }
    DataFolder folder = folder(config);
    if (split == Split.TRAIN || options.share().isPresent()) {
      return folder.require(TRAIN);
    }
    return folder
        .find(TEST)
        .orElseThrow(
            () ->
                folder.find(TRAIN).isEmpty()
                    ? folder.missing(TEST)
                    : new DataException(
                        folder.missing(TEST).getMessage()
                            + ", or test on a share of train.csv (data.testShare)"));
  }

  private static char character(Settings options, String key, String otherwise) {
    String text = options.string(key, otherwise);
    if (text.length() != 1 || OF_NUMBERS_AND_LINES.contains(text)) {
      throw options.refuse(
          key,
          "is %s, expected one character that is neither of a number nor a line break"
              .formatted(Json.encode(text)));
    }
    return text.charAt(0);
  }

  private static List<Integer> shape(Settings options) {
    List<Integer> shape = new ArrayList<>();
    double values = 1;
    for (double side : options.numbers("shape", List.of())) {
      values *= side;
      if (side < 1 || side != Math.rint(side) || values > MOST_COLUMNS) {
        throw options.refuse(
            "shape",
            "has %s, expected whole numbers from 1 with a product up to %s"
                .formatted(side, MOST_COLUMNS));
      }
      shape.add((int) side);
    }
    return shape;
  }
}
