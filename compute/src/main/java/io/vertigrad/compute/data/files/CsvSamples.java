package io.vertigrad.compute.data.files;

import de.siegmar.fastcsv.reader.AbstractBaseCsvCallbackHandler;
import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

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
  private final List<float[]> rows = new ArrayList<>();
  private final List<Integer> labels = new ArrayList<>();
  private int columns;
  private long line;

  CsvSamples(Path path, CsvFormat format) {
    this.path = path;
    this.format = format;
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
    List<Integer> shape = format.shape().isEmpty() ? List.of(columns - 1) : format.shape();
    int[] classes = labels.stream().mapToInt(Integer::intValue).toArray();
    return new CsvDataset(rows, classes, shape, format.classes());
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
      checkColumns();
    }
    if (cells.size() != columns) {
      throw wrong("%d columns, expected %d as before".formatted(cells.size(), columns));
    }
    float[] row = new float[columns - 1];
    for (int column = 0, value = 0; column < columns; column++) {
      if (column != format.labelColumn()) {
        row[value++] = number(cells.get(column), column) * format.scale();
      }
    }
    labels.add(label(cells.get(format.labelColumn())));
    rows.add(row);
  }

  private void checkColumns() {
    int needed = format.shape().stream().reduce(1, Math::multiplyExact) + 1;
    if (columns == 1) {
      throw wrong(
          "1 column, expected the label and at least one value separated by %s; if the file has"
                  .formatted(name(format.separator()))
              + " another separator, set option separator");
    }
    if (format.labelColumn() >= columns) {
      throw wrong(
          "%d columns, expected the label in column %d and at least one value"
              .formatted(columns, format.labelColumn() + 1));
    }
    if (!format.shape().isEmpty() && needed != columns) {
      throw wrong(
          "%d columns, expected %d: the label and shape %s"
              .formatted(columns, needed, format.shape()));
    }
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
    float value = number(cell, format.labelColumn());
    if (value != Math.rint(value) || value < 0 || value >= format.classes()) {
      throw wrong(
          "column %d, the label, is %s, expected a whole number from 0 to %d (option classes)"
              .formatted(format.labelColumn() + 1, quote(cell), format.classes() - 1));
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
