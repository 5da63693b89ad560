package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.CsvReading.join;
import static io.vertigrad.compute.data.files.CsvReading.name;
import static io.vertigrad.compute.data.files.CsvReading.quote;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.compute.data.MergedValues;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.data.files.CsvReading.Purpose;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The samples of one CSV file, or of one line. Errors name file, line and column; line and column
 * are counted from 1.
 *
 * <p>A sample with several lines, because a quoted value has line breaks, counts as its first line.
 * Values stay unchanged until the training rows are chosen: {@link #fit} uses those rows, {@link
 * #dataset} makes inputs of any rows. Used once, by one thread.
 */
final class CsvSamples {

  private static final int MOST_FOUND_CLASSES = 1000;

  /** Number of rows, and about of values, in which {@link CsvWarnings} looks for mistakes. */
  private static final int ROWS_OF_WARNINGS = 10_000;

  private static final int VALUES_OF_WARNINGS = 1_000_000;

  private static final Set<String> MISSING = Set.of("", "na", "n/a", "nan", "null", "?");

  private final CsvReading reading;
  private final CsvFormat format;
  private final CsvPlan plan;
  private final Table rows;
  private final List<Integer> labels = new ArrayList<>();
  private final List<double[]> answers = new ArrayList<>();
  private final Map<Integer, Dictionary> words = new TreeMap<>();
  private final Dictionary classes = new Dictionary();

  /** For each class of a training file, the line where it stood first. */
  private final List<Long> labelLines = new ArrayList<>();

  /** By column its numbers; empty unless mistakes are looked for. */
  private final MergedValues[] merged;

  private CsvColumns columns;
  private long line;

  /**
   * The values of all samples by feature: doubles if they are standardised, which needs all of
   * them, otherwise as float32, which takes half the memory.
   */
  private static final class Table {

    private final boolean isDouble;
    private final List<double[]> doubles = new ArrayList<>();
    private final List<float[]> floats = new ArrayList<>();

    Table(boolean isDouble) {
      this.isDouble = isDouble;
    }

    void add(double[] row) {
      if (isDouble) {
        doubles.add(row);
        return;
      }
      float[] rounded = new float[row.length];
      for (int i = 0; i < row.length; i++) {
        rounded[i] = (float) row[i];
      }
      floats.add(rounded);
    }

    int size() {
      return isDouble ? doubles.size() : floats.size();
    }

    double get(int row, int feature) {
      return isDouble ? doubles.get(row)[feature] : floats.get(row)[feature];
    }

    void set(int row, int feature, double value) {
      if (isDouble) {
        doubles.get(row)[feature] = value;
      } else {
        floats.get(row)[feature] = (float) value;
      }
    }

    /** Returns a row, and frees its memory. */
    double[] take(int row) {
      if (isDouble) {
        return doubles.set(row, null);
      }
      float[] rounded = floats.set(row, null);
      double[] taken = new double[rounded.length];
      for (int i = 0; i < taken.length; i++) {
        taken[i] = rounded[i];
      }
      return taken;
    }
  }

  /** Words with ids, in the order in which they were found, or in a known order. */
  static final class Dictionary {

    private final Map<String, Integer> ids = new HashMap<>();
    private final List<String> words = new ArrayList<>();

    List<String> words() {
      return words;
    }

    int id(String word) {
      return ids.computeIfAbsent(
          word,
          added -> {
            words.add(added);
            return words.size() - 1;
          });
    }

    /**
     * Sorts the words, numerically if all are numbers, and returns the new id of each old one.
     * Words of the same value stay different, such as 7 and 007.
     */
    int[] sort(DecimalNotation decimal) {
      boolean numbers = words.stream().noneMatch(word -> Double.isNaN(decimal.parse(word)));
      List<String> sorted = new ArrayList<>(words);
      sorted.sort(
          numbers
              ? Comparator.comparingDouble(decimal::parse).thenComparing(Comparator.naturalOrder())
              : Comparator.naturalOrder());
      Map<String, Integer> places = new HashMap<>();
      sorted.forEach(word -> places.put(word, places.size()));
      int[] moved = words.stream().mapToInt(places::get).toArray();
      words.clear();
      words.addAll(sorted);
      ids.clear();
      ids.putAll(places);
      return moved;
    }
  }

  private CsvSamples(CsvPlan plan) {
    this.plan = plan;
    reading = plan.reading();
    format = reading.format();
    columns = plan.columns();
    rows =
        new Table(
            reading.fitted().map(fitted -> !fitted.means().isEmpty()).orElse(format.standard()));
    merged = new MergedValues[reading.looksForMistakes() ? plan.cellCount() : 0];
    columns.classes().forEach(classes::id);
    columns
        .words()
        .forEach(
            (feature, list) ->
                list.forEach(
                    word -> words.computeIfAbsent(feature, f -> new Dictionary()).id(word)));
    plan.categories().forEach(feature -> words.put(feature, new Dictionary()));
  }

  /**
   * Reads a file to train on, or to test on if nothing was fitted.
   *
   * @param findsClasses true if all labels are names of classes, including numbers; otherwise they
   *     are if the first one is a word, and the option {@code classes} is absent
   */
  static CsvSamples read(Path file, CsvFormat format, boolean findsClasses) {
    return read(file, CsvReading.of(file.toString(), format, Purpose.SAMPLES, findsClasses));
  }

  /** Returns whether the label of a file's first sample is a word. */
  static boolean hasWordsForLabels(Path file, CsvFormat format) {
    return first(file, format).findsClasses();
  }

  /** Returns the columns of a file, by its first sample; nothing is fitted. */
  static CsvColumns columns(Path file, CsvFormat format) {
    return first(file, format).columns();
  }

  private static CsvPlan first(Path file, CsvFormat format) {
    return read(file, CsvReading.of(file.toString(), format, Purpose.COLUMNS, false)).plan;
  }

  /**
   * Looks for probable mistakes in the first rows of a training file.
   *
   * @param findsClasses as {@link #read(Path, CsvFormat, boolean)}
   * @return one sentence each
   */
  static List<String> warnings(Path file, CsvFormat format, boolean findsClasses) {
    CsvSamples first =
        read(file, CsvReading.of(file.toString(), format, Purpose.MISTAKES, findsClasses));
    return new CsvWarnings(first).find();
  }

  /** Reads a file with the columns that were fitted before. */
  static CsvSamples read(Path file, CsvFormat format, CsvColumns fitted) {
    return read(file, CsvReading.of(file.toString(), format, Purpose.SAMPLES, fitted));
  }

  /** Reads a file of samples to predict, in which targets may be missing. */
  static CsvSamples unlabelled(Path file, CsvFormat format, CsvColumns fitted) {
    return read(file, CsvReading.of(file.toString(), format, Purpose.PREDICTION, fitted));
  }

  /**
   * Reads a file of samples to predict for a model of an earlier version, of which only the number
   * of inputs is known.
   */
  static CsvSamples unlabelled(Path file, CsvFormat format, int inputs) {
    return read(
        file,
        new CsvReading(
            file.toString(), format, Purpose.PREDICTION, Optional.empty(), inputs, false));
  }

  /** Reads one line to predict. */
  static CsvSamples unlabelled(String line, CsvFormat format, CsvColumns fitted) {
    String quoted = quote(line);
    CsvReading reading = CsvReading.of(quoted, format, Purpose.LINE, fitted);
    Records records = new Records();
    try (CsvReader<List<String>> reader = reading.reader().build(records, line)) {
      Optional<CsvSamples> samples = read(reading, records, reader);
      int size = samples.map(CsvSamples::size).orElse(0);
      if (size != 1) {
        throw new DataException("%s: holds %s samples, expected one line".formatted(quoted, size));
      }
      return samples.get();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static CsvSamples read(Path path, CsvReading reading) {
    Records records = new Records();
    try (DataFile file = DataFile.open(path);
        CsvReader<List<String>> reader = reading.reader().build(records, file.text())) {
      return read(reading, records, reader)
          .orElseThrow(
              () -> new DataException(path + ": holds no sample, expected one on each line"));
    } catch (UncheckedIOException e) {
      throw DataFile.failure(path, e.getCause());
    } catch (IOException e) {
      throw DataFile.failure(path, e);
    }
  }

  /** Reads rows as far as they are wanted; returns empty if there is none. */
  private static Optional<CsvSamples> read(
      CsvReading reading, Records records, CsvReader<List<String>> reader) {
    List<String> names = List.of();
    CsvSamples samples = null;
    try {
      for (List<String> cells : reader) {
        if (cells.size() == 1 && cells.get(0).isBlank()) {
          continue;
        }
        if (records.line == 1) {
          List<String> found = cells.stream().map(String::strip).toList();
          if (reading.isHeader(found)) {
            names = found;
            continue;
          }
        }
        if (samples == null) {
          samples = new CsvSamples(new CsvPlan(reading, names, cells, records.line));
        }
        samples.add(cells, records.line);
        if (samples.isCut()) {
          break;
        }
      }
    } catch (CsvParseException e) {
      throw reading.wrong(
          records.line,
          "%s; expected values separated by %s, %s around those that hold it, doubled inside"
              .formatted(
                  e.getMessage(),
                  name(reading.format().separator()),
                  name(reading.format().quote())));
    }
    if (samples != null && reading.purpose() == Purpose.SAMPLES && !reading.isFitted()) {
      samples.sortWords();
    }
    return Optional.ofNullable(samples);
  }

  private void add(List<String> cells, long at) {
    line = at;
    if (cells.size() != plan.cellCount()) {
      throw wrong("%s columns, expected %s as before".formatted(cells.size(), plan.cellCount()));
    }
    if (!plan.names().isEmpty()
        && cells.get(0).strip().equals(plan.names().get(0))
        && cells.stream().map(String::strip).toList().equals(plan.names())) {
      throw wrong("holds the names of line 1 again, expected a sample");
    }
    double[] row = new double[plan.features()];
    for (int i = 0; i < row.length; i++) {
      row[i] = feature(i, cells.get(plan.feature(i)));
    }
    rows.add(row);
    if (reading.isUnlabelled()) {
      return;
    }
    if (format.targets().kind() == Targets.Kind.CLASS) {
      labels.add(label(cells.get(plan.target(0))));
    } else {
      answers.add(answer(cells));
    }
  }

  /** Returns whether no more rows are read. */
  boolean isCut() {
    return switch (reading.purpose()) {
      case COLUMNS -> true;
      case MISTAKES ->
          rows.size() >= ROWS_OF_WARNINGS
              || rows.size() >= Math.max(100, VALUES_OF_WARNINGS / plan.cellCount());
      case SAMPLES, PREDICTION, LINE -> false;
    };
  }

  /** Returns a number, NaN if it is missing, or the index of a word. */
  private double feature(int feature, String cell) {
    int column = plan.feature(feature);
    Dictionary category = words.get(feature);
    if (category != null) {
      String word = cell.strip();
      if (word.isEmpty()) {
        refuseMissing(column, cell, "a word");
        return Double.NaN;
      }
      if (reading.isFitted() && !category.ids.containsKey(word)) {
        throw wrong(
            "%s is %s, expected one of the words of the training: %s"
                .formatted(plan.called(column), quote(cell), join(category.words)));
      }
      return category.id(word);
    }
    if (isMissing(cell) && !(format.missing().isRefused() && plan.mayBeHeader(line))) {
      refuseMissing(column, cell, "a number");
      return Double.NaN;
    }
    return number(cell, column);
  }

  static boolean isMissing(String cell) {
    String stripped = cell.strip();
    return stripped.length() <= 4 && MISSING.contains(stripped.toLowerCase(Locale.ROOT));
  }

  private void refuseMissing(int column, String cell, String expected) {
    if (format.missing().isRefused()) {
      throw wrong(
          "%s is %s, a missing value, expected %s; option missing fills missing values, with \"mean\" or a number"
              .formatted(plan.called(column), quote(cell), expected));
    }
  }

  private double[] answer(List<String> cells) {
    double[] answer = new double[plan.targets()];
    for (int i = 0; i < answer.length; i++) {
      int column = plan.target(i);
      double value = number(cells.get(column), column);
      boolean binary = format.targets().kind() == Targets.Kind.LABELS;
      if (binary && value != 0 && value != 1) {
        throw wrong(
            "%s, a label, is %s, expected 0 or 1 (option labels; real values are option targets)"
                .formatted(plan.called(column), quote(cells.get(column))));
      }
      answer[i] = value;
    }
    return answer;
  }

  private double number(String cell, int column) {
    double value = format.decimal().parse(cell);
    if (Float.isFinite((float) value)) {
      if (reading.looksForMistakes()) {
        if (merged[column] == null) {
          merged[column] = new MergedValues(plan.isStandard(column));
        }
        merged[column].add(cell.replace(format.decimal().mark(), '.'), value);
      }
      return value;
    }
    if (format.decimal().matches(cell)) {
      throw wrong(
          "%s is %s, expected a number in the range of float32"
              .formatted(plan.called(column), quote(cell)));
    }
    throw wrong(
        "%s is %s, expected a number%s"
            .formatted(plan.called(column), quote(cell), plan.hint(line, cell, column)));
  }

  private int label(String cell) {
    int column = plan.target(0);
    if (plan.findsClasses()) {
      return named(cell, column);
    }
    int most = format.targets().outputs();
    double value = format.decimal().parse(cell);
    if (!(value == Math.rint(value) && value >= 0 && value < most)) {
      throw wrong(
          "%s, the label, is %s, expected a whole number from 0 to %s (option classes)%s"
              .formatted(
                  plan.called(column),
                  quote(cell),
                  most - 1,
                  Double.isNaN(value) && plan.mayBeHeader(line)
                      ? plan.hint(line, cell, column)
                      : Double.isNaN(value) && format.findsClasses()
                          ? "; labels are names of classes if the first one is a word"
                          : ""));
    }
    return (int) value;
  }

  /** Returns the class of a label that is the name of a class, as it is written. */
  private int named(String cell, int column) {
    String word = cell.strip();
    if (word.isEmpty()) {
      throw wrong("%s, the label, is empty, expected a class".formatted(plan.called(column)));
    }
    if (reading.isFitted() && !classes.ids.containsKey(word)) {
      throw wrong(
          "%s, the label, is %s, expected one of the classes of the training: %s"
              .formatted(plan.called(column), quote(cell), join(classes.words)));
    }
    int id = classes.id(word);
    if (id >= MOST_FOUND_CLASSES) {
      throw wrong(
          "%s, the label, is %s, another class after %s, expected fewer; real values are option targets, and option classes allows more of them by number"
              .formatted(plan.called(column), quote(cell), MOST_FOUND_CLASSES));
    }
    if (!reading.isFitted() && id == labelLines.size()) {
      labelLines.add(line);
    }
    return id;
  }

  /** Labels that are all numbers, and not all whole, are hardly classes. */
  private void refuseRealLabels() {
    List<String> words = classes.words;
    if (words.stream().anyMatch(word -> Double.isNaN(format.decimal().parse(word)))) {
      return;
    }
    for (int i = 0; i < words.size(); i++) {
      double value = format.decimal().parse(words.get(i));
      if (value != Math.rint(value)) {
        throw reading.wrong(
            labelLines.get(i),
            "%s, the label, is %s, expected a word or a whole number; real values are option targets"
                .formatted(plan.called(plan.target(0)), quote(words.get(i))));
      }
    }
  }

  /** Sorts the words, so that their ids do not depend on the order of the lines. */
  private void sortWords() {
    if (plan.findsClasses()) {
      if (classes.words.size() < 2) {
        throw new DataException(
            "%s: every label is \"%s\", expected at least two classes in %s"
                .formatted(reading.source(), classes.words.get(0), columns.name(plan.target(0))));
      }
      refuseRealLabels();
      int[] moved = classes.sort(format.decimal());
      labels.replaceAll(label -> moved[label]);
    }
    Map<Integer, List<String>> found = new TreeMap<>();
    words.forEach(
        (feature, dictionary) -> {
          int[] moved = dictionary.sort(format.decimal());
          for (int row = 0; row < rows.size(); row++) {
            double word = rows.get(row, feature);
            if (!Double.isNaN(word)) {
              rows.set(row, feature, moved[(int) word]);
            }
          }
          found.put(feature, List.copyOf(dictionary.words));
        });
    columns =
        new CsvColumns(
            columns.count(),
            columns.names(),
            columns.targets(),
            columns.features(),
            found,
            plan.findsClasses() ? classes.words : List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of(),
            List.of());
  }

  int size() {
    return rows.size();
  }

  /**
   * Returns the columns with means and deviations of these rows, as far as the options ask for
   * them.
   */
  CsvColumns fit(int[] chosen) {
    boolean plain = !format.standard() && !format.standardTargets();
    if (reading.isFitted() || plain && format.missing().isRefused()) {
      return columns;
    }
    int size = columns.features().size();
    double[] fill = new double[size];
    Arrays.fill(fill, format.missing().value().orElse(0));
    double[] means = new double[size];
    double[] deviations = new double[size];
    for (int i = 0; i < size; i++) {
      if (columns.words().containsKey(i)) {
        deviations[i] = 1;
        continue;
      }
      int feature = i;
      double[] present =
          IntStream.of(chosen)
              .mapToDouble(row -> rows.get(row, feature))
              .filter(value -> !Double.isNaN(value))
              .toArray();
      if (format.missing().mean()) {
        if (present.length == 0) {
          throw new DataException(
              "%s: %s has no value in any training row, expected one to take the mean of (option missing)"
                  .formatted(reading.source(), columns.name(columns.features().get(i))));
        }
        fill[i] = mean(present);
      }
      double[] filled =
          format.missing().mean()
              ? present
              : IntStream.of(chosen)
                  .mapToDouble(row -> rows.get(row, feature))
                  .map(value -> Double.isNaN(value) ? fill[feature] : value)
                  .toArray();
      means[i] = mean(filled);
      deviations[i] = deviation(filled, means[i]);
    }
    int targets =
        format.standardTargets() && !reading.isUnlabelled() ? columns.targets().size() : 0;
    double[] targetMeans = new double[targets];
    double[] targetDeviations = new double[targets];
    for (int i = 0; i < targets; i++) {
      int target = i;
      double[] values = IntStream.of(chosen).mapToDouble(row -> answers.get(row)[target]).toArray();
      targetMeans[i] = mean(values);
      targetDeviations[i] = deviation(values, targetMeans[i]);
    }
    return new CsvColumns(
        columns.count(),
        columns.names(),
        columns.targets(),
        columns.features(),
        columns.words(),
        columns.classes(),
        format.missing().isRefused() ? List.of() : boxed(fill),
        format.standard() ? boxed(means) : List.of(),
        format.standard() ? boxed(deviations) : List.of(),
        boxed(targetMeans),
        boxed(targetDeviations));
  }

  /** Returns 1 for values that are constant, except for rounding, so that they become 0. */
  private static double deviation(double[] values, double mean) {
    double squares = 0;
    for (double value : values) {
      squares += (value - mean) * (value - mean);
    }
    double deviation = Math.sqrt(squares / values.length);
    return deviation > 8 * Math.ulp(mean) ? deviation : 1;
  }

  /** Sums differences to the first value, which are exact where all values are close together. */
  private static double mean(double[] values) {
    double sum = 0;
    for (double value : values) {
      sum += value - values[0];
    }
    return values.length == 0 ? 0 : values[0] + sum / values.length;
  }

  private static List<Double> boxed(double[] values) {
    return Arrays.stream(values).boxed().toList();
  }

  /** Makes inputs of these rows with the fitted columns; the rows must not be used again. */
  CsvDataset dataset(int[] chosen, CsvColumns fitted) {
    List<float[]> inputs = new ArrayList<>(chosen.length);
    for (int row : chosen) {
      inputs.add(inputs(rows.take(row), fitted));
    }
    List<Integer> shape = format.shape().isEmpty() ? List.of(fitted.inputs()) : format.shape();
    Targets targets =
        fitted.classes().isEmpty() ? format.targets() : Targets.classes(fitted.classes().size());
    int[] classOf = labels.isEmpty() ? new int[0] : IntStream.of(chosen).map(labels::get).toArray();
    List<TargetColumn> columnsOfTargets = fitted.targetColumns();
    List<float[]> targetValues =
        answers.isEmpty()
            ? List.of()
            : IntStream.of(chosen)
                .mapToObj(row -> standardised(answers.get(row), columnsOfTargets))
                .toList();
    return new CsvDataset(inputs, classOf, targetValues, shape, targets, fitted);
  }

  private static float[] standardised(double[] values, List<TargetColumn> columns) {
    float[] targets = new float[values.length];
    for (int i = 0; i < targets.length; i++) {
      targets[i] = columns.get(i).standardised(values[i]);
    }
    return targets;
  }

  private float[] inputs(double[] row, CsvColumns fitted) {
    try {
      return fitted.inputs(row, format.scale());
    } catch (DataException e) {
      throw new DataException(reading.source() + ": " + e.getMessage(), e);
    }
  }

  CsvPlan plan() {
    return plan;
  }

  double value(int row, int feature) {
    return rows.get(row, feature);
  }

  int label(int row) {
    return labels.get(row);
  }

  IntStream labels() {
    return labels.stream().mapToInt(Integer::intValue);
  }

  /** Returns the words of each category, by feature. */
  Map<Integer, Dictionary> words() {
    return words;
  }

  Dictionary classes() {
    return classes;
  }

  /** Returns the line where a class stood first. */
  long lineOf(String word) {
    return labelLines.get(classes.ids.get(word));
  }

  /** Returns two numbers of a column that become one, if there are any. */
  Optional<String> merged(int column) {
    return Optional.ofNullable(merged[column]).flatMap(MergedValues::describe);
  }

  private DataException wrong(String message) {
    return reading.wrong(line, message);
  }

  /**
   * Collects the cells of one record, in a list that the next record reuses, and the line where the
   * record begins.
   */
  private static final class Records extends AbstractBaseCsvCallbackHandler<List<String>> {

    private final List<String> cells = new ArrayList<>();
    private long line;

    @Override
    protected void handleBegin(long startingLineNumber) {
      line = startingLineNumber;
      cells.clear();
    }

    @Override
    protected void handleField(int index, char[] buffer, int offset, int length, boolean quoted) {
      cells.add(new String(buffer, offset, length));
    }

    @Override
    protected List<String> buildRecord() {
      return cells;
    }
  }
}
