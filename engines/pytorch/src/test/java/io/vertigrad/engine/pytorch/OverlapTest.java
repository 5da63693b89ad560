package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import java.net.URISyntaxException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the parts of a gradient that are reported while the rest is being computed. */
class OverlapTest {

  private static final int SAMPLES = 4;

  /** A part, with its elements when it was reported. */
  private record Part(int first, float[] gradient) {}

  static Stream<Arguments> models() {
    List<ModelConfig> configs =
        List.of(
            new ModelConfig("convnet", Map.of(), List.of(1, 28, 28), 10, 1, 1),
            new ModelConfig(
                "mlp", Map.of("hidden", 600, "layers", 3), List.of(1, 28, 28), 10, 1, 1),
            new ModelConfig("resnet20", Map.of(), List.of(3, 8, 8), 10, 1, 1),
            new ModelConfig(file("tied.pt"), Map.of(), List.of(16), 3, 1, 1),
            new ModelConfig(file("normed.pt"), Map.of(), List.of(1, 4, 4), 3, 1, 1));
    return Stream.of("pytorch", CopiesEngine.NAME)
        .flatMap(engine -> configs.stream().map(config -> Arguments.of(engine, config)));
  }

  @ParameterizedTest
  @MethodSource("models")
  void shouldReportPartsWithTheBitsOfTheWholeGradient(String engine, ModelConfig config) {
    try (Model plain = Engine.named(engine).model(config);
        Model model = Engine.named(engine).model(config)) {
      for (int step = 0; step < 4; step++) {
        Batch batch = Samples.batch(SAMPLES, config.inputShape(), config.classes(), step);
        List<Part> parts = new ArrayList<>();

        double loss = model.gradient(batch, first -> parts.add(part(model, first)));

        assertEquals(plain.gradient(batch), loss, 0);
        assertEquals(plain.correct(), model.correct());
        float[] expected = gradient(plain);
        assertArrayEquals(expected, gradient(model), 0);
        int last = model.layout().trainable();
        for (Part part : parts) {
          assertTrue(part.first() < last, "first elements decrease");
          last = part.first();
          float[] there = Arrays.copyOfRange(expected, last, last + part.gradient().length);
          assertArrayEquals(there, part.gradient(), 0);
        }
        assertTrue(last >= 0);
      }
    }
  }

  private static Part part(Model model, int first) {
    float[] gradient = new float[model.layout().trainable() - first];
    model.readGradient(first, FloatBuffer.wrap(gradient));
    return new Part(first, gradient);
  }

  @ParameterizedTest
  @ValueSource(strings = {"pytorch", CopiesEngine.NAME})
  void shouldReportTheLastLayerFirstOnTheCallersThread(String engine) {
    ModelConfig config =
        new ModelConfig("mlp", Map.of("hidden", 600, "layers", 3), List.of(1, 28, 28), 10, 1, 1);
    Batch batch = Samples.batch(SAMPLES, config.inputShape(), 10, 1);
    List<Integer> firsts = new ArrayList<>();
    Thread caller = Thread.currentThread();
    try (Model model = Engine.named(engine).model(config)) {
      for (int step = 0; step < 5; step++) {
        firsts.clear();
        model.gradient(
            batch,
            first -> {
              assertSame(caller, Thread.currentThread());
              firsts.add(first);
            });
      }
    }

    assertFalse(firsts.isEmpty());
    assertTrue(firsts.get(0) > 0, firsts.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"pytorch", CopiesEngine.NAME})
  void shouldRethrowTheListenersExceptionWhenThePassHasEnded(String engine) {
    ModelConfig config =
        new ModelConfig("mlp", Map.of("hidden", 600, "layers", 3), List.of(1, 28, 28), 10, 1, 1);
    Batch batch = Samples.batch(SAMPLES, config.inputShape(), 10, 1);
    try (Model model = Engine.named(engine).model(config)) {
      model.gradient(batch);
      float[] expected = gradient(model);

      IllegalStateException thrown =
          assertThrows(
              IllegalStateException.class,
              () ->
                  model.gradient(
                      batch,
                      first -> {
                        throw new IllegalStateException("refused at " + first);
                      }));

      assertTrue(thrown.getMessage().startsWith("refused at"), thrown.getMessage());
      model.gradient(batch);
      assertArrayEquals(expected, gradient(model), 0);
    }
  }

  @Test
  void shouldNotMixTheGradientsOfTwoThreads() throws Exception {
    ModelConfig config = new ModelConfig("convnet", Map.of(), List.of(1, 28, 28), 10, 1, 1);
    List<CompletableFuture<List<Integer>>> found = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      int seed = i;
      found.add(CompletableFuture.supplyAsync(() -> firsts(config, seed)));
    }

    List<Integer> first = found.get(0).get(60, TimeUnit.SECONDS);
    assertEquals(first, found.get(1).get(60, TimeUnit.SECONDS));
  }

  /** Computes {@code b + relu(a)}, whose gradient of b is final before that of a is computed. */
  @Test
  @SuppressWarnings("try")
  void shouldRefuseAGradientThatChangesAfterItWasReported() {
    LibTorch.start(1);
    try (PointerScope temporary = new PointerScope()) {
      Tensor a = leaf();
      Tensor b = leaf();
      FinalGradients gradients = new FinalGradients(List.of(a, b), new int[] {0, 2}, false);
      List<Integer> firsts = new ArrayList<>();

      gradients.during(() -> backward(a, b), firsts::add);
      assertEquals(List.of(2), firsts);

      IllegalStateException refused =
          assertThrows(
              IllegalStateException.class,
              () ->
                  gradients.during(
                      () -> {
                        backward(a, b);
                        b.grad().zero_();
                      },
                      firsts::add));
      assertTrue(refused.getMessage().contains("element 2 changed 2 times"), refused.getMessage());
      gradients.close();
    }
  }

  /** The hook of another pass may have found a pass before it ended. */
  @Test
  @SuppressWarnings("try")
  void shouldReportNothingAfterAPassHasEnded() {
    LibTorch.start(1);
    try (PointerScope temporary = new PointerScope()) {
      Tensor a = leaf();
      Tensor b = leaf();
      FinalGradients gradients = new FinalGradients(List.of(a, b), new int[] {0, 2}, false);
      List<Integer> firsts = new ArrayList<>();

      gradients.during(() -> backward(a, b), firsts::add);
      gradients.look();
      assertEquals(List.of(2), firsts);

      assertThrows(
          IllegalStateException.class,
          () ->
              gradients.during(
                  () -> {
                    backward(a, b);
                    throw new IllegalStateException("failed");
                  },
                  firsts::add));
      gradients.look();
      assertEquals(List.of(2, 2), firsts);
      gradients.close();
    }
  }

  /** A part that is still copied would overwrite a gradient that Java writes. */
  @Test
  void shouldWaitForAllStartedPartsWhenAPassFails() {
    Place place = Place.copied();
    ModelConfig config =
        new ModelConfig("mlp", Map.of("hidden", 600, "layers", 3), List.of(1, 28, 28), 10, 1, 1);
    Batch batch = Samples.batch(SAMPLES, config.inputShape(), 10, 1);
    List<Integer> firsts = new ArrayList<>();
    try (Model model = new PyTorchEngine(() -> place).model(config)) {
      model.gradient(batch, firsts::add);
      assertTrue(firsts.size() > 1, firsts.toString());
      long before = place.transfers().counts().waits();

      assertThrows(
          IllegalStateException.class,
          () ->
              model.gradient(
                  batch,
                  first -> {
                    throw new IllegalStateException("refused at " + first);
                  }));

      assertEquals(firsts.size(), place.transfers().counts().waits() - before);
    }
  }

  private static Tensor leaf() {
    Tensor leaf = torch.ones(2);
    leaf.set_requires_grad(true);
    leaf.mutable_grad().put(torch.zeros(2));
    return leaf;
  }

  private static void backward(Tensor a, Tensor b) {
    GradMode.set_enabled(true);
    try {
      b.add(a.relu()).sum().backward();
    } finally {
      GradMode.set_enabled(false);
    }
  }

  private static List<Integer> firsts(ModelConfig config, int seed) {
    Thread caller = Thread.currentThread();
    List<Integer> firsts = new ArrayList<>();
    try (Model model = Engine.named("pytorch").model(config)) {
      for (int step = 0; step < 20; step++) {
        Batch batch = Samples.batch(SAMPLES, config.inputShape(), 10, 100 * seed + step);
        model.gradient(
            batch,
            first -> {
              assertSame(caller, Thread.currentThread());
              firsts.add(first);
            });
      }
    }
    return firsts;
  }

  private static float[] gradient(Model model) {
    float[] gradient = new float[model.layout().length()];
    model.readGradient(0, FloatBuffer.wrap(gradient));
    return gradient;
  }

  private static String file(String name) {
    try {
      return Path.of(OverlapTest.class.getResource(name).toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
