package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads one CSV file of numbers; errors name file, line and column, both counted from 1. */
final class CsvReader {

  private static final String BYTE_ORDER_MARK = "\uFEFF";
  private static final int LONGEST_QUOTE = 30;

  private final Path path;
  private final CsvFormat format;
  private final List<float[]> rows = new ArrayList<>();
  private final List<Integer> labels = new ArrayList<>();
  private int columns;
  private int line;

  CsvReader(Path path, CsvFormat format) {
    this.path = path;
    this.format = format;
  }

  CsvDataset read() {
    try (DataFile file = DataFile.open(path);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(file.stream(), StandardCharsets.UTF_8))) {
      for (String text = in.readLine(); text != null; text = in.readLine()) {
        line++;
        if (!text.isBlank() && !(line == 1 && format.header())) {
          sample(line == 1 && text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text);
        }
      }
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

  private void sample(String text) {
    String[] cells = text.split(",", -1);
    if (rows.isEmpty()) {
      columns = cells.length;
      checkColumns();
    }
    if (cells.length != columns) {
      throw wrong("%d columns, expected %d as before".formatted(cells.length, columns));
    }
    float[] row = new float[columns - 1];
    for (int column = 0, value = 0; column < columns; column++) {
      if (column != format.labelColumn()) {
        row[value++] = number(cells[column], column) * format.scale();
      }
    }
    labels.add(label(cells[format.labelColumn()]));
    rows.add(row);
  }

  private void checkColumns() {
    int needed = format.shape().stream().reduce(1, Math::multiplyExact) + 1;
    if (columns < 2 || format.labelColumn() >= columns) {
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

  private DataException wrong(String message) {
    return new DataException("%s:%d: %s".formatted(path, line, message));
  }
}
