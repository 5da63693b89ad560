package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests copies that a GPU executes while Java goes on; skipped without the profile {@code
 * pytorch-cuda} and a GPU.
 */
class GpuTransfersTest {

  private static final Device GPU = Device.of("cuda").orElseThrow();
  private static final List<Integer> SHAPE = List.of(784);
  private static final int STEPS = 30;
  private static final double ONE_FLIP = 1;

  @BeforeAll
  static void requireGpu() {
    assumeTrue(LibTorch.cuda().present(), "libtorch is for the processor");
    LibTorch.cuda().check(GPU);
  }

  private static Model there(ModelConfig config) {
    return Engine.named("pytorch").model(config.on(GPU));
  }

  /** Uses batches of other samples and sizes, so that a buffer written too early shows. */
  @ParameterizedTest
  @EnumSource(Loss.class)
  void shouldComputeTheLossOfItsOwnBatchInEveryStep(Loss loss) {
    ModelConfig config = new ModelConfig("mlp", Map.of("hidden", 64), SHAPE, 10, 1, 1, loss, 1, 0);
    try (Model here = Engine.named("pytorch").model(config);
        Model there = there(config)) {
      float[] parameters = Samples.parameters(here);
      for (int step = 0; step < STEPS; step++) {
        Batch batch = batch(loss, 200 + step % 3, step);
        parameters[step] += 0.125f;
        here.writeParameters(0, FloatBuffer.wrap(parameters));
        there.writeParameters(0, FloatBuffer.wrap(parameters));

        assertEquals(here.gradient(batch), there.gradient(batch), 1e-4, "step " + step);
        assertEquals(here.correct(), there.correct(), ONE_FLIP, "step " + step);
        there.prepareNext(batch(loss, 200, 1000 + step));
        Score expected = here.score(batch, 3);
        Score found = there.score(batch, 3);
        assertEquals(expected.loss(), found.loss(), 1e-4, "step " + step);
        assertEquals(expected.correctTop(), found.correctTop(), ONE_FLIP, "step " + step);
      }
      assertArrayEquals(parameters, Samples.parameters(there), 0);
    }
  }

  @Test
  void shouldReportFinalPartsWithTheBitsOfTheWholeGradient() {
    ModelConfig config =
        new ModelConfig("mlp", Map.of("hidden", 2000, "layers", 3), SHAPE, 10, 1, 1);
    try (Model model = there(config)) {
      for (int step = 0; step < STEPS; step++) {
        Batch batch = Samples.batch(64, SHAPE, 10, step);
        float[] expected = Samples.gradient(model, batch);
        List<Integer> firsts = new ArrayList<>();

        model.gradient(
            batch,
            first -> {
              firsts.add(first);
              float[] part = new float[expected.length - first];
              model.readGradient(first, FloatBuffer.wrap(part));
              assertArrayEquals(Arrays.copyOfRange(expected, first, expected.length), part, 0);
            });

        assertFalse(firsts.isEmpty());
        float[] whole = new float[expected.length];
        model.readGradient(0, FloatBuffer.wrap(whole));
        assertArrayEquals(expected, whole, 0);
      }
    }
  }

  @Test
  void shouldHavePageLockedMemory() {
    LibTorch.start(1);
    try (Transfers.HostMemory memory =
        Place.gpu(0, () -> {}).transfers().hostMemory(ScalarType.Float, 1000)) {
      assertTrue(memory.tensor().is_pinned());
    }
  }

  private static Batch batch(Loss loss, int count, long seed) {
    Batch classes = Samples.batch(count, SHAPE, 10, seed);
    if (loss == Loss.CROSS_ENTROPY) {
      return classes;
    }
    float[] targets = new float[count * 10];
    for (int i = 0; i < count; i++) {
      targets[i * 10 + classes.labels()[i]] = 1;
    }
    return new Batch(count, classes.features(), new int[0], targets, SHAPE, 0);
  }
}
