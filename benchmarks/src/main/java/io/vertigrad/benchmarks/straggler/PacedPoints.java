package io.vertigrad.benchmarks.straggler;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import java.util.List;
import java.util.Optional;

/**
 * Samples of three equal features that come slowly, and ten times as slowly where the folder of the
 * data is named {@code slow}: workers of one job may differ in the folder.
 */
public final class PacedPoints implements DatasetProvider {

  /** The folder of a slow worker. */
  static final String SLOW = "slow";

  /** Time that a sample takes. */
  static final int MILLIS = 2;

  /** How many times as long it takes a slow worker. */
  static final int SLOWER = 10;

  /** Creates the provider, which a job file names by its class. */
  public PacedPoints() {}

  @Override
  public String name() {
    return "paced-points";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    boolean slow = config.directory().filter(folder -> folder.endsWith(SLOW)).isPresent();
    return new Points(slow ? MILLIS * SLOWER : MILLIS);
  }

  /** Returns none, because reading them all takes seconds. */
  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    return Optional.empty();
  }

  private record Points(long millis) implements Dataset {

    @Override
    public int size() {
      return 64;
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
      try {
        Thread.sleep(millis);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      for (int i = offset; i < offset + 3; i++) {
        features[i] = 1;
      }
    }

    @Override
    public int label(int index) {
      return 1;
    }
  }
}
