package io.vertigrad.compute.data.files;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Reads the samples of one CSV file; errors name file, line and column, both counted from 1.
 *
 * <p>A sample that goes over several lines, because a quoted value has line breaks, is at its
 * first.
 */
final class CsvSamples {

  private static final int LONGEST_QUOTE = 30;

  private final Path path;
  private final CsvFormat format;
  private final int asked;
  private final List<float[]> rows = new ArrayList<>();
  private final List<Integer> labels = new ArrayList<>();
  private final List<float[]> answers = new ArrayList<>();
  private boolean[] isTarget;
  private int columns;
  private long line;

  /** Of a file for training or testing. */
  CsvSamples(Path path, CsvFormat format) {
    this(path, format, 0);
  }

  /**
   * Of a file that a model is asked about.
   *
   * @param asked values of a sample, beside which the columns of targets may be there or not; 0
   *     where they have to be, and are read
   */
  CsvSamples(Path path, CsvFormat format, int asked) {
    this.path = path;
    this.format = format;
    this.asked = asked;
  }

  CsvDataset read() {
    try (DataFile file = DataFile.open(path);
        CsvReader<List<String>> reader = reader(file)) {
      for (List<String> cells : reader) {
        boolean blank = cells.size() == 1 && cells.get(0).isBlank();
        if (!blank && !(line == 1 && format.header())) {
          sample(cells);
        }
      }
    } catch (CsvParseException e) {
      throw wrong(
          "%s; expected values separated by %s, %s around those that hold it, doubled inside"
              .formatted(e.getMessage(), name(format.separator()), name(format.quote())));
    } catch (UncheckedIOException e) {
      throw DataFile.failure(path, e.getCause());
    } catch (IOException e) {
      throw DataFile.failure(path, e);
    }
    if (rows.isEmpty()) {
      throw new DataException(path + ": holds no sample, expected one on each line");
    }
    List<Integer> shape = format.shape().isEmpty() ? List.of(rows.get(0).length) : format.shape();
    int[] classes = labels.stream().mapToInt(Integer::intValue).toArray();
    return new CsvDataset(rows, classes, answers, shape, format.targets());
  }

  private CsvReader<List<String>> reader(DataFile file) {
    return CsvReader.builder()
        .fieldSeparator(format.separator())
        .quoteCharacter(format.quote())
        .trimWhitespacesAroundQuotes(true)
        .allowUnclosedQuote(false)
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE)
        .detectBomHeader(true)
        .build(new Cells(), file.stream());
  }

  private void sample(List<String> cells) {
    if (rows.isEmpty()) {
      columns = cells.size();
      isTarget = asked == 0 ? targetColumns() : targetColumnsBeside(asked);
    }
    if (cells.size() != columns) {
      throw wrong("%d columns, expected %d as before".formatted(cells.size(), columns));
    }
    float[] row = rows.isEmpty() ? new float[values()] : new float[rows.get(0).length];
    for (int column = 0, value = 0; column < columns; column++) {
      if (!isTarget[column]) {
        row[value++] = number(cells.get(column), column) * format.scale();
      }
    }
    rows.add(row);
    if (asked > 0) {
      return;
    }
    if (format.targets().kind() == Targets.Kind.CLASS) {
      labels.add(label(cells.get(format.targetColumns().get(0))));
    } else {
      answers.add(answer(cells));
    }
  }

  private float[] answer(List<String> cells) {
    float[] answer = new float[format.targetColumns().size()];
    for (int i = 0; i < answer.length; i++) {
      int column = format.targetColumns().get(i);
      answer[i] = number(cells.get(column), column);
      boolean binary = format.targets().kind() == Targets.Kind.LABELS;
      if (binary && answer[i] != 0 && answer[i] != 1) {
        throw wrong(
            "column %d, a label, is %s, expected 0 or 1 (option labels; real values are option targets)"
                .formatted(column + 1, quote(cells.get(column))));
      }
    }
    return answer;
  }

  private int values() {
    int values = 0;
    for (boolean target : isTarget) {
      values += target ? 0 : 1;
    }
    return values;
  }

  private boolean[] targetColumnsBeside(int values) {
    List<Integer> targets = format.targetColumns();
    if (columns == values) {
      return new boolean[columns];
    }
    if (columns == values + targets.size() && Collections.max(targets) < columns) {
      return marked();
    }
    throw wrong(
        "%d columns, expected %d, the values of a sample, or %d with what the model tells in column %s"
            .formatted(
                columns,
                values,
                values + targets.size(),
                targets.stream()
                    .map(column -> Integer.toString(column + 1))
                    .collect(Collectors.joining(", "))));
  }

  private boolean[] marked() {
    boolean[] marked = new boolean[columns];
    format.targetColumns().forEach(column -> marked[column] = true);
    return marked;
  }

  private boolean[] targetColumns() {
    int targets = format.targetColumns().size();
    boolean single = format.targets().kind() == Targets.Kind.CLASS;
    int needed = format.shape().stream().reduce(1, Math::multiplyExact) + targets;
    if (columns == 1) {
      throw wrong(
          "1 column, expected %s and at least one value separated by %s; if the file has"
                  .formatted(single ? "the label" : "targets", name(format.separator()))
              + " another separator, set option separator");
    }
    int last = Collections.max(format.targetColumns());
    if (last >= columns) {
      throw wrong(
          "%d columns, expected %s in column %d and at least one value"
              .formatted(columns, single ? "the label" : "one of " + format.option(), last + 1));
    }
    if (targets == columns) {
      throw wrong(
          "%d columns, all of which option %s names, expected at least one value beside them"
              .formatted(columns, format.option()));
    }
    if (!format.shape().isEmpty() && needed != columns) {
      throw wrong(
          "%d columns, expected %d: %s and shape %s"
              .formatted(
                  columns,
                  needed,
                  single ? "the label" : "%d %s".formatted(targets, format.option()),
                  format.shape()));
    }
    return marked();
  }

  private float number(String cell, int column) {
    try {
      float value = Float.parseFloat(cell);
      if (Float.isFinite(value)) {
        return value;
      }
    } catch (NumberFormatException e) {
      // The same message serves text and infinities.
    }
    throw wrong("column %d is %s, expected a number%s".formatted(column + 1, quote(cell), hint()));
  }

  private int label(String cell) {
    int column = format.targetColumns().get(0);
    int classes = format.targets().outputs();
    float value = number(cell, column);
    if (value != Math.rint(value) || value < 0 || value >= classes) {
      throw wrong(
          "column %d, the label, is %s, expected a whole number from 0 to %d (option classes)"
              .formatted(column + 1, quote(cell), classes - 1));
    }
    return (int) value;
  }

  private String hint() {
    return line == 1 ? "; if line 1 holds names, set option header to true" : "";
  }

  private static String quote(String cell) {
    String shown = cell.length() > LONGEST_QUOTE ? cell.substring(0, LONGEST_QUOTE) + "..." : cell;
    return '"' + shown.strip() + '"';
  }

  private static String name(char separator) {
    return separator == '\t' ? "a tab" : "'" + separator + "'";
  }

  private DataException wrong(String message) {
    return new DataException("%s:%d: %s".formatted(path, line, message));
  }

  /** One record's cells, in a list that the next record takes over, and the line it begins at. */
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
