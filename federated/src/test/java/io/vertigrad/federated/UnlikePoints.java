package io.vertigrad.federated;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import java.util.List;

/** A data set named {@code unlike}: 60 points that differ, of three coordinates each. */
public final class UnlikePoints implements DatasetProvider {

  static final int SIZE = 60;

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public UnlikePoints() {}

  static float coordinate(int index, int dimension) {
    return (index * (dimension + 3)) % 11 / 4f;
  }

  @Override
  public String name() {
    return "unlike";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    return new Dataset() {
      @Override
      public int size() {
        return SIZE;
      }

      @Override
      public List<Integer> shape() {
        return List.of(3);
      }

      @Override
      public int classes() {
        return 2;
      }

      @Override
      public void read(int index, float[] features, int offset) {
        for (int i = 0; i < 3; i++) {
          features[offset + i] = coordinate(index, i);
        }
      }

      @Override
      public int label(int index) {
        return index % 2;
      }
    };
  }
}
