package io.vertigrad.compute.data.files;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.compute.data.MergedValues;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.data.files.CsvFormat.Column;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Reads the samples of one CSV file, or of one line. Errors name file, line and column; line and
 * column are counted from 1.
 *
 * <p>A sample with several lines, because a quoted value has line breaks, counts as its first line.
 * Values stay unchanged until the training rows are chosen: {@link #fit} uses those rows, {@link
 * #dataset} makes inputs of any rows. Used once, by one thread.
 */
final class CsvSamples {

  private static final int LONGEST_QUOTE = 30;
  private static final int MOST_FOUND_CLASSES = 1000;

  /** Number of rows, and about of values, in which {@link #warnings} looks for mistakes. */
  private static final int ROWS_OF_WARNINGS = 10_000;

  private static final int VALUES_OF_WARNINGS = 1_000_000;

  private static final int MOST_WARNINGS = 5;

  /** Share of different labels, in at least so many rows, from which on they are no classes. */
  private static final double IDENTIFIERS = 0.5;

  private static final int LEAST_ROWS_OF_IDENTIFIERS = 20;

  private static final int ABSENT = -1;
  private static final Set<String> MISSING = Set.of("", "na", "n/a", "nan", "null", "?");

  private final String source;
  private final CsvFormat format;
  private final Table rows;
  private final List<Integer> labels = new ArrayList<>();
  private final List<double[]> answers = new ArrayList<>();
  private final Map<Integer, Dictionary> words = new TreeMap<>();
  private final Dictionary classes = new Dictionary();

  /** For each class of a training file, the line where it stood first. */
  private final List<Long> labelLines = new ArrayList<>();

  /** The columns; either fitted before, or found in this file. */
  private CsvColumns columns;

  /** For each feature and each target, the index of its cell in a line of this file. */
  private int[] featureCells;

  private int[] targetCells;
  private boolean isFitted;

  /** Whether labels are names of classes: all of them, numbers included. */
  private boolean findsClasses;

  private boolean isUnlabelled;
  private boolean isLine;
  private int asked;
  private int cellCount;
  private List<String> names = List.of();
  private long line;
  private int most = Integer.MAX_VALUE;
  private boolean isCut;

  /** By column its numbers; empty unless mistakes are looked for. */
  private MergedValues[] merged = {};

  private boolean looksForMistakes;

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
  private static final class Dictionary {

    private final Map<String, Integer> ids = new HashMap<>();
    private final List<String> words = new ArrayList<>();

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

  private CsvSamples(String source, CsvFormat format) {
    this(source, format, format.standard());
  }

  private CsvSamples(String source, CsvFormat format, boolean isStandard) {
    this.source = source;
    this.format = format;
    this.rows = new Table(isStandard);
  }

  /**
   * Reads a file to train on, or to test on if nothing was fitted.
   *
   * @param findsClasses true if all labels are names of classes, including numbers; otherwise they
   *     are if the first one is a word, and the option {@code classes} is absent
   */
  static CsvSamples read(Path file, CsvFormat format, boolean findsClasses) {
    CsvSamples samples = new CsvSamples(file.toString(), format);
    samples.findsClasses = findsClasses && format.findsClasses();
    return samples.readFile(file);
  }

  /** Returns whether the label of a file's first sample is a word. */
  static boolean hasWordsForLabels(Path file, CsvFormat format) {
    CsvSamples samples = new CsvSamples(file.toString(), format);
    samples.most = 1;
    return samples.readFile(file).findsClasses;
  }

  /** Returns the columns of a file, by its first sample; nothing is fitted. */
  static CsvColumns columns(Path file, CsvFormat format) {
    CsvSamples samples = new CsvSamples(file.toString(), format);
    samples.most = 1;
    return samples.readFile(file).columns;
  }

  /**
   * Looks for probable mistakes in the first rows of a training file.
   *
   * @param findsClasses as {@link #read(Path, CsvFormat, boolean)}
   * @return one sentence each
   */
  static List<String> warnings(Path file, CsvFormat format, boolean findsClasses) {
    CsvSamples samples = new CsvSamples(file.toString(), format);
    samples.findsClasses = findsClasses && format.findsClasses();
    samples.most = ROWS_OF_WARNINGS;
    samples.looksForMistakes = true;
    return samples.readFile(file).warnings();
  }

  /** Reads a file with the columns that were fitted before. */
  static CsvSamples read(Path file, CsvFormat format, CsvColumns fitted) {
    return known(file.toString(), format, fitted).readFile(file);
  }

  /** Reads a file of samples to predict, in which targets may be missing. */
  static CsvSamples unlabelled(Path file, CsvFormat format, CsvColumns fitted) {
    CsvSamples samples = known(file.toString(), format, fitted);
    samples.isUnlabelled = true;
    return samples.readFile(file);
  }

  /**
   * Reads a file of samples to predict for a model of an earlier version, of which only the number
   * of inputs is known.
   */
  static CsvSamples unlabelled(Path file, CsvFormat format, int inputs) {
    CsvSamples samples = new CsvSamples(file.toString(), format);
    samples.isUnlabelled = true;
    samples.asked = inputs;
    return samples.readFile(file);
  }

  /** Reads one line to predict. */
  static CsvSamples unlabelled(String line, CsvFormat format, CsvColumns fitted) {
    CsvSamples samples = known(quote(line), format, fitted);
    samples.isUnlabelled = true;
    samples.isLine = true;
    try (CsvReader<List<String>> reader = samples.reader().build(samples.new Cells(), line)) {
      samples.readAll(reader);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (samples.rows.size() != 1) {
      throw new DataException(
          "%s: holds %s samples, expected one line".formatted(quote(line), samples.rows.size()));
    }
    return samples;
  }

  private static CsvSamples known(String source, CsvFormat format, CsvColumns fitted) {
    CsvSamples samples = new CsvSamples(source, format, !fitted.means().isEmpty());
    samples.columns = fitted;
    samples.isFitted = true;
    samples.findsClasses = !fitted.classes().isEmpty();
    fitted.classes().forEach(samples.classes::id);
    fitted
        .words()
        .forEach(
            (feature, list) ->
                list.forEach(
                    word ->
                        samples.words.computeIfAbsent(feature, f -> new Dictionary()).id(word)));
    return samples;
  }

  private CsvSamples readFile(Path path) {
    try (DataFile file = DataFile.open(path);
        CsvReader<List<String>> reader = reader().build(new Cells(), file.text())) {
      readAll(reader);
    } catch (UncheckedIOException e) {
      throw DataFile.failure(path, e.getCause());
    } catch (IOException e) {
      throw DataFile.failure(path, e);
    }
    if (rows.size() == 0) {
      throw new DataException(path + ": holds no sample, expected one on each line");
    }
    return this;
  }

  private void readAll(CsvReader<List<String>> reader) {
    try {
      for (List<String> cells : reader) {
        boolean blank = cells.size() == 1 && cells.get(0).isBlank();
        if (!blank && !(line == 1 && format.header() && isHeader(cells))) {
          sample(cells);
        }
        if (rows.size() >= most) {
          isCut = true;
          break;
        }
      }
    } catch (CsvParseException e) {
      throw wrong(
          "%s; expected values separated by %s, %s around those that hold it, doubled inside"
              .formatted(e.getMessage(), name(format.separator()), name(format.quote())));
    }
    if (!isFitted && !isCut && !looksForMistakes && rows.size() > 0) {
      sortWords();
    }
  }

  /**
   * Reads the names in line 1. Files to predict may have no such line.
   *
   * @throws DataException when a file to test on names none of the training's columns
   */
  private boolean isHeader(List<String> cells) {
    if (isLine) {
      return false;
    }
    List<String> found = cells.stream().map(String::strip).toList();
    boolean expected = isFitted && !columns.names().isEmpty();
    if (expected && found.stream().noneMatch(columns.names()::contains)) {
      if (isUnlabelled) {
        return false;
      }
      throw new DataException(
          "%s:1: holds %s, none of which is a column of the training; expected a first line that names %s"
              .formatted(source, join(found), join(columns.names())));
    }
    names = found;
    return true;
  }

  private CsvReader.CsvReaderBuilder reader() {
    return CsvReader.builder()
        .fieldSeparator(format.separator())
        .quoteCharacter(format.quote())
        .trimWhitespacesAroundQuotes(true)
        .allowUnclosedQuote(false)
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE)
        .detectBomHeader(true);
  }

  private void sample(List<String> cells) {
    if (rows.size() == 0) {
      cellCount = cells.size();
      locate();
      if (looksForMistakes) {
        most = Math.min(most, Math.max(100, VALUES_OF_WARNINGS / cellCount));
        merged = new MergedValues[cellCount];
      }
    }
    if (cells.size() != cellCount) {
      throw wrong("%s columns, expected %s as before".formatted(cells.size(), cellCount));
    }
    if (!names.isEmpty()
        && cells.get(0).strip().equals(names.get(0))
        && cells.stream().map(String::strip).toList().equals(names)) {
      throw wrong("holds the names of line 1 again, expected a sample");
    }
    double[] row = new double[featureCells.length];
    for (int i = 0; i < row.length; i++) {
      row[i] = feature(i, cells.get(featureCells[i]));
    }
    rows.add(row);
    if (isUnlabelled) {
      return;
    }
    if (format.targets().kind() == Targets.Kind.CLASS) {
      labels.add(label(cells.get(targetCells[0])));
    } else {
      answers.add(answer(cells));
    }
  }

  /** Finds features and targets in the first sample's line. */
  private void locate() {
    if (!isFitted) {
      int[] targets = asked > 0 ? targetsBeside() : targets();
      List<Integer> targetList = IntStream.of(targets).boxed().toList();
      List<Integer> features = features(targetList);
      columns = CsvColumns.of(cellCount, names, targetList, features);
      targetCells = targets;
      featureCells = features.stream().mapToInt(Integer::intValue).toArray();
      for (Column category : format.categories()) {
        int feature = features.indexOf(index(category, "categories"));
        if (feature < 0) {
          throw wrong("option categories has column %s, which is no feature".formatted(category));
        }
        words.put(feature, new Dictionary());
      }
      checkShape(features.size());
    } else if (!names.isEmpty() && !columns.names().isEmpty() && !names.equals(columns.names())) {
      featureCells = named(columns.features());
      targetCells = isUnlabelled ? new int[0] : named(columns.targets());
    } else {
      locateByPosition();
    }
  }

  /** Finds columns of the training by their names, in whatever order this file has them. */
  private int[] named(List<Integer> wanted) {
    return wanted.stream().map(columns.names()::get).mapToInt(this::named).toArray();
  }

  private int named(String name) {
    int found = names.indexOf(name);
    if (found < 0) {
      throw new DataException(
          "%s:1: has no column \"%s\", expected those of the training: %s; line 1 holds %s%s"
              .formatted(source, name, join(columns.names()), join(names), alike(name)));
    }
    if (found != names.lastIndexOf(name)
        || columns.names().indexOf(name) != columns.names().lastIndexOf(name)) {
      throw new DataException(
          "%s:1: column \"%s\" stands twice, here or in the training, expected its name once or the training's first line: %s"
              .formatted(source, name, join(columns.names())));
    }
    return found;
  }

  private void locateByPosition() {
    int features = columns.features().size();
    int targets = columns.targets().size();
    targetCells = columns.targets().stream().mapToInt(Integer::intValue).toArray();
    if (cellCount == columns.count()) {
      featureCells = columns.features().stream().mapToInt(Integer::intValue).toArray();
    } else if (isUnlabelled && cellCount == columns.count() - targets) {
      featureCells =
          columns.features().stream()
              .mapToInt(
                  column ->
                      column - (int) columns.targets().stream().filter(t -> t < column).count())
              .toArray();
    } else if (isUnlabelled && cellCount == features) {
      featureCells = IntStream.range(0, features).toArray();
    } else if (isUnlabelled) {
      throw wrong(
          "%s columns, expected %s, the values of a sample%s, or %s with what the model tells in column %s"
              .formatted(
                  cellCount,
                  features,
                  columns.names().isEmpty()
                      ? ""
                      : columns.features().stream()
                          .map(columns.names()::get)
                          .collect(Collectors.joining(", ", " (", ")")),
                  columns.count(),
                  columns.targets().stream()
                      .map(column -> Integer.toString(column + 1))
                      .collect(Collectors.joining(", "))));
    } else {
      throw wrong("%s columns, expected %s as in training".formatted(cellCount, columns.count()));
    }
  }

  /**
   * Returns the feature columns: those that are named, or all that are neither targets nor ignored.
   */
  private List<Integer> features(List<Integer> targets) {
    if (!format.features().isEmpty()) {
      List<Integer> found =
          format.features().stream().map(column -> index(column, "features")).toList();
      found.stream()
          .filter(targets::contains)
          .findFirst()
          .ifPresent(
              column -> {
                throw wrong(
                    "option features has column %s, which option %s names as well"
                        .formatted(column + 1, format.option()));
              });
      return found;
    }
    List<Integer> ignored =
        format.ignored().stream().map(column -> index(column, "ignore")).toList();
    boolean[] taken = new boolean[cellCount];
    targets.stream().filter(column -> column >= 0).forEach(column -> taken[column] = true);
    ignored.forEach(column -> taken[column] = true);
    List<Integer> found =
        IntStream.range(0, cellCount).filter(column -> !taken[column]).boxed().toList();
    if (found.isEmpty()) {
      throw wrong(
          "%s columns, all of which option %s names, expected at least one value beside them"
              .formatted(
                  cellCount, ignored.isEmpty() ? format.option() : format.option() + " or ignore"));
    }
    return found;
  }

  private int index(Column column, String option) {
    if (column.name().isPresent()) {
      String name = column.name().get();
      int found = names.indexOf(name);
      if (found < 0 || found != names.lastIndexOf(name)) {
        throw new DataException(
            "%s:1: has %s column \"%s\" (option %s), expected one of its columns: %s%s"
                .formatted(
                    source,
                    found < 0 ? "no" : "more than one",
                    name,
                    option,
                    join(names),
                    found < 0 ? alike(name) : ""));
      }
      return found;
    }
    if (column.index() >= cellCount) {
      throw wrong(
          "%s columns, expected at least %s (option %s)"
              .formatted(cellCount, column.index() + 1, option));
    }
    return column.index();
  }

  /** Returns what to know about a name in line 1 that looks like a name that was not found. */
  private String alike(String name) {
    return names.stream().anyMatch(other -> Confusables.areAlike(name, other))
        ? "; one of them looks the same, but has other characters: copy it from there"
        : "";
  }

  private static String join(List<String> names) {
    String joined = String.join(", ", names);
    return joined.length() > 300 ? joined.substring(0, 300) + "..." : joined;
  }

  private int[] targetsBeside() {
    List<Integer> targets = format.targetColumns().stream().map(Column::index).toList();
    if (cellCount == asked) {
      return new int[0];
    }
    if (cellCount == asked + targets.size() && Collections.max(targets) < cellCount) {
      return targets.stream().mapToInt(Integer::intValue).toArray();
    }
    throw wrong(
        "%s columns, expected %s, the values of a sample, or %s with what the model tells in column %s"
            .formatted(
                cellCount,
                asked,
                asked + targets.size(),
                format.targetColumns().stream()
                    .map(Column::toString)
                    .collect(Collectors.joining(", "))));
  }

  private int[] targets() {
    boolean single = format.targets().kind() == Targets.Kind.CLASS;
    if (cellCount == 1) {
      throw wrong(
          "1 column, expected %s and at least one value separated by %s; if the file has"
                  .formatted(single ? "the label" : "targets", name(format.separator()))
              + " another separator, set option separator");
    }
    int last = format.targetColumns().stream().mapToInt(Column::index).max().orElse(ABSENT);
    if (last >= cellCount) {
      throw wrong(
          "%s columns, expected %s in column %s and at least one value"
              .formatted(cellCount, single ? "the label" : "one of " + format.option(), last + 1));
    }
    int[] targets =
        format.targetColumns().stream()
            .mapToInt(column -> index(column, format.option()))
            .toArray();
    if (IntStream.of(targets).distinct().count() < targets.length) {
      throw wrong("option %s names a column twice, expected each once".formatted(format.option()));
    }
    return targets;
  }

  private void checkShape(int features) {
    if (format.shape().isEmpty() || asked > 0) {
      return;
    }
    int product = format.shape().stream().reduce(1, Math::multiplyExact);
    int targets = format.targetColumns().size();
    if (product != features) {
      int others = cellCount - features - targets;
      throw wrong(
          "%s columns, expected %s: %s and shape %s%s"
              .formatted(
                  cellCount,
                  product + targets + others,
                  format.targets().kind() == Targets.Kind.CLASS
                      ? "the label"
                      : "%s %s".formatted(targets, format.option()),
                  format.shape(),
                  others > 0 ? " beside %s that are not read".formatted(others) : ""));
    }
  }

  /** Returns a number, NaN if it is missing, or the index of a word. */
  private double feature(int feature, String cell) {
    int column = featureCells[feature];
    Dictionary category = words.get(feature);
    if (category != null) {
      String word = cell.strip();
      if (word.isEmpty()) {
        refuseMissing(column, cell, "a word");
        return Double.NaN;
      }
      if (isFitted && !category.ids.containsKey(word)) {
        throw wrong(
            "%s is %s, expected one of the words of the training: %s"
                .formatted(called(column), quote(cell), join(category.words)));
      }
      return category.id(word);
    }
    if (isMissing(cell) && !(format.missing().isRefused() && mayBeHeader())) {
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
              .formatted(called(column), quote(cell), expected));
    }
  }

  private double[] answer(List<String> cells) {
    double[] answer = new double[targetCells.length];
    for (int i = 0; i < answer.length; i++) {
      int column = targetCells[i];
      double value = number(cells.get(column), column);
      boolean binary = format.targets().kind() == Targets.Kind.LABELS;
      if (binary && value != 0 && value != 1) {
        throw wrong(
            "%s, a label, is %s, expected 0 or 1 (option labels; real values are option targets)"
                .formatted(called(column), quote(cells.get(column))));
      }
      answer[i] = value;
    }
    return answer;
  }

  private double number(String cell, int column) {
    double value = format.decimal().parse(cell);
    if (Float.isFinite((float) value)) {
      if (looksForMistakes) {
        if (merged[column] == null) {
          merged[column] = new MergedValues(isStandard(column));
        }
        merged[column].add(cell.replace(format.decimal().mark(), '.'), value);
      }
      return value;
    }
    if (format.decimal().matches(cell)) {
      throw wrong(
          "%s is %s, expected a number in the range of float32"
              .formatted(called(column), quote(cell)));
    }
    throw wrong(
        "%s is %s, expected a number%s".formatted(called(column), quote(cell), hint(cell, column)));
  }

  private int label(String cell) {
    int column = targetCells[0];
    if (!isFitted && rows.size() == 1 && format.findsClasses()) {
      findsClasses |= !format.decimal().matches(cell);
    }
    if (findsClasses) {
      return named(cell, column);
    }
    int most = format.targets().outputs();
    double value = format.decimal().parse(cell);
    if (!(value == Math.rint(value) && value >= 0 && value < most)) {
      throw wrong(
          "%s, the label, is %s, expected a whole number from 0 to %s (option classes)%s"
              .formatted(
                  called(column),
                  quote(cell),
                  most - 1,
                  Double.isNaN(value) && mayBeHeader()
                      ? hint(cell, column)
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
      throw wrong("%s, the label, is empty, expected a class".formatted(called(column)));
    }
    if (isFitted && !classes.ids.containsKey(word)) {
      throw wrong(
          "%s, the label, is %s, expected one of the classes of the training: %s"
              .formatted(called(column), quote(cell), join(classes.words)));
    }
    int id = classes.id(word);
    if (id >= MOST_FOUND_CLASSES) {
      throw wrong(
          "%s, the label, is %s, another class after %s, expected fewer; real values are option targets, and option classes allows more of them by number"
              .formatted(called(column), quote(cell), MOST_FOUND_CLASSES));
    }
    if (!isFitted && id == labelLines.size()) {
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
        throw wrong(
            labelLines.get(i),
            "%s, the label, is %s, expected a word or a whole number; real values are option targets"
                .formatted(called(targetCells[0]), quote(words.get(i))));
      }
    }
  }

  /** Sorts the words, so that their ids do not depend on the order of the lines. */
  private void sortWords() {
    if (findsClasses) {
      if (classes.words.size() < 2) {
        throw new DataException(
            "%s: every label is \"%s\", expected at least two classes in %s"
                .formatted(source, classes.words.get(0), columns.name(targetCells[0])));
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
            findsClasses ? classes.words : List.of(),
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
    if (isFitted || plain && format.missing().isRefused()) {
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
                  .formatted(source, columns.name(columns.features().get(i))));
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
    int targets = format.standardTargets() && !isUnlabelled ? columns.targets().size() : 0;
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
      throw new DataException(source + ": " + e.getMessage(), e);
    }
  }

  private List<String> warnings() {
    String place =
        isCut
            ? String.format(Locale.ROOT, "%s, first %,d rows: ", source, rows.size())
            : source + ": ";
    List<String> found = new ArrayList<>();
    for (int column = 0; column < merged.length; column++) {
      Optional<String> pair = Optional.ofNullable(merged[column]).flatMap(MergedValues::describe);
      if (pair.isPresent()) {
        String advice = isStandard(column) ? "" : "; normalization standard keeps them apart";
        found.add(called(column) + ": " + pair.get() + advice);
      }
    }
    constantColumns()
        .ifPresent(
            columns ->
                found.add(
                    columns
                        + " has one value only, so other values cannot be scaled later; option ignore leaves it out"));
    words.forEach(
        (feature, dictionary) -> {
          Map<String, Long> counts =
              counts(
                  dictionary,
                  IntStream.range(0, rows.size())
                      .mapToDouble(row -> rows.get(row, feature))
                      .filter(word -> !Double.isNaN(word))
                      .mapToInt(word -> (int) word));
          Confusables.describe(counts, "rows")
              .forEach(one -> found.add(called(featureCells[feature]) + ": " + one));
        });
    if (findsClasses) {
      Map<String, Long> counts = counts(classes, labels.stream().mapToInt(Integer::intValue));
      Confusables.describe(counts, "rows")
          .forEach(one -> found.add("%s, the label: %s".formatted(called(targetCells[0]), one)));
      identifiers().ifPresent(found::add);
      spellings().ifPresent(found::add);
      classes.words.stream()
          .filter(CsvSamples::isMissing)
          .findFirst()
          .ifPresent(
              word ->
                  found.add(
                      "%s, the label, is %s in line %s, which is a class of its own, not a missing value"
                          .formatted(
                              called(targetCells[0]),
                              quote(word),
                              labelLines.get(classes.ids.get(word)))));
    }
    headerMistake().ifPresent(found::add);
    List<String> shown = new ArrayList<>();
    found.stream().limit(MOST_WARNINGS).map(place::concat).forEach(shown::add);
    if (found.size() > MOST_WARNINGS) {
      shown.add(place + "%s more warnings".formatted(found.size() - MOST_WARNINGS));
    }
    return shown;
  }

  /** Returns how often each word stands in the rows that were read. */
  private static Map<String, Long> counts(Dictionary dictionary, IntStream ids) {
    Map<String, Long> counts = new TreeMap<>();
    ids.forEach(id -> counts.merge(dictionary.words.get(id), 1L, Long::sum));
    return counts;
  }

  /** Labels that differ in nearly all rows name samples, not classes. */
  private Optional<String> identifiers() {
    int count = classes.words.size();
    return rows.size() < LEAST_ROWS_OF_IDENTIFIERS || count < IDENTIFIERS * rows.size()
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT,
                "%s, the label, has %,d values in %,d rows, which names rows rather than classes; option label names another column, and option targets columns of real values",
                called(targetCells[0]),
                count,
                rows.size()));
  }

  private boolean isMerged(int column) {
    return merged[column] != null && merged[column].describe().isPresent();
  }

  private boolean isStandard(int column) {
    return IntStream.of(targetCells).anyMatch(target -> target == column)
        ? format.standardTargets()
        : format.standard();
  }

  /** Names the first standardised column with a single value, if there is one. */
  private Optional<String> constantColumns() {
    return IntStream.range(0, format.standard() && rows.size() > 1 ? featureCells.length : 0)
        .filter(feature -> !words.containsKey(feature))
        .filter(feature -> !isMerged(featureCells[feature]))
        .filter(
            feature ->
                IntStream.range(1, rows.size())
                    .allMatch(
                        row -> Double.compare(rows.get(row, feature), rows.get(0, feature)) == 0))
        .mapToObj(feature -> called(featureCells[feature]))
        .findFirst();
  }

  /** Finds two classes whose names are the same number, such as 1 and 1.0. */
  private Optional<String> spellings() {
    Map<Double, String> byValue = new HashMap<>();
    for (String word : classes.words) {
      double value = format.decimal().parse(word);
      String other = Double.isNaN(value) ? null : byValue.putIfAbsent(value + 0.0, word);
      if (other != null) {
        return Optional.of(
            "%s, the label, is %s in line %s and %s in line %s: two classes, because labels stay as they are written"
                .formatted(
                    called(targetCells[0]),
                    quote(other),
                    labelLines.get(classes.ids.get(other)),
                    quote(word),
                    labelLines.get(classes.ids.get(word))));
      }
    }
    return Optional.empty();
  }

  /** Compares line 1 with what option {@code header} says of it. */
  private Optional<String> headerMistake() {
    List<String> numbers =
        IntStream.of(featureCells)
            .filter(column -> column < names.size())
            .mapToObj(names::get)
            .toList();
    boolean named = format.usesNames() || numbers.isEmpty();
    if (!named && numbers.stream().allMatch(this::isNumber) && !isCounted(numbers)) {
      return Optional.of(
          "line 1 is not a sample (option header), but holds numbers: " + join(names));
    }
    boolean words = !format.header() && findsClasses && this.words.size() == featureCells.length;
    if (words && rows.size() > 1 && firstRowStandsAlone()) {
      return Optional.of(
          "line 1 is a sample, but none of its values stands in another line; if it holds names, set option header to true");
    }
    return Optional.empty();
  }

  private boolean isNumber(String text) {
    return !Double.isNaN(format.decimal().parse(text));
  }

  /** Returns whether names are whole numbers that follow each other, such as 0, 1, 2. */
  private boolean isCounted(List<String> numbers) {
    double first = format.decimal().parse(numbers.get(0));
    return first == Math.rint(first)
        && IntStream.range(0, numbers.size())
            .allMatch(i -> format.decimal().parse(numbers.get(i)) == first + i);
  }

  private boolean firstRowStandsAlone() {
    return IntStream.range(1, rows.size())
        .allMatch(
            row ->
                !labels.get(row).equals(labels.get(0))
                    && IntStream.range(0, featureCells.length)
                        .allMatch(feature -> rows.get(row, feature) != rows.get(0, feature)));
  }

  /** Returns what may be wrong with a cell that is no number. */
  private String hint(String cell, int column) {
    DecimalNotation other =
        format.decimal() == DecimalNotation.POINT ? DecimalNotation.COMMA : DecimalNotation.POINT;
    if (other.matches(cell)) {
      return "; if '%s' is its decimal mark, set option decimal to \"%s\""
          .formatted(other.mark(), other.mark());
    }
    if (cell.indexOf(';') >= 0 || cell.indexOf('\t') >= 0) {
      return "; if the file has another separator, set option separator";
    }
    if (mayBeHeader()) {
      return isFitted
          ? "; the training file has no names in line 1, so no other may have them"
          : "; if line 1 holds names, set option header to true";
    }
    if (line == 1 && format.header() && isUnlabelled && !isLine) {
      return "; line 1 names none of the training's columns: " + join(columns.names());
    }
    return column < names.size() ? "; option categories names columns of words" : "";
  }

  private boolean mayBeHeader() {
    return line == 1 && !format.header() && !isLine;
  }

  private String called(int column) {
    return "column %s%s"
        .formatted(
            column + 1, column < names.size() ? " (\"%s\")".formatted(names.get(column)) : "");
  }

  private static String quote(String cell) {
    String shown = cell.length() > LONGEST_QUOTE ? cell.substring(0, LONGEST_QUOTE) + "..." : cell;
    return '"' + shown.strip() + '"';
  }

  private static String name(char separator) {
    return separator == '\t' ? "a tab" : "'" + separator + "'";
  }

  private DataException wrong(String message) {
    return wrong(line, message);
  }

  private DataException wrong(long ofLine, String message) {
    return new DataException(
        isLine ? source + ": " + message : "%s:%s: %s".formatted(source, ofLine, message));
  }

  /**
   * Collects the cells of one record, in a list that the next record reuses, and the line where the
   * record begins.
   */
  private final class Cells extends AbstractBaseCsvCallbackHandler<List<String>> {

    private final List<String> cells = new ArrayList<>();

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
