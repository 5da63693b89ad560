package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.Batch;
import java.util.SplittableRandom;

/**
 * Measures the time that one micro-batch takes in a stage, forward and backward, on random values.
 */
final class StageTimer {

  private static final int WARM = 3;
  private static final int MEASURED = 7;

  private final StageModel stage;
  private final int samples;

  StageTimer(StageModel stage, int samples) {
    this.stage = stage;
    this.samples = samples;
  }

  /**
   * Returns the least time in seconds, which other programs disturb the least; closes the stage.
   */
  double seconds() {
    try (stage) {
      StageSpec spec = stage.spec();
      float[] input = random(samples * spec.inputLength());
      float[] gradient = random(samples * spec.outputLength());
      double least = Double.POSITIVE_INFINITY;
      for (int i = -WARM; i < MEASURED; i++) {
        long start = System.nanoTime();
        forwardAndBackward(input, gradient);
        if (i >= 0) {
          least = Math.min(least, (System.nanoTime() - start) / 1e9);
        }
      }
      return least;
    }
  }

  private void forwardAndBackward(float[] input, float[] gradient) {
    if (stage.hasLoss()) {
      // The batch has both labels and values; the stage takes what its loss needs.
      float[] targets = new float[samples * stage.spec().outputLength()];
      stage.loss(new Batch(samples, input, new int[samples], targets, stage.spec().input(), 0));
    } else {
      stage.backward(input, gradient, samples);
    }
  }

  private static float[] random(int length) {
    SplittableRandom random = new SplittableRandom(1);
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = (float) random.nextDouble();
    }
    return values;
  }
}
