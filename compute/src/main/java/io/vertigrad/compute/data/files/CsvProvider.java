package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.Json;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Opens {@code csv}: {@code train.csv} and {@code test.csv}, raw or {@code .gz}, one sample a line.
 *
 * <p>Options: {@code label} (column of the class, counted from 1; 1) and {@code classes} (10), or
 * instead of both {@code labels} (columns of labels that are 0 or 1) or {@code targets} (columns of
 * real values); {@code scale} (factor on every value; 1), {@code shape} (such as {@code [1, 28,
 * 28]}; flat), {@code header} (whether line 1 holds names; false), {@code separator} (between two
 * values; a comma), {@code quote} (around values; the double quote), {@code augmentation} (none;
 * others need a shape).
 */
public final class CsvProvider implements DatasetProvider {

  private static final int MOST_COLUMNS = 1_000_000;
  private static final int MOST_CLASSES = 100_000;
  private static final String OF_NUMBERS_AND_LINES = "0123456789+-.eE\r\n";
  private static final String ADVICE =
      "name the folder with train.csv and test.csv with --data DIR";

  @Override
  public String name() {
    return "csv";
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(kind(config.settings()));
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    CsvFormat format = format(config);
    return new CsvSamples(file(config, split), format).read();
  }

  @Override
  public void check(DataConfig config, Split split) {
    format(config);
    file(config, split);
  }

  @Override
  public Dataset unlabelled(DataConfig config, Path file, List<Integer> shape) {
    int values = shape.stream().reduce(1, Math::multiplyExact);
    return new CsvSamples(file, format(config), values).read();
  }

  private static CsvFormat format(DataConfig config) {
    Settings options = config.settings();
    char separator = character(options, "separator", ",");
    char quote = character(options, "quote", "\"");
    if (separator == quote) {
      throw options.refuse("quote", "is the separator too, expected another character");
    }
    Targets.Kind kind = kind(options);
    List<Integer> columns =
        kind == Targets.Kind.CLASS
            ? List.of(options.integer("label", 1, 1, MOST_COLUMNS) - 1)
            : columns(options, kind == Targets.Kind.LABELS ? "labels" : "targets");
    Targets targets =
        kind == Targets.Kind.CLASS
            ? Targets.classes(options.integer("classes", 10, 2, MOST_CLASSES))
            : new Targets(kind, columns.size(), 1);
    CsvFormat format =
        new CsvFormat(
            columns,
            targets,
            (float) options.number("scale", 1, -Float.MAX_VALUE, Float.MAX_VALUE),
            shape(options),
            options.flag("header", false),
            separator,
            quote);
    Augmentations.check(options);
    refuseNormalization(config, options);
    options.refuseUnknown();
    return format;
  }

  /** What the keys that are there say; those of a class must not be beside those of others. */
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

  private static List<Integer> columns(Settings options, String key) {
    List<Integer> columns = new ArrayList<>();
    for (double column : options.oneOrMoreNumbers(key)) {
      if (column != Math.rint(column) || column < 1 || column > MOST_COLUMNS) {
        throw options.refuse(
            key,
            "has %s, expected columns, whole numbers from 1 to %d".formatted(column, MOST_COLUMNS));
      }
      if (columns.contains((int) column - 1)) {
        throw options.refuse(
            key, "has column %d twice, expected each once".formatted((int) column));
      }
      columns.add((int) column - 1);
    }
    return columns;
  }

  private static Path file(DataConfig config, Split split) {
    DataFolder folder = DataFolder.of(config, List.of("csv"), ADVICE);
    return folder.require(split == Split.TRAIN ? "train.csv" : "test.csv");
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

  /** Not asked of the options, so that it does not count among the keys this data set knows. */
  private static void refuseNormalization(DataConfig config, Settings options) {
    if (config.options().containsKey("normalization")) {
      throw options.refuse(
          "normalization",
          "is for images kept as bytes; the values of a CSV file are numbers: use scale, "
              + "or normalise the file");
    }
  }

  private static List<Integer> shape(Settings options) {
    List<Integer> shape = new ArrayList<>();
    double values = 1;
    for (double side : options.numbers("shape", List.of())) {
      values *= side;
      if (side < 1 || side != Math.rint(side) || values > MOST_COLUMNS) {
        throw options.refuse(
            "shape",
            "has %s, expected whole numbers from 1 with a product up to %d"
                .formatted(side, MOST_COLUMNS));
      }
      shape.add((int) side);
    }
    return shape;
  }
}
