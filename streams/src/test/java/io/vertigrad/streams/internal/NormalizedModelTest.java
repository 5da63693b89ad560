package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.testkit.QuadraticModel;
import java.nio.FloatBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class NormalizedModelTest {

  private static final float RATE = 0.25f;

  private final QuadraticModel network = new QuadraticModel(2, 0);
  private final NormalizedModel model =
      new NormalizedModel(network, new int[] {1}, 0, RATE, List.of());

  @Test
  void shouldKeepStatisticsBehindTheParametersOfTheNetwork() {
    assertEquals(
        List.of("w", "normalization.mean", "normalization.variance", "normalization.weight"),
        model.layout().blocks().stream().map(Block::name).toList());
    float[] all = {1, 2, 3, 4, 5};

    model.writeParameters(0, FloatBuffer.wrap(all));
    float[] read = new float[5];
    model.readParameters(0, FloatBuffer.wrap(read));
    float[] middle = new float[3];
    model.readParameters(1, FloatBuffer.wrap(middle));

    assertArrayEquals(all, read);
    assertArrayEquals(new float[] {2, 3, 4}, middle);
    assertArrayEquals(new float[] {1, 2}, network.parameters);
  }

  @Test
  void shouldMoveStatisticsToMeanAndDeviationOfTheData() {
    for (int step = 0; step < 40; step++) {
      step(batch(7, 98, 7, 102));
    }

    float[] statistics = statistics();
    assertEquals(100, statistics[0] / statistics[2], 1e-3);
    assertEquals(4, statistics[1] / statistics[2], 1e-3);
    assertEquals(1, statistics[2], 1e-4);
    Batch seen = network.seen.get(network.seen.size() - 1);
    assertArrayEquals(new float[] {7, -1, 7, 1}, seen.features(), 1e-3f);
  }

  /** The same after one step: what the statistics lack is divided out. */
  @Test
  void shouldNormaliseFromTheFirstStepOn() {
    step(batch(0, 98, 0, 102));

    float[] statistics = statistics();
    assertEquals(RATE, statistics[2]);
    assertEquals(100, statistics[0] / statistics[2], 1e-4);
    assertEquals(4, statistics[1] / statistics[2], 1e-4);
  }

  @Test
  void shouldUseTheMeanForAMissingNumberAndLimitOutliers() {
    step(batch(0, 98, 0, 102));

    model.gradient(batch(0, Float.NaN, 0, 1e9f));

    Batch seen = network.seen.get(network.seen.size() - 1);
    assertArrayEquals(new float[] {0, 0, 0, 10}, seen.features(), 1e-3f);
  }

  /** The statistics are floats, which stop before they reach the number. */
  @Test
  void shouldTreatRoundingErrorsOfAConstantAsOneValue() {
    for (float constant : new float[] {0.422915f, 7.31e-5f, 1_999.7f, 3.3e8f}) {
      NormalizedModel other = new NormalizedModel(network, new int[] {1}, 0, 0.002f, List.of());
      for (int step = 0; step < 8_000; step++) {
        step(other, batch(0, constant));
        Batch seen = network.seen.remove(network.seen.size() - 1);
        assertEquals(0, Math.abs(seen.features()[1]), constant + " at step " + step);
      }
    }
  }

  @Test
  void shouldHaveNoGradientWithoutSamples() {
    step(batch(0, 98, 0, 102));
    model.gradient(new Batch(0, new float[0], new int[0], new float[0], List.of(), 0));
    float[] gradient = {1, 1, 1, 1, 1};

    model.readGradient(0, FloatBuffer.wrap(gradient));

    assertArrayEquals(new float[5], gradient);
  }

  @Test
  void shouldContinueFromTheStatisticsOfASavedModel() {
    step(batch(0, 98, 0, 102));
    List<?> saved = (List<?>) model.fitted().get(NormalizedModel.FITTED);

    NormalizedModel again =
        new NormalizedModel(new QuadraticModel(2, 0), new int[] {1}, 0, RATE, saved);
    float[] read = new float[3];
    again.readParameters(2, FloatBuffer.wrap(read));

    assertArrayEquals(statistics(), read);
    assertTrue(read[2] > 0);
  }

  /** Trains as a server does: statistics are moved by the difference as it is. */
  private void step(Batch batch) {
    step(model, batch);
  }

  private static void step(NormalizedModel model, Batch batch) {
    model.gradient(batch);
    float[] gradient = new float[5];
    model.readGradient(0, FloatBuffer.wrap(gradient));
    float[] parameters = new float[5];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    for (int i = 2; i < 5; i++) {
      parameters[i] -= gradient[i];
    }
    model.writeParameters(0, FloatBuffer.wrap(parameters));
  }

  private float[] statistics() {
    float[] statistics = new float[3];
    model.readParameters(2, FloatBuffer.wrap(statistics));
    return statistics;
  }

  private static Batch batch(float... features) {
    return new Batch(features, new int[features.length / 2], List.of(2), 0);
  }
}
