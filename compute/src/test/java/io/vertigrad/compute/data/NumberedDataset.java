package io.vertigrad.compute.data;

import java.util.List;

/** A data set in which sample i has two values, i and -i, and label i % 3. */
record NumberedDataset(int size) implements Dataset {

  @Override
  public List<Integer> shape() {
    return List.of(2);
  }

  @Override
  public int classes() {
    return 3;
  }

  @Override
  public void read(int index, float[] features, int offset) {
    features[offset] = index;
    features[offset + 1] = -index;
  }

  @Override
  public int label(int index) {
    return index % 3;
  }
}
