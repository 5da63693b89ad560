package io.vertigrad.benchmarks.owndata;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.SplitMix64;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LeNetFactoryTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final int PARAMETERS =
      6 * 26 + 16 * (6 * 25 + 1) + 120 * (16 * 16 + 1) + 84 * 121 + 10 * 85;

  @Test
  void shouldHaveThePublishedLayersWhenSamplesAreDigits() {
    try (Model model = model(DIGIT, 1)) {
      assertEquals(PARAMETERS, model.layout().length());
      assertEquals(44_426, PARAMETERS);
    }
  }

  @Test
  void shouldStartWithTheSameBitsWhenTheSeedIsTheSame() {
    try (Model model = model(DIGIT, 3);
        Model again = model(DIGIT, 3);
        Model other = model(DIGIT, 4)) {
      assertArrayEquals(parameters(model), parameters(again));
      assertTrue(parameters(model)[0] != parameters(other)[0]);
    }
  }

  @Test
  void shouldDrawWithinTheBoundOfTheInputsWhenItStarts() {
    try (Model model = model(DIGIT, 3)) {
      float[] parameters = parameters(model);
      int first = 0;
      for (Block block : model.layout().blocks()) {
        float largest = 0;
        for (int i = first; i < first + block.length(); i++) {
          largest = Math.max(largest, Math.abs(parameters[i]));
        }
        // conv1 sees 25 numbers, all others more.
        assertTrue(largest > 0 && largest <= 0.2f, block.name() + ": " + largest);
        first += block.length();
      }
    }
  }

  @Test
  void shouldLowerTheLossWhenItFollowsItsGradient() {
    float[] features = new float[8 * 784];
    SplitMix64 random = new SplitMix64(5);
    for (int i = 0; i < features.length; i++) {
      features[i] = (float) random.normal();
    }
    Batch batch = new Batch(features, new int[] {0, 1, 2, 3, 4, 5, 6, 7}, DIGIT, 0);
    try (Model model = model(DIGIT, 1)) {
      double before = model.gradient(batch);
      float[] gradient = new float[PARAMETERS];
      model.readGradient(0, FloatBuffer.wrap(gradient));
      float[] stepped = parameters(model);
      double squares = 0;
      for (int i = 0; i < PARAMETERS; i++) {
        stepped[i] -= 1e-3f * gradient[i];
        squares += (double) gradient[i] * gradient[i];
      }
      model.writeParameters(0, FloatBuffer.wrap(stepped));

      // The first term of Taylor's series.
      assertEquals(before - 1e-3 * squares, model.gradient(batch), 0.05 * 1e-3 * squares);
    }
  }

  @Test
  void shouldSayWhatItExpectsWhenImagesAreTooSmall() {
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> model(List.of(1, 8, 8), 1))
            .getMessage()
            .endsWith(
                "samples are [1, 8, 8], expected [channels, height, width] of at least 16 x 16"));
  }

  private static Model model(List<Integer> shape, long seed) {
    return Engine.named(Engine.USUAL)
        .model(new ModelConfig(LeNetFactory.class.getName(), Map.of(), shape, 10, seed, 1));
  }

  private static float[] parameters(Model model) {
    float[] parameters = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    return parameters;
  }
}
