package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the losses that are operations on tensors with those in Java. */
class TensorLossesTest {

  private static final float NAN = Float.NaN;
  private static final float INFINITE = Float.POSITIVE_INFINITY;
  private static final double ROUNDING = 1e-6;

  @BeforeAll
  static void start() {
    LibTorch.start(1);
  }

  @ParameterizedTest
  @EnumSource(Loss.class)
  void shouldComputeWhatJavaDoes(Loss loss) {
    SplittableRandom random = new SplittableRandom(3);
    for (int samples : new int[] {1, 7, 64}) {
      for (int outputs : new int[] {1, 2, 10, 300}) {
        for (float size : new float[] {0.01f, 1, 30}) {
          float[] output = new float[samples * outputs];
          for (int i = 0; i < output.length; i++) {
            output[i] = (float) (2 * random.nextDouble() - 1) * size;
          }
          assertSame(config(loss, outputs, 1), output, batch(loss, samples, outputs, 1, random));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 5, 33})
  void shouldAverageOverPositions(int positions) {
    SplittableRandom random = new SplittableRandom(4);
    float[] output = new float[6 * positions * 11];
    for (int i = 0; i < output.length; i++) {
      output[i] = (float) random.nextDouble() * 4;
    }

    assertSame(
        config(Loss.CROSS_ENTROPY, 11, positions),
        output,
        batch(Loss.CROSS_ENTROPY, 6, 11, positions, random));
  }

  /** Each row has the same logits for every class that it can be wrong about. */
  @Test
  void shouldPredictTheFirstOfEqualClassesAndNeverNaN() {
    float[][] rows = {
      {1, 1, 0},
      {0, 1, 1},
      {1, 1, 1},
      {2, 1, 2},
      {NAN, 1, 1},
      {1, NAN, 1},
      {NAN, NAN, NAN},
      {NAN, -INFINITE, NAN},
      {INFINITE, INFINITE, 0},
      {-INFINITE, -INFINITE, -INFINITE},
      {-INFINITE, 0, -INFINITE},
      {INFINITE, 0, -INFINITE},
      {80, -80, 0},
      {1e30f, -1e30f, 0},
      {-0f, 0, -1}
    };
    for (float[] row : rows) {
      for (int label = 0; label < 3; label++) {
        Batch batch = new Batch(new float[1], new int[] {label}, List.of(1), 0);
        assertSame(config(Loss.CROSS_ENTROPY, 3, 1), row, batch);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"BINARY_CROSS_ENTROPY", "MEAN_SQUARED_ERROR"})
  void shouldAgreeOnNumbersThatAreNotOrdinary(Loss loss) {
    float[] outputs = {NAN, INFINITE, -INFINITE, 0, -0f, 1e-30f, 88, -88, 200, -200, 1e20f};
    for (float output : outputs) {
      for (float target : new float[] {0, 1}) {
        Batch batch =
            new Batch(1, new float[1], new int[0], new float[] {target, 1}, List.of(1), 0);
        assertSame(config(loss, 2, 1), new float[] {output, 0.5f}, batch);
      }
    }
  }

  @SuppressWarnings("try")
  private static void assertSame(ModelConfig config, float[] output, Batch batch) {
    String what = config.loss() + " of " + output.length + " outputs";
    float scale = 1f / batch.count();
    try (PointerScope step = new PointerScope();
        Losses there = new TensorLosses(config, Place.copied());
        BatchInput input = new BatchInput(Place.copied(), ScalarType.Float)) {
      Losses here = new JavaLosses(config);
      Tensor outputs = tensor(output, batch.count(), config);
      Tensor targets = input.take(batch, batch.count(), 1).targets();

      float[] expected = values(here.gradient(outputs, batch, null, scale));
      float[] found = values(there.gradient(outputs, batch, targets, scale));

      for (int i = 0; i < expected.length; i++) {
        assertClose(expected[i], found[i], scale, what + ", gradient " + i);
      }
      assertClose(here.lossSum(), there.lossSum(), 1, what);
      assertEquals(here.correct(), there.correct(), what);
      for (int topK : new int[] {0, 1, 2, 5}) {
        Score one = here.score(outputs, batch, null, topK);
        Score other = there.score(outputs, batch, targets, topK);
        assertClose(one.lossSum(), other.lossSum(), 1, what);
        assertEquals(withoutLoss(one), withoutLoss(other), what + ", top " + topK);
      }
      assertArrayEquals(here.probabilities(outputs), there.probabilities(outputs), 1e-6f, what);
    }
  }

  /** Compares with a tolerance relative to the larger of the expected number and a usual one. */
  private static void assertClose(double expected, double found, double usual, String what) {
    double size = Double.isFinite(expected) ? Math.max(usual, Math.abs(expected)) : 0;
    assertEquals(expected, found, ROUNDING * size, what);
  }

  private static Score withoutLoss(Score score) {
    return new Score(
        score.samples(), 0, score.correct(), score.correctTop(), score.answers(), score.metric());
  }

  private static Tensor tensor(float[] values, int count, ModelConfig config) {
    ByteBuffer bytes =
        ByteBuffer.allocateDirect(values.length * Float.BYTES).order(ByteOrder.nativeOrder());
    bytes.asFloatBuffer().put(values);
    long[] shape = PyTorchModel.outputShape(count, config);
    return TensorBuffers.tensor(bytes, ScalarType.Float, shape).clone();
  }

  private static float[] values(Tensor tensor) {
    FloatBuffer buffer = TensorBuffers.values(tensor);
    float[] values = new float[buffer.remaining()];
    buffer.get(values);
    return values;
  }

  private static Batch batch(
      Loss loss, int samples, int outputs, int positions, SplittableRandom random) {
    int[] labels = new int[loss == Loss.CROSS_ENTROPY ? samples * positions : 0];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = random.nextInt(outputs);
    }
    float[] targets = new float[labels.length == 0 ? samples * outputs : 0];
    for (int i = 0; i < targets.length; i++) {
      targets[i] =
          loss == Loss.BINARY_CROSS_ENTROPY ? random.nextInt(2) : (float) random.nextDouble() * 4;
    }
    return new Batch(samples, new float[samples], labels, targets, List.of(1), 0);
  }

  private static ModelConfig config(Loss loss, int outputs, int positions) {
    return new ModelConfig("m", Map.of(), List.of(1), outputs, 1, 1, loss, positions, 0);
  }
}
