package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares every optimizer with PyTorch's over 20 updates.
 *
 * <p>The numbers are from {@code pytorch_trajectories.py} in the same folder: float64, gradients
 * from 1e-6 to 10. Vertigrad computes in float32.
 */
class PyTorchTrajectoriesTest {

  private static final double MOST_RELATIVE_ERROR = 1e-5;
  private static final JsonObject GOLDEN = golden();

  @ParameterizedTest
  @MethodSource("cases")
  void shouldFollowPyTorch(JsonObject settings, JsonArray expected) {
    OptimizerConfig config = OptimizerConfig.read(Settings.of("golden", settings));
    float[] parameters = floats(GOLDEN.getJsonArray("start"));
    assertFollows(expected, Optimizer.of(new Dl4jEngine(), config, parameters.length), parameters);
  }

  /** Returns the rules that need no engine. */
  @ParameterizedTest
  @MethodSource("cases")
  void shouldFollowPyTorchWhenComputedInJava(JsonObject settings, JsonArray expected) {
    OptimizerConfig config = OptimizerConfig.read(Settings.of("golden", settings));
    float[] parameters = floats(GOLDEN.getJsonArray("start"));
    UpdateRule rule = PlainRules.create(config, parameters.length);
    assertFollows(expected, new Optimizer(config, rule, parameters.length), parameters);
  }

  private static void assertFollows(JsonArray expected, Optimizer optimizer, float[] parameters) {
    JsonArray gradients = GOLDEN.getJsonArray("gradients");
    for (int step = 0; step < gradients.size(); step++) {
      optimizer.step(parameters, floats(gradients.getJsonArray(step)), step, step);
      assertClose(expected.getJsonArray(step), parameters, step);
    }
  }

  @Test
  void shouldMatchTwentyUpdatesOfEveryOptimizer() {
    assertEquals(20, GOLDEN.getJsonArray("gradients").size());
    for (String name : OptimizerConfig.NAMES) {
      assertTrue(cases().anyMatch(c -> ((JsonObject) c[0]).getString("name").equals(name)), name);
    }
  }

  static Stream<Object[]> cases() {
    return GOLDEN.getJsonArray("cases").stream()
        .map(JsonObject.class::cast)
        .map(c -> new Object[] {c.getJsonObject("optimizer"), c.getJsonArray("parameters")});
  }

  private static void assertClose(JsonArray expected, float[] found, int step) {
    for (int i = 0; i < found.length; i++) {
      double there = expected.getDouble(i);
      double error = Math.abs(found[i] - there) / Math.abs(there);
      assertTrue(
          error < MOST_RELATIVE_ERROR,
          "update %d, parameter %d: %s, expected %s (error %.1e)"
              .formatted(step, i, found[i], there, error));
    }
  }

  private static float[] floats(JsonArray numbers) {
    float[] values = new float[numbers.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = numbers.getFloat(i);
    }
    return values;
  }

  private static JsonObject golden() {
    try (InputStream in =
        PyTorchTrajectoriesTest.class.getResourceAsStream("pytorch-trajectories.json")) {
      return new JsonObject(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
