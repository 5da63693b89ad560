package io.vertigrad.serving.internal;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.training.NewestParameters.Version;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * A set of parameters whose outputs are its version and the sample's only input. Versions come from
 * a counter that both sets share.
 */
class FakeModel implements ServedModel {

  static final SampleFormat FORMAT =
      new SampleFormat(
          "fake",
          List.of(1),
          Targets.values(2),
          0,
          List.of(),
          Optional.empty(),
          Optional.empty(),
          List.of(),
          Treatment.ON_BLACK);

  private final AtomicLong versions;
  private final Semaphore passes;
  private long version;

  /**
   * @param versions the newest version
   * @param passes one permit for each forward pass
   */
  FakeModel(AtomicLong versions, Semaphore passes) {
    this.versions = versions;
    this.passes = passes;
  }

  @Override
  public SampleFormat format() {
    return FORMAT;
  }

  @Override
  public Optional<Version> load(long after, BooleanSupplier stop) {
    long newest = versions.get();
    if (newest <= after) {
      return Optional.empty();
    }
    version = newest;
    return Optional.of(new Version(newest, newest));
  }

  @Override
  public long loadedMillis() {
    return System.currentTimeMillis();
  }

  @Override
  public float[] outputs(int count, float[] inputs) {
    passes.acquireUninterruptibly();
    float[] outputs = new float[2 * count];
    for (int i = 0; i < count; i++) {
      if (inputs[i] < 0) {
        throw new IllegalArgumentException("input below 0");
      }
      outputs[2 * i] = version;
      outputs[2 * i + 1] = inputs[i];
    }
    return outputs;
  }

  @Override
  public void wake() {
    passes.release(1_000);
  }

  @Override
  public void close() {
    // Nothing to close.
  }
}
