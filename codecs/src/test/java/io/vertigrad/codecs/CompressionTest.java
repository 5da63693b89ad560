package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression.Kind;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class CompressionTest {

  /** A length that is no multiple of a block and more than two chunks. */
  private static final int LENGTH = 4_999;

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 1_023, 1_024, 1_025, LENGTH})
  void shouldMissNoElementByMoreThanHalfAScaleWhenRoundedToInt8(int length) {
    float[] values = noise(length, 1);

    TensorView tensor = Tensor.int8(FloatBuffer.wrap(values));

    float[] decoded = decoded(tensor);
    for (int i = 0; i < length; i++) {
      int start = i / Int8Blocks.ELEMENTS * Int8Blocks.ELEMENTS;
      float[] block = Arrays.copyOfRange(values, start, Math.min(length, start + 1_024));
      assertEquals(values[i], decoded[i], 0.50001 * largest(block) / 127, "element " + i);
    }
    assertEquals(length + 4 * ((length + 1_023) / 1_024), tensor.payloadBytes());
    assertEquals(3 * length - 4 * ((length + 1_023) / 1_024), tensor.savedBytes());
  }

  @Test
  void shouldBeExactWhenElementsAreMultiplesOfTheScale() {
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = (i % 255 - 127) / 64f;
    }

    assertArrayEquals(values, decoded(Tensor.int8(FloatBuffer.wrap(values))));
  }

  @ParameterizedTest
  @ValueSource(floats = {Float.MIN_VALUE, 1e-44f, 3e-38f, 1e-20f, 1e38f, Float.MAX_VALUE})
  void shouldStayWithinAScaleWhenElementsAreTinyOrHuge(float largest) {
    float[] values = {largest, -largest, largest / 2, 0};

    TensorView tensor = Tensor.int8(FloatBuffer.wrap(values));

    if (tensor.isFinite()) {
      float scale = tensor.bytes().getFloat(0);
      assertArrayEquals(values, decoded(tensor), Math.max(0.50001f * scale, 64 * 1.4e-45f));
    } else {
      assertTrue(largest > 3.4e38f, "only what could overflow is called not finite");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 50, 2_500, LENGTH})
  void shouldKeepTheLargestMagnitudesWhenSparse(int kept) {
    float[] values = noise(LENGTH, 2);
    float[] sorted = values.clone();
    for (int i = 0; i < LENGTH; i++) {
      sorted[i] = -Math.abs(sorted[i]);
    }
    Arrays.sort(sorted);

    TensorView tensor = Tensor.top(FloatBuffer.wrap(values), kept);

    float[] decoded = decoded(tensor);
    float least = kept == 0 ? Float.MAX_VALUE : -sorted[kept - 1];
    for (int i = 0; i < LENGTH; i++) {
      assertEquals(Math.abs(values[i]) >= least ? values[i] : 0, decoded[i], "element " + i);
    }
    assertEquals(8 * kept, tensor.payloadBytes());
    assertEquals(4 * LENGTH - 8 * kept, tensor.savedBytes());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 127, 128, 129, LENGTH})
  void shouldMissNoElementByMoreThanHalfAScaleWhenRoundedToFourBits(int length) {
    float[] values = noise(length, 11);

    TensorView tensor = Tensor.int4(FloatBuffer.wrap(values));

    float[] decoded = decoded(tensor);
    for (int i = 0; i < length; i++) {
      int start = i / 128 * 128;
      float[] block = Arrays.copyOfRange(values, start, Math.min(length, start + 128));
      assertEquals(values[i], decoded[i], 0.50001 * largest(block) / 7, "element " + i);
    }
    assertEquals((length + 1) / 2 + 4 * ((length + 127) / 128), tensor.payloadBytes());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 8, 1_023, 1_025, LENGTH})
  void shouldKeepSignsAndTheMeanMagnitudeOfABlock(int length) {
    float[] values = noise(length, 12);

    TensorView tensor = Tensor.signs(FloatBuffer.wrap(values));

    float[] decoded = decoded(tensor);
    for (int i = 0; i < length; i++) {
      int start = i / 1_024 * 1_024;
      int end = Math.min(length, start + 1_024);
      double mean = 0;
      for (int j = start; j < end; j++) {
        mean += Math.abs(values[j]) / (end - start);
      }
      assertEquals(Math.signum(values[i]) * mean, decoded[i], 1e-6, "element " + i);
    }
    assertEquals((length + 7) / 8 + 4 * ((length + 1_023) / 1_024), tensor.payloadBytes());
  }

  /** Whatever the rule, what was sent so far plus the residual is what should have been sent. */
  @ParameterizedTest
  @EnumSource(names = {"INT4", "SIGN"})
  void shouldKeepTheErrorOfCoarseRoundingAsResidual(Kind kind) {
    float[][] totals = feedBack(new Compression(kind, 0.05), 200, 0);

    assertArrayEquals(totals[0], totals[1], 5e-3f);
  }

  @Test
  void shouldKeepTheFirstWhenMagnitudesAreEqual() {
    float[] values = {1, -3, 3, -3, 3, 0};

    assertArrayEquals(
        new float[] {0, -3, 3, -3, 0, 0}, decoded(Tensor.top(FloatBuffer.wrap(values), 3)));
  }

  @Test
  void shouldAddTheDecodedElementsWhenScaled() {
    for (Compression compression : all()) {
      TensorView tensor = compression.of(FloatBuffer.wrap(noise(LENGTH, 3)));
      float[] sums = noise(LENGTH + 7, 4);
      float[] expected = sums.clone();
      float[] decoded = decoded(tensor);
      for (int i = 0; i < LENGTH; i++) {
        expected[i + 7] += 0.3f * decoded[i];
      }

      tensor.addTo(sums, 7, 0.3f);

      assertArrayEquals(expected, sums, tensor.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
  void shouldKeepNaNWhenAnElementIsNotFinite(float broken) {
    for (Compression compression : all()) {
      for (int at : new int[] {0, 1_024, 3_000, LENGTH - 1}) {
        float[] values = noise(LENGTH, 5);
        assertTrue(compression.of(FloatBuffer.wrap(values)).isFinite());
        values[at] = broken;

        assertFalse(compression.of(FloatBuffer.wrap(values)).isFinite(), compression.toString());
      }
    }
  }

  @Test
  void shouldGiveTheSameBytesWhenTheElementsAreTheSame() {
    for (Compression compression : all()) {
      TensorView tensor = compression.of(FloatBuffer.wrap(noise(LENGTH, 6)));

      assertEquals(tensor, compression.of(FloatBuffer.wrap(noise(LENGTH, 6))));
      assertFalse(tensor.equals(compression.of(FloatBuffer.wrap(noise(LENGTH, 7)))));
    }
  }

  @Test
  void shouldDecodeToAnEqualTensorWhenItIsLarge() {
    for (Compression compression : all()) {
      TensorView tensor = compression.of(FloatBuffer.wrap(noise(FrameLimits.MAX_ELEMENTS, 8)));
      GradientPartition sent = new GradientPartition(Frames.ID, 0, 0, 1, 0, tensor);

      assertEquals(sent, Frames.decode(sent, Frames.encode(sent)));
    }
  }

  /** Uses few gradients that are multiples of 1/64, so that every sum is exact in float32. */
  @ParameterizedTest
  @EnumSource(names = {"TOPK"})
  void shouldKeepExactlyTheUnsentPartAsResidual(Kind kind) {
    float[][] totals = feedBack(new Compression(kind, 0.05), 200, 64);

    assertArrayEquals(totals[0], totals[1]);
  }

  /** Sums of 200 gradients of magnitude up to 1: 200 roundings of 1e-7 of up to some 100. */
  @Test
  void shouldKeepTheRoundingErrorAsResidual() {
    float[][] totals = feedBack(new Compression(Kind.INT8, 0.05), 200, 0);

    assertArrayEquals(totals[0], totals[1], 1e-3f);
  }

  @Test
  void shouldKeepTheStateWhenATensorIsNotDelivered() {
    ErrorFeedback feedback = new ErrorFeedback(new Compression(Kind.TOPK, 0.1), 10);
    feedback.compress(0, FloatBuffer.wrap(noise(10, 9)));
    feedback.delivered(0, 10);
    float[] before = feedback.residual();

    feedback.compress(0, FloatBuffer.wrap(noise(10, 10)));

    assertArrayEquals(before, feedback.residual());
  }

  @Test
  void shouldSendAnAlwaysSmallerElementEventually() {
    ErrorFeedback feedback = new ErrorFeedback(new Compression(Kind.TOPK, 0.5), 2);
    float[] received = new float[2];
    for (int step = 0; step < 30; step++) {
      feedback.compress(0, FloatBuffer.wrap(new float[] {1, 0.1f})).addTo(received, 0, 1);
      feedback.delivered(0, 2);
    }

    assertEquals(3, received[1], 1.01, "30 times 0.1, less at most the last residual");
    assertTrue(received[1] > 0, "the smaller element arrived");
  }

  /** Gradients of small batches are divided by their weight where they have arrived. */
  @Test
  void shouldKeepTheSameResidualForAnyWeightOfTheGradient() {
    ErrorFeedback feedback = new ErrorFeedback(new Compression(Kind.TOPK, 0.1), 10);
    float[] sum = new float[10];
    float[] received = new float[10];
    for (int step = 0; step < 50; step++) {
      float weight = step % 5 == 4 ? 0.125f : 1;
      float[] gradient = noise(10, step);
      for (int i = 0; i < 10; i++) {
        sum[i] += gradient[i];
        gradient[i] *= weight;
      }
      feedback.weigh(weight);
      feedback.compress(0, FloatBuffer.wrap(gradient)).addTo(received, 0, 1 / weight);
      feedback.delivered(0, 10);
    }

    for (int i = 0; i < 10; i++) {
      received[i] += feedback.residual()[i];
    }
    assertArrayEquals(sum, received, 1e-4f);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, 0.51, Double.NaN})
  void shouldRefuseAShareThatSavesNothing(double share) {
    assertThrows(IllegalArgumentException.class, () -> new Compression(Kind.TOPK, share));
  }

  /** The sum of all gradients, and the sum of everything delivered plus the residual. */
  private static float[][] feedBack(Compression compression, int steps, int grid) {
    ErrorFeedback feedback = new ErrorFeedback(compression, LENGTH);
    float[] sum = new float[LENGTH];
    float[] received = new float[LENGTH];
    for (int step = 0; step < steps; step++) {
      float[] gradient = noise(LENGTH, 100 + step);
      for (int i = 0; i < LENGTH; i++) {
        gradient[i] = grid > 0 ? (float) Math.rint(gradient[i] * grid) / grid : gradient[i];
        sum[i] += gradient[i];
      }
      for (int first = 0; first < LENGTH; first += 2_500) {
        int count = Math.min(2_500, LENGTH - first);
        TensorView tensor = feedback.compress(first, FloatBuffer.wrap(gradient, first, count));
        if (step % 5 == 4) {
          continue;
        }
        feedback.delivered(first, count);
        tensor.addTo(received, first, 1);
      }
      for (int i = 0; i < LENGTH && step % 5 == 4; i++) {
        sum[i] -= gradient[i];
      }
    }
    float[] residual = feedback.residual();
    for (int i = 0; i < LENGTH; i++) {
      received[i] += residual[i];
    }
    return new float[][] {sum, received};
  }

  private static Compression[] all() {
    return Stream.of(Kind.INT8, Kind.TOPK, Kind.INT4, Kind.SIGN)
        .map(kind -> new Compression(kind, 0.01))
        .toArray(Compression[]::new);
  }

  private static float[] noise(int length, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = (float) random.nextDouble(-1, 1);
    }
    return values;
  }

  private static float largest(float[] values) {
    float largest = 0;
    for (float value : values) {
      largest = Math.max(largest, Math.abs(value));
    }
    return largest;
  }

  private static float[] decoded(TensorView tensor) {
    float[] values = new float[tensor.length()];
    tensor.copyTo(values, 0);
    return values;
  }
}
