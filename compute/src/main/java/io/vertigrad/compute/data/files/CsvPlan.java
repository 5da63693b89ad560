package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.CsvReading.join;
import static io.vertigrad.compute.data.files.CsvReading.name;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.compute.data.files.CsvFormat.Column;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Where the columns of a file lie, found in its first sample's line: from then on all rows are read
 * alike. Errors name file, line and column; line and column are counted from 1. Immutable.
 */
final class CsvPlan {

  private static final int ABSENT = -1;

  private final CsvReading reading;
  private final CsvFormat format;
  private final List<String> names;
  private final int cellCount;
  private final long line;

  /** The columns; either fitted before, or found in this file. */
  private final CsvColumns columns;

  /** For each feature and each target, the index of its cell in a line of this file. */
  private final int[] featureCells;

  private final int[] targetCells;

  /** The features that this file's words determine. */
  private final List<Integer> categories = new ArrayList<>();

  private final boolean findsClasses;

  /**
   * Finds the columns.
   *
   * @param names names in line 1; empty without a header
   * @param first cells of the first sample
   * @param line where it begins
   * @throws DataException naming what is missing there
   */
  CsvPlan(CsvReading reading, List<String> names, List<String> first, long line) {
    this.reading = reading;
    this.format = reading.format();
    this.names = names;
    this.cellCount = first.size();
    this.line = line;
    if (!reading.isFitted()) {
      targetCells = reading.inputs() > 0 ? targetsBeside() : targetsOfFormat();
      List<Integer> targets = IntStream.of(targetCells).boxed().toList();
      List<Integer> features = features(targets);
      columns = CsvColumns.of(cellCount, names, targets, features);
      featureCells = cells(features);
      for (Column category : format.categories()) {
        int feature = features.indexOf(index(category, "categories"));
        if (feature < 0) {
          throw wrong("option categories has column %s, which is no feature".formatted(category));
        }
        categories.add(feature);
      }
      checkShape(features.size());
    } else {
      columns = reading.fitted().get();
      boolean byName =
          !names.isEmpty() && !columns.names().isEmpty() && !names.equals(columns.names());
      featureCells = byName ? named(columns.features()) : featuresByPosition();
      targetCells =
          !byName
              ? cells(columns.targets())
              : reading.isUnlabelled() ? new int[0] : named(columns.targets());
    }
    findsClasses = reading.findsClasses() || findsClasses(first);
  }

  /** Returns whether the label of the first sample is a word, and may be one. */
  private boolean findsClasses(List<String> first) {
    return !reading.isFitted()
        && !reading.isUnlabelled()
        && format.findsClasses()
        && !format.decimal().matches(first.get(targetCells[0]));
  }

  CsvReading reading() {
    return reading;
  }

  List<String> names() {
    return names;
  }

  /** Returns the number of cells of each line. */
  int cellCount() {
    return cellCount;
  }

  /** Returns the columns, without what is fitted to rows of this file. */
  CsvColumns columns() {
    return columns;
  }

  int features() {
    return featureCells.length;
  }

  /** Returns the cell of a feature. */
  int feature(int feature) {
    return featureCells[feature];
  }

  int targets() {
    return targetCells.length;
  }

  /** Returns the cell of a target; the first one is that of the label, if there is one. */
  int target(int target) {
    return targetCells[target];
  }

  /** Returns the features whose words are those of this file. */
  List<Integer> categories() {
    return Collections.unmodifiableList(categories);
  }

  /** Returns whether labels are names of classes: all of them, numbers included. */
  boolean findsClasses() {
    return findsClasses;
  }

  /** Returns whether the values of a cell are standardised. */
  boolean isStandard(int column) {
    return IntStream.of(targetCells).anyMatch(target -> target == column)
        ? format.standardTargets()
        : format.standard();
  }

  /** Returns whether a line may be names that option {@code header} denies. */
  boolean mayBeHeader(long ofLine) {
    return ofLine == 1 && !format.header() && !reading.isLine();
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
              .formatted(reading.source(), name, join(columns.names()), join(names), alike(name)));
    }
    if (found != names.lastIndexOf(name)
        || columns.names().indexOf(name) != columns.names().lastIndexOf(name)) {
      throw new DataException(
          "%s:1: column \"%s\" stands twice, here or in the training, expected its name once or the training's first line: %s"
              .formatted(reading.source(), name, join(columns.names())));
    }
    return found;
  }

  /** Finds the features where the training had them, or in a line without targets. */
  private int[] featuresByPosition() {
    int features = columns.features().size();
    int targets = columns.targets().size();
    boolean unlabelled = reading.isUnlabelled();
    if (cellCount == columns.count()) {
      return cells(columns.features());
    }
    if (unlabelled && cellCount == columns.count() - targets) {
      return columns.features().stream()
          .mapToInt(
              column -> column - (int) columns.targets().stream().filter(t -> t < column).count())
          .toArray();
    }
    if (unlabelled && cellCount == features) {
      return IntStream.range(0, features).toArray();
    }
    throw wrong(
        unlabelled
            ? "%s columns, expected %s, the values of a sample%s, or %s with what the model tells in column %s"
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
                        .collect(Collectors.joining(", ")))
            : "%s columns, expected %s as in training".formatted(cellCount, columns.count()));
  }

  private static int[] cells(List<Integer> columns) {
    return columns.stream().mapToInt(Integer::intValue).toArray();
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
                    reading.source(),
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

  private int[] targetsBeside() {
    int inputs = reading.inputs();
    List<Integer> targets = format.targetColumns().stream().map(Column::index).toList();
    if (cellCount == inputs) {
      return new int[0];
    }
    if (cellCount == inputs + targets.size() && Collections.max(targets) < cellCount) {
      return cells(targets);
    }
    throw wrong(
        "%s columns, expected %s, the values of a sample, or %s with what the model tells in column %s"
            .formatted(
                cellCount,
                inputs,
                inputs + targets.size(),
                format.targetColumns().stream()
                    .map(Column::toString)
                    .collect(Collectors.joining(", "))));
  }

  private int[] targetsOfFormat() {
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
    if (format.shape().isEmpty() || reading.inputs() > 0) {
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

  /** Returns what may be wrong with a cell that is no number. */
  String hint(long ofLine, String cell, int column) {
    DecimalNotation other =
        format.decimal() == DecimalNotation.POINT ? DecimalNotation.COMMA : DecimalNotation.POINT;
    if (other.matches(cell)) {
      return "; if '%s' is its decimal mark, set option decimal to \"%s\""
          .formatted(other.mark(), other.mark());
    }
    if (cell.indexOf(';') >= 0 || cell.indexOf('\t') >= 0) {
      return "; if the file has another separator, set option separator";
    }
    if (mayBeHeader(ofLine)) {
      return reading.isFitted()
          ? "; the training file has no names in line 1, so no other may have them"
          : "; if line 1 holds names, set option header to true";
    }
    if (ofLine == 1 && format.header() && reading.isUnlabelled() && !reading.isLine()) {
      return "; line 1 names none of the training's columns: " + join(columns.names());
    }
    return column < names.size() ? "; option categories names columns of words" : "";
  }

  /** Returns a column for messages. */
  String called(int column) {
    return "column %s%s"
        .formatted(
            column + 1, column < names.size() ? " (\"%s\")".formatted(names.get(column)) : "");
  }

  private DataException wrong(String message) {
    return reading.wrong(line, message);
  }
}
