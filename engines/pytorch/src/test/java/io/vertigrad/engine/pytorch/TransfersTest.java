package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.engine.pytorch.Transfers.Counts;
import io.vertigrad.engine.pytorch.Transfers.HostMemory;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Counts copies and waits, on the processor where a model computes as on a GPU. */
class TransfersTest {

  private final Place place = Place.copied();

  /** A step of a worker with a server: parameters in, gradient out. */
  @ParameterizedTest
  @ValueSource(strings = {"mlp", "resnet20"})
  void shouldCopyEachVectorOnceInAStepWithAServer(String name) {
    ModelConfig config = config(name);
    try (Model model = new PyTorchEngine(() -> place).model(config)) {
      float[] parameters = Samples.parameters(model);
      for (int step = 0; step < 3; step++) {
        Counts before = place.transfers().counts();

        model.writeParameters(0, FloatBuffer.wrap(parameters));
        model.gradient(batch(config, step));
        model.correct();
        float[] gradient = new float[parameters.length];
        model.readGradient(3, FloatBuffer.wrap(gradient, 0, 5));
        model.readGradient(0, FloatBuffer.wrap(gradient));
        model.readParameters(0, FloatBuffer.wrap(parameters));

        assertEquals(new Counts(2, 2, 2), since(before), "parameters and batch, loss and gradient");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mlp", "resnet20"})
  void shouldLeaveTheGradientOnTheDeviceUntilItIsRead(String name) {
    ModelConfig config = config(name);
    try (Model model = new PyTorchEngine(() -> place).model(config)) {
      model.gradient(batch(config, 1));
      Counts before = place.transfers().counts();

      model.gradient(batch(config, 2));

      assertEquals(new Counts(1, 1, 1), since(before), "the batch and the loss");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mlp", "resnet20"})
  void shouldCopyOnlyTheScoreOfATest(String name) {
    ModelConfig config = config(name);
    try (Model model = new PyTorchEngine(() -> place).model(config)) {
      model.score(batch(config, 1));
      Counts before = place.transfers().counts();

      model.score(batch(config, 2), 2);

      assertEquals(new Counts(1, 1, 1), since(before));
      model.probabilities(batch(config, 2), 10);
      assertEquals(new Counts(2, 2, 2), since(before));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mlp", "resnet20"})
  void shouldKeepTheOtherParametersWhenAFewAreWritten(String name) {
    ModelConfig config = config(name);
    try (Model model = new PyTorchEngine(() -> place).model(config)) {
      model.writeParameters(2, FloatBuffer.wrap(new float[] {0.5f, 0.25f}));
      float[] parameters = Samples.parameters(model);
      try (Model shared = new PyTorchEngine().model(config)) {
        float[] expected = Samples.parameters(shared);
        expected[2] = 0.5f;
        expected[3] = 0.25f;
        assertArrayEquals(expected, parameters, 0);
      }
    }
  }

  /** Asks for the memory of a GPU from a libtorch for the processor, which has none. */
  @Test
  void shouldTakeOrdinaryMemoryAndWarnOnceWhenNoneCanBePageLocked() {
    assumeFalse(LibTorch.cuda().present(), "libtorch is for a GPU");
    LibTorch.start(1);
    Logger log = (Logger) LoggerFactory.getLogger(Transfers.class);
    ListAppender<ILoggingEvent> warnings = new ListAppender<>();
    warnings.start();
    log.addAppender(warnings);
    Transfers transfers = Place.gpu(0, () -> {}).transfers();
    try (HostMemory one = transfers.hostMemory(ScalarType.Float, 5);
        HostMemory other = transfers.hostMemory(ScalarType.Double, 3)) {
      one.bytes().asFloatBuffer().put(4, 0.5f);

      assertEquals(0.5f, TensorBuffers.values(one.tensor()).get(4), 0);
      assertEquals(24, other.bytes().capacity());
      assertEquals(1, warnings.list.size());
      String text = warnings.list.get(0).getFormattedMessage();
      assertTrue(text.startsWith("20 bytes of page-locked memory are not available"), text);
    } finally {
      log.detachAppender(warnings);
    }
  }

  private Counts since(Counts before) {
    Counts now = place.transfers().counts();
    return new Counts(
        now.up() - before.up(), now.down() - before.down(), now.waits() - before.waits());
  }

  private static ModelConfig config(String name) {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
    return new ModelConfig(name, Map.of(), shape, 10, 1, 1);
  }

  private static Batch batch(ModelConfig config, long seed) {
    return Samples.batch(4, config.inputShape(), 10, seed);
  }
}
