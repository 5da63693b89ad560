package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.engine.pytorch.Transfers.Counts;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests replicas that stay on a device, here the processor where parameters are copied as on a GPU,
 * beside replicas that step in Java.
 */
class DeviceStepsTest {

  private static final OptimizerConfig MOMENTUM = OptimizerConfig.sgd(0.05).withMomentum(0.9);

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"mlp", "resnet20"})
  void shouldCopyNothingButBatchesLossesAndTheLargestElement(String name) {
    Place place = Place.copied();
    try (Model model = new PyTorchEngine(() -> place).model(config(name))) {
      DeviceReplica replica = new DeviceReplica(model, 64, Float.MAX_VALUE);
      Optimizer optimizer = replica.optimizer(new PyTorchEngine(), MOMENTUM);
      step(model, replica, optimizer, 0);
      Counts before = place.transfers().counts();

      for (int step = 1; step <= 5; step++) {
        step(model, replica, optimizer, step);
      }

      assertEquals(before.plus(5, 2 * 5, 2 * 5), place.transfers().counts());
      replica.parameters();
      assertEquals(before.plus(5, 11, 11), place.transfers().counts());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mlp", "convnet"})
  void shouldStayCloseToAReplicaThatStepsInJava(String name) {
    Engine inJava = new TensorLossesEngine();
    try (Model device = new CopiesEngine().model(config(name));
        Model shared = inJava.model(config(name))) {
      DeviceReplica there = new DeviceReplica(device, 64, Float.MAX_VALUE);
      DeviceReplica here = new DeviceReplica(shared, 64, Float.MAX_VALUE);
      Optimizer onDevice = there.optimizer(inJava, MOMENTUM);
      Optimizer own = here.optimizer(inJava, MOMENTUM);
      assertTrue(there.isOnDevice() && !here.isOnDevice());
      for (int step = 0; step < 20; step++) {
        step(device, there, onDevice, step);
        step(shared, here, own, step);
      }
      assertClose(here.parameters(), there.parameters());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "local, 0",
    "diloco, 0",
    "diloco servers, 0.5",
    "dpsgd, 0.5",
    "allreduce, 0",
    "allreduce overlap, 0"
  })
  @Tag("slow")
  void shouldEndAsAJobThatStepsInJava(String strategy, double clipNorm) throws Exception {
    float[] java = trained(TensorLossesEngine.NAME, strategy, clipNorm);
    float[] device = trained(CopiesEngine.NAME, strategy, clipNorm);

    if (strategy.startsWith("allreduce")) {
      assertArrayEquals(java, device, 0);
    } else {
      assertClose(java, device);
    }
  }

  private static void step(Model model, DeviceReplica replica, Optimizer optimizer, int number) {
    replica
        .beginGradient(false)
        .ifPresent(parameters -> model.writeParameters(0, FloatBuffer.wrap(parameters)));
    ModelConfig config = config(model.layout().statistics() > 0 ? "resnet20" : "mlp");
    Batch batch = Samples.batch(4, config.inputShape(), 10, number);
    model.gradient(batch);
    LocalGradient gradient =
        new LocalGradient(
            () -> {
              float[] values = new float[model.layout().length()];
              model.readGradient(0, FloatBuffer.wrap(values));
              return values;
            },
            4);
    assertTrue(replica.step(optimizer, gradient, 4));
  }

  private float[] trained(String engine, String strategy, double clipNorm) throws Exception {
    JsonObject rule = new JsonObject().put("name", strategy.split(" ")[0]);
    if (rule.getString("name").equals("diloco")) {
      rule.put("syncEvery", 10).put("servers", strategy.endsWith("servers"));
    }
    JsonObject job =
        new JsonObject()
            .put("job", "device")
            .put("engine", engine)
            .put("steps", 40)
            .put("data", new JsonObject().put("name", "digits").put("train", 320).put("test", 40))
            .put("model", new JsonObject().put("name", "convnet"))
            .put(
                "optimizer",
                new JsonObject()
                    .put("learningRate", 0.05)
                    .put("momentum", 0.9)
                    .put("l2", 1e-4)
                    .put("clipNorm", clipNorm))
            .put("strategy", rule)
            .put("exchange", new JsonObject().put("overlap", strategy.endsWith("overlap")))
            .put("workers", new JsonObject().put("count", 2).put("batch", 8))
            .put("evaluator", new JsonObject().put("every", 20).put("samples", 20))
            .put(
                "checkpoint",
                new JsonObject()
                    .put("every", 20)
                    .put("directory", folder.resolve(engine).toString()));
    Path file = folder.resolve(engine + ".pt");
    Vertx vertx = Vertx.vertx();
    try {
      RunningJob running = get(TrainingJob.of(job).deploy(vertx));
      assertEquals(TrainingResult.State.FINISHED, get(running.result()).state());
      get(running.saveModel(file));
    } finally {
      get(vertx.close());
    }
    ModelConfig saved = new ModelConfig(file.toString(), Map.of(), List.of(1, 28, 28), 10, 1, 1);
    try (Model model = new PyTorchEngine().model(saved)) {
      return Samples.parameters(model);
    }
  }

  private static ModelConfig config(String name) {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
    return new ModelConfig(name, Map.of(), shape, 10, 1, 1);
  }

  private static void assertClose(float[] expected, float[] found) {
    float scale = Magnitudes.largest(expected, 0, expected.length);
    assertArrayEquals(expected, found, 1e-5f * scale);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
