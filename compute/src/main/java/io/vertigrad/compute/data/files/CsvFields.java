package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.FieldReader;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Reads samples whose values have the names of a CSV file's columns. Columns of a file without
 * names, or with a name twice, are called by their number, from 1.
 */
final class CsvFields implements FieldReader {

  private static final int LONGEST_LIST = 200;

  private final CsvColumns columns;
  private final CsvFormat format;
  private final List<Field> fields;
  private final Set<String> names;

  /** By feature, the index of each of its words; empty for a number. */
  private final List<Map<String, Integer>> words;

  /** Names that a sample may have besides its fields, such as the target's. */
  private final Set<String> others = new HashSet<>();

  CsvFields(CsvColumns columns, CsvFormat format) {
    this.columns = columns;
    this.format = format;
    boolean named = Set.copyOf(columns.names()).size() == columns.count();
    List<String> all =
        IntStream.range(0, columns.count())
            .mapToObj(column -> named ? columns.names().get(column) : Integer.toString(column + 1))
            .toList();
    this.fields =
        IntStream.range(0, columns.features().size())
            .mapToObj(
                feature ->
                    new Field(
                        all.get(columns.features().get(feature)),
                        columns.words().containsKey(feature)))
            .toList();
    this.names = fields.stream().map(Field::name).collect(Collectors.toSet());
    this.others.addAll(all);
    this.words =
        IntStream.range(0, fields.size())
            .mapToObj(feature -> indices(columns.words().getOrDefault(feature, List.of())))
            .toList();
  }

  private static Map<String, Integer> indices(List<String> words) {
    Map<String, Integer> indices = new HashMap<>();
    words.forEach(word -> indices.put(word, indices.size()));
    return indices;
  }

  @Override
  public List<Field> fields() {
    return fields;
  }

  @Override
  public void read(Map<String, ?> sample, float[] features, int offset) {
    double[] row = new double[fields.size()];
    int found = 0;
    for (int i = 0; i < row.length; i++) {
      String name = fields.get(i).name();
      Object value = sample.get(name);
      found += value != null || sample.containsKey(name) ? 1 : 0;
      row[i] = value(i, value);
    }
    if (found < sample.size()) {
      refuseUnknown(sample.keySet());
    }
    float[] inputs = columns.inputs(row, format.scale());
    System.arraycopy(inputs, 0, features, offset, inputs.length);
  }

  private void refuseUnknown(Set<String> found) {
    found.stream()
        .filter(name -> !names.contains(name) && !others.contains(name))
        .findFirst()
        .ifPresent(
            name -> {
              String expected = String.join(", ", fields.stream().map(Field::name).toList());
              throw new DataException(
                  "field \"%s\": is unknown, expected the columns of the training: %s"
                      .formatted(cut(name), cut(expected)));
            });
  }

  /** Returns a number, NaN if it is missing, or the index of a word. */
  private double value(int feature, Object value) {
    boolean text = fields.get(feature).text();
    if (value == null || value instanceof String word && isMissing(word, text)) {
      if (format.missing().isRefused()) {
        throw wrong(feature, value, text ? "a word of the training" : "a number");
      }
      return Double.NaN;
    }
    if (text) {
      Integer index = words.get(feature).get(String.valueOf(value).strip());
      if (index == null) {
        throw wrong(
            feature,
            value,
            "one of the words of the training: "
                + cut(String.join(", ", columns.words().get(feature))));
      }
      return index;
    }
    double number = number(value);
    if (!Float.isFinite((float) number)) {
      throw wrong(
          feature, value, Double.isNaN(number) ? "a number" : "a number in the range of float32");
    }
    return number;
  }

  /** Only an empty text is a missing word: others, such as NA, may be words of the training. */
  private static boolean isMissing(String value, boolean text) {
    return text ? value.isBlank() : CsvSamples.isMissing(value);
  }

  private double number(Object value) {
    if (value instanceof Number number) {
      return number.doubleValue();
    }
    if (value instanceof Boolean flag) {
      return flag ? 1 : 0;
    }
    return format.decimal().parse(String.valueOf(value));
  }

  private DataException wrong(int feature, Object value, String expected) {
    String shown = value == null ? "missing" : "\"" + cut(String.valueOf(value)) + "\"";
    return new DataException(
        "field \"%s\": is %s, expected %s".formatted(fields.get(feature).name(), shown, expected));
  }

  private static String cut(String text) {
    return text.length() > LONGEST_LIST ? text.substring(0, LONGEST_LIST) + "..." : text;
  }
}
