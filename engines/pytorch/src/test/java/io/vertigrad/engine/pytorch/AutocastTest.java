package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.StageModel;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares passes in bfloat16, which has 8 bits of a number's fraction, with those in float32. */
class AutocastTest {

  /** No result of a product in float32 is that far from another. */
  private static final double ROUNDED = 1e-4;

  private static final double OUTPUT = 1e-1;
  private static final double GRADIENT = 5e-1;
  private static final int COUNT = 8;

  @TempDir Path folder;

  static Stream<ModelConfig> models() throws Exception {
    return Stream.of(
        config("convnet", List.of(1, 28, 28)),
        config("mlp", List.of(1, 28, 28)),
        config("resnet20", List.of(3, 16, 16)),
        new ModelConfig(
            Path.of(AutocastTest.class.getResource("tokens.pt").toURI()).toString(),
            Map.of(),
            List.of(5),
            11,
            1,
            1,
            Loss.CROSS_ENTROPY,
            5,
            11));
  }

  /** The first pass in bfloat16 may switch oneDNN off, which changes the bits of float32 too. */
  @BeforeAll
  static void passOnce() {
    ModelConfig config = config("mlp", List.of(1, 28, 28));
    try (Model rounded = model(config, Precision.BFLOAT16)) {
      Samples.gradient(rounded, batch(config));
    }
  }

  @ParameterizedTest
  @MethodSource("models")
  void shouldRoundProductsButNotParameters(ModelConfig config) throws Exception {
    Batch batch = batch(config);
    try (Model exact = model(config, Precision.FLOAT32);
        Model rounded = model(config, Precision.BFLOAT16)) {
      float[] gradient = Samples.gradient(exact, batch);
      float[] output = exact.probabilities(batch, config.classes() * config.positions());

      assertArrayEquals(Samples.parameters(exact), Samples.parameters(rounded), 0);
      assertDistance(gradient, Samples.gradient(rounded, batch), GRADIENT);
      assertDistance(output, rounded.probabilities(batch, output.length / COUNT), OUTPUT);
      assertEquals(exact.score(batch).loss(), rounded.score(batch).loss(), OUTPUT);
      assertArrayEquals(gradient, Samples.gradient(exact, batch), 0, "in float32 afterwards");

      // The parameters of a step must not be those of the step before.
      float[] zeros = new float[gradient.length];
      rounded.writeParameters(0, FloatBuffer.wrap(zeros));
      exact.writeParameters(0, FloatBuffer.wrap(zeros));
      assertEquals(exact.score(batch).loss(), rounded.score(batch).loss(), 1e-6);

      Path file = folder.resolve("rounded.pt");
      rounded.save(file);
      ModelConfig saved = config.named(file.toString(), Map.of());
      try (Model again = model(saved, Precision.FLOAT32)) {
        assertArrayEquals(zeros, Samples.parameters(again), 0);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"pytorch", CopiesEngine.NAME})
  void shouldExchangeFloat32BetweenStages(String engine) {
    ModelConfig config = config("convnet", List.of(1, 28, 28));
    Batch batch = batch(config);
    float[] exact = between("pytorch", config, batch);
    float[] rounded = between(engine, config.in(Precision.BFLOAT16), batch);

    assertEquals(exact.length, rounded.length);
    assertDistance(exact, rounded, OUTPUT);
  }

  private static float[] between(String engine, ModelConfig config, Batch batch) {
    SplitConfig cut = SplitConfig.into(2);
    try (StageModel first = Engine.named(engine).split(config, cut).stage(0);
        StageModel last = Engine.named(engine).split(config, cut).stage(1)) {
      FloatBuffer output = first.forward(batch.features(), COUNT);
      float[] values = new float[output.remaining()];
      output.get(values);
      double loss = last.loss(batch.with(values, last.spec().input())).sum();
      assertTrue(loss > 0, "loss " + loss);
      return values;
    }
  }

  @Test
  void shouldComputeInFloat32AfterAPassThatFailed() throws Exception {
    ModelConfig config = config("convnet", List.of(1, 28, 28));
    Batch batch = batch(config);
    Path raising = Path.of(AutocastTest.class.getResource("raising.pt").toURI());
    try (Model exact = model(config, Precision.FLOAT32)) {
      float[] gradient = Samples.gradient(exact, batch);

      assertThrows(
          IllegalArgumentException.class,
          () -> model(config.named(raising.toString(), Map.of()), Precision.BFLOAT16));

      assertArrayEquals(gradient, Samples.gradient(exact, batch), 0);
    }
  }

  private static Model model(ModelConfig config, Precision precision) {
    return Engine.named("pytorch").model(config.in(precision));
  }

  private static ModelConfig config(String name, List<Integer> shape) {
    return new ModelConfig(name, Map.of(), shape, 10, 1, 1);
  }

  private static Batch batch(ModelConfig config) {
    Batch random = Samples.batch(COUNT, config.inputShape(), config.classes(), 5);
    if (config.tokens() == 0) {
      return random;
    }
    float[] ids = random.features();
    int[] labels = new int[COUNT * config.positions()];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = i % config.tokens();
      labels[i] = (i + 1) % config.tokens();
    }
    return new Batch(COUNT, ids, labels, new float[0], config.inputShape(), 0);
  }

  private static void assertDistance(float[] exact, float[] rounded, double limit) {
    double distance = Samples.distance(exact, rounded);
    assertTrue(distance > ROUNDED && distance < limit, () -> "distance " + distance);
  }
}
