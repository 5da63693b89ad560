package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.Dataset;
import java.util.List;

/** Samples of a CSV file, already scaled; {@code rows} has one array of values per sample. */
record CsvDataset(List<float[]> rows, int[] labels, List<Integer> shape, int classes)
    implements Dataset {

  CsvDataset {
    rows = List.copyOf(rows);
    shape = List.copyOf(shape);
  }

  @Override
  public int size() {
    return labels.length;
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
}
