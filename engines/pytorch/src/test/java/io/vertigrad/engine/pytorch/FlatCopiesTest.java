package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares parameters and gradients that are copied, as on a GPU, with those that Java shares with
 * libtorch, both with the losses of a GPU: all bits are equal.
 */
class FlatCopiesTest {

  private static final float RATE = 0.05f;

  @TempDir Path folder;

  static Stream<ModelConfig> models() {
    return Stream.of(
        config("convnet", List.of(1, 28, 28), 10, Loss.CROSS_ENTROPY),
        config("mlp", List.of(1, 28, 28), 10, Loss.CROSS_ENTROPY),
        config("mlp", List.of(6), 4, Loss.BINARY_CROSS_ENTROPY),
        config("convnet", List.of(1, 12, 12), 3, Loss.MEAN_SQUARED_ERROR),
        config("resnet20", List.of(3, 8, 8), 10, Loss.CROSS_ENTROPY),
        config("resnet20", List.of(3, 32, 32), 10, Loss.CROSS_ENTROPY),
        config(file("normed.pt"), List.of(1, 4, 4), 3, Loss.CROSS_ENTROPY),
        config(file("normed.pt"), List.of(1, 4, 4), 3, Loss.MEAN_SQUARED_ERROR),
        config(file("tied.pt"), List.of(16), 3, Loss.CROSS_ENTROPY),
        new ModelConfig(
            file("tokens.pt"), Map.of(), List.of(5), 11, 1, 1, Loss.CROSS_ENTROPY, 5, 11));
  }

  @ParameterizedTest
  @MethodSource("models")
  @Tag("slow")
  void shouldHaveTheSameBitsStepAfterStep(ModelConfig config) throws IOException {
    try (Model shared = Engine.named(TensorLossesEngine.NAME).model(config);
        Model copied = Engine.named(CopiesEngine.NAME).model(config)) {
      assertEquals(shared.layout(), copied.layout());
      assertSameBits(Samples.parameters(shared), Samples.parameters(copied));
      for (int step = 0; step < 4; step++) {
        Batch batch = batch(config, 6 + step, step);

        copied.prepareNext(batch);
        assertEquals(shared.gradient(batch), copied.gradient(batch), 0);
        assertEquals(shared.correct(), copied.correct());
        // Another batch comes than the one that was expected.
        copied.prepareNext(batch(config, 3, 100));
        // Run twice, so that a value left over from the first pass would show in the second.
        assertSameBits(Samples.gradient(shared, batch), Samples.gradient(copied, batch));
        assertEquals(shared.score(batch, 2), copied.score(batch, 2));
        step(shared);
        step(copied);
        assertEquals(shared.score(batch, 2), copied.score(batch, 2));
        assertSameBits(
            shared.probabilities(batch, config.classes()),
            copied.probabilities(batch, config.classes()));
      }
      assertSameBits(Samples.parameters(shared), Samples.parameters(copied));
      assertEquals(-1, Files.mismatch(saved(shared, "shared.pt"), saved(copied, "copied.pt")));
    }
  }

  /** Writes parameters as servers answer: partition by partition, some of them not at all. */
  @Test
  void shouldComputeWithTheLastWrittenPartsOfTheParameters() {
    ModelConfig config = config("resnet20", List.of(3, 8, 8), 10, Loss.CROSS_ENTROPY);
    Batch batch = batch(config, 8, 1);
    try (Model shared = Engine.named(TensorLossesEngine.NAME).model(config);
        Model copied = Engine.named(CopiesEngine.NAME).model(config)) {
      int statistics = shared.layout().trainable();
      for (int first : List.of(0, 1000, statistics - 1, statistics + 3)) {
        for (Model model : List.of(shared, copied)) {
          model.writeParameters(first, FloatBuffer.wrap(new float[] {0.5f, 0.25f}));
        }

        assertEquals(shared.score(batch), copied.score(batch), "written at " + first);
        assertSameBits(Samples.gradient(shared, batch), Samples.gradient(copied, batch));
      }
    }
  }

  /** Uses a trace whose statistics change in every pass; only the exchange may change them. */
  @Test
  void shouldKeepTheStatisticsOfATraceWhenItIsTested() {
    ModelConfig config = config(file("traced.pt"), List.of(1, 4, 4), 3, Loss.CROSS_ENTROPY);
    Batch batch = batch(config, 6, 3);
    try (Model shared = Engine.named(TensorLossesEngine.NAME).model(config);
        Model copied = Engine.named(CopiesEngine.NAME).model(config)) {
      copied.writeParameters(0, FloatBuffer.wrap(Samples.parameters(shared)));
      float[] before = Samples.parameters(copied);
      float[] gradient = Samples.gradient(copied, batch);

      copied.score(batch);

      assertSameBits(before, Samples.parameters(copied));
      assertSameBits(gradient, Samples.gradient(copied, batch));
      assertSameBits(Samples.gradient(shared, batch), gradient);
    }
  }

  /** The form of its samples is found by a pass, which changes the statistics of a trace. */
  @Test
  void shouldLoadATraceWithTheStatisticsOfItsFile() {
    ModelConfig config = config(file("traced.pt"), List.of(1, 4, 4), 3, Loss.CROSS_ENTROPY);
    Batch batch = batch(config, 6, 3);
    for (String engine : List.of(TensorLossesEngine.NAME, CopiesEngine.NAME)) {
      try (Model model = Engine.named(engine).model(config);
          ScriptModule module =
              ScriptModule.load(Path.of(config.name()), Place.shared(), Precision.FLOAT32)) {
        float[] first = Samples.gradient(model, batch);
        float[] parameters = Samples.parameters(model);
        model.writeParameters(0, FloatBuffer.wrap(parameters));

        assertSameBits(Samples.gradient(model, batch), first);
        int at = 0;
        for (Block block : model.layout().blocks()) {
          float[] expected = new float[block.length()];
          TensorBuffers.values(module.tensors().get(block.name())).get(expected);
          assertSameBits(expected, Arrays.copyOfRange(parameters, at, at + block.length()));
          at += block.length();
        }
      }
    }
  }

  /** Makes a forward pass fail after it changed the statistics: three samples are not one row. */
  @ParameterizedTest
  @ValueSource(strings = {TensorLossesEngine.NAME, CopiesEngine.NAME})
  void shouldKeepItsStateWhenAPassFails(String engine) throws IOException {
    ModelConfig named = config("net", List.of(2, 2, 2), 3, Loss.CROSS_ENTROPY);
    NetworkBuilder builder = new NetworkBuilder(named, false);
    builder.batchNorm("bn", Network.INPUT);
    builder.dense("fc", "bn", 3, false);
    List<Network.Layer> layers = new ArrayList<>(builder.build().layers());
    layers.add(
        new Network.Layer("row", List.of("fc"), "torch.view(%s, [1, 3])", List.of(), List.of(3)));
    Path file = folder.resolve("one-row.pt");
    ScriptWriter.write(new Network("net", named.inputShape(), layers), file);
    ModelConfig config = config(file.toString(), named.inputShape(), 3, Loss.CROSS_ENTROPY);
    Batch one = batch(config, 1, 2);
    try (Model model = Engine.named(engine).model(config);
        Model fresh = Engine.named(TensorLossesEngine.NAME).model(config)) {
      float[] before = Samples.parameters(model);

      assertThrows(TorchException.class, () -> model.gradient(batch(config, 3, 2)));

      assertSameBits(before, Samples.parameters(model));
      assertSameBits(Samples.gradient(fresh, one), Samples.gradient(model, one));
      assertEquals(fresh.score(one), model.score(one));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldHaveTheSameBitsInStages(String name) {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
    ModelConfig config = config(name, shape, 10, Loss.CROSS_ENTROPY);
    List<float[]> shared = inStages(TensorLossesEngine.NAME, config);
    List<float[]> copied = inStages(CopiesEngine.NAME, config);

    assertEquals(shared.size(), copied.size());
    for (int i = 0; i < shared.size(); i++) {
      assertSameBits(shared.get(i), copied.get(i));
    }
  }

  /** Returns all results of two stages in three rounds of two micro-batches and a test. */
  private static List<float[]> inStages(String engine, ModelConfig config) {
    List<float[]> results = new ArrayList<>();
    SplitConfig cut = SplitConfig.into(2);
    try (StageModel first = Engine.named(engine).split(config, cut).stage(0);
        StageModel last = Engine.named(engine).split(config, cut).stage(1)) {
      for (int round = 0; round < 3; round++) {
        float[] front = new float[first.layout().length()];
        float[] back = new float[last.layout().length()];
        for (int part = 0; part < 2; part++) {
          Batch batch = batch(config, 4, 2 * round + part);
          float[] between = values(first.forward(batch.features(), 4));
          StageLoss loss = last.loss(batch.with(between, last.spec().input()));
          last.addGradient(back, 8);
          float[] returned = values(loss.inputGradient());
          first.backward(batch.features(), returned, 4);
          first.addGradient(front, 8);
          results.addAll(List.of(between, returned, new float[] {(float) loss.sum()}));
        }
        results.addAll(List.of(front, back, step(first, front), step(last, back)));
        Batch test = batch(config, 5, 100 + round);
        float[] between = values(first.infer(test.features(), 5));
        double lossSum = last.score(between, test.labels(), 0).lossSum();
        results.addAll(List.of(between, new float[] {(float) lossSum}));
      }
    }
    return results;
  }

  /** Overlap sends the same gradients in parts, and nothing else may differ. */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    TensorLossesEngine.NAME + "," + CopiesEngine.NAME + ", sync, true",
    TensorLossesEngine.NAME + "," + CopiesEngine.NAME + ", allreduce, false",
    "pytorch, pytorch, allreduce, true"
  })
  void shouldEndWithTheSameModelWhenAJobIsTrained(
      String engine, String other, String strategy, boolean overlap) throws Exception {
    Map<String, ByteBuffer> expected = contents(trained(engine, strategy, false));

    assertEquals(expected, contents(trained(other, strategy, overlap)));
  }

  /** Returns the bytes of all entries but the description, which names the engine. */
  private static Map<String, ByteBuffer> contents(Path file) throws IOException {
    Map<String, ByteBuffer> contents = new TreeMap<>();
    try (ZipFile zip = new ZipFile(file.toFile())) {
      for (ZipEntry entry : Collections.list(zip.entries())) {
        if (!entry.getName().contains("/extra/")) {
          contents.put(entry.getName(), ByteBuffer.wrap(zip.getInputStream(entry).readAllBytes()));
        }
      }
    }
    assertTrue(contents.size() > 1, contents.keySet().toString());
    return contents;
  }

  private Path trained(String engine, String strategy, boolean overlap) throws Exception {
    JsonObject job =
        new JsonObject()
            .put("job", "copies")
            .put("engine", engine)
            .put("steps", 12)
            .put("data", new JsonObject().put("name", "shapes").put("train", 320).put("test", 50))
            .put("model", new JsonObject().put("name", "resnet20"))
            .put("optimizer", new JsonObject().put("learningRate", 0.1))
            .put("strategy", new JsonObject().put("name", strategy))
            .put("exchange", new JsonObject().put("overlap", overlap))
            .put("workers", new JsonObject().put("count", 2).put("batch", 4))
            .put("evaluator", new JsonObject().put("every", 6).put("samples", 20));
    Path file = folder.resolve(engine + ".pt");
    Vertx vertx = Vertx.vertx();
    try {
      RunningJob running = get(TrainingJob.of(job).deploy(vertx));
      assertEquals(TrainingResult.State.FINISHED, get(running.result()).state());
      get(running.saveModel(file));
      return file;
    } finally {
      get(vertx.close());
    }
  }

  private static void assertSameBits(float[] expected, float[] found) {
    assertEquals(expected.length, found.length);
    assertEquals(-1, Arrays.mismatch(expected, found), "the first element that differs");
  }

  private static void step(Model model) {
    float[] parameters = Samples.parameters(model);
    float[] gradient = new float[parameters.length];
    model.readGradient(0, FloatBuffer.wrap(gradient));
    move(parameters, gradient, model.layout().trainable());
    // Write in two parts, as partitions arrive.
    int half = parameters.length / 2;
    model.writeParameters(half, FloatBuffer.wrap(parameters, half, parameters.length - half));
    model.writeParameters(0, FloatBuffer.wrap(parameters, 0, half));
  }

  private static void move(float[] parameters, float[] gradient, int trainable) {
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] -= (i < trainable ? RATE : 1) * gradient[i];
    }
  }

  private static float[] step(StageModel stage, float[] gradient) {
    float[] parameters = new float[gradient.length];
    stage.readParameters(0, FloatBuffer.wrap(parameters));
    move(parameters, gradient, stage.layout().trainable());
    stage.writeParameters(0, FloatBuffer.wrap(parameters));
    return parameters;
  }

  private Path saved(Model model, String name) throws IOException {
    Path file = folder.resolve(name);
    model.save(file);
    return file;
  }

  private static Batch batch(ModelConfig config, int count, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Batch classes = Samples.batch(count, config.inputShape(), config.classes(), seed);
    float[] features = classes.features();
    for (int i = 0; config.tokens() > 0 && i < features.length; i++) {
      features[i] = random.nextInt(config.tokens());
    }
    Targets targets = config.targets();
    int[] labels = new int[config.loss() == Loss.CROSS_ENTROPY ? count * config.positions() : 0];
    Arrays.setAll(labels, i -> random.nextInt(config.classes()));
    float[] values = new float[labels.length == 0 ? count * targets.outputs() : 0];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextInt(2);
    }
    return new Batch(count, features, labels, values, config.inputShape(), 0);
  }

  private static ModelConfig config(String name, List<Integer> shape, int outputs, Loss loss) {
    return new ModelConfig(name, Map.of(), shape, outputs, 7, 1, loss, 1, 0);
  }

  private static String file(String name) {
    try {
      return Path.of(FlatCopiesTest.class.getResource(name).toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static float[] values(FloatBuffer buffer) {
    float[] values = new float[buffer.remaining()];
    buffer.get(values);
    return values;
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
