package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Dataset;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;

/**
 * Samples of a CSV file as inputs of a model.
 *
 * @param rows one array of inputs per sample
 * @param labels the samples' classes; empty if targets are not classes
 * @param answers one array of labels or values per sample; empty if targets are classes
 * @param columns the columns of the file, and the values fitted to the training rows
 */
record CsvDataset(
    List<float[]> rows,
    int[] labels,
    List<float[]> answers,
    List<Integer> shape,
    Targets targets,
    CsvColumns columns)
    implements Dataset {

  CsvDataset {
    rows = List.copyOf(rows);
    answers = List.copyOf(answers);
    shape = List.copyOf(shape);
  }

  @Override
  public int size() {
    return rows.size();
  }

  @Override
  public int classes() {
    return targets.outputs();
  }

  @Override
  public List<String> classNames() {
    return columns.classes();
  }

  @Override
  public Map<String, Object> fitted() {
    return columns.toJson().getMap();
  }

  /** Reads the value of {@link #fitted}. */
  static CsvColumns columns(Map<String, Object> fitted) {
    return CsvColumns.fromJson(new JsonObject(fitted));
  }

  @Override
  public void read(int index, float[] features, int offset) {
    float[] row = rows.get(index);
    System.arraycopy(row, 0, features, offset, row.length);
  }

  @Override
  public int label(int index) {
    return labels[index];
  }

  @Override
  public void readTargets(int index, float[] into, int offset) {
    float[] answer = answers.get(index);
    System.arraycopy(answer, 0, into, offset, answer.length);
  }
}
