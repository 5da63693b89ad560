package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.codecs.Tensor;
import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

class WorkerMomentumTest {

  private final WorkerMomentum momentum = new WorkerMomentum(0.75, 4);

  @Test
  void shouldSendTheMovingAverageWhenGradientsAreDelivered() {
    send(0, 4, 8);
    momentum.delivered(0, 2);

    assertArrayEquals(new float[] {0.75f + 2, 1.5f + 1}, send(0, 8, 4));
  }

  @Test
  void shouldKeepTheStateOfBeforeWhenAPieceIsNotDelivered() {
    send(0, 4, 8);
    momentum.delivered(0, 2);
    send(2, 16, 16);

    assertArrayEquals(new float[] {1, 2, 0, 0}, elements(momentum.current()));
    assertArrayEquals(new float[] {1, 2, 4, 4}, elements(momentum.pending()));
    assertArrayEquals(new float[] {4, 4}, send(2, 16, 16), "repeated, it is the same");
  }

  @Test
  void shouldContinueWhenItsStateIsRestored() {
    momentum.restore(new float[] {1, 2, 3, 4});

    assertArrayEquals(new float[] {0.75f, 1.5f}, send(0, 0, 0));
    momentum.restore(new float[0]);
    assertArrayEquals(new float[] {0, 0}, send(0, 0, 0));
  }

  @Test
  void shouldRefuseAStateWhenItsLengthDiffers() {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> momentum.restore(new float[3]));

    assertEquals("the momentum has 3 elements, expected 0 or 4", refused.getMessage());
  }

  private float[] send(int first, float... gradient) {
    Tensor sent = momentum.compress(first, FloatBuffer.wrap(gradient));
    float[] elements = new float[gradient.length];
    sent.copyTo(elements, 0);
    return elements;
  }

  private static float[] elements(FloatBuffer buffer) {
    float[] elements = new float[buffer.remaining()];
    buffer.duplicate().get(elements);
    return elements;
  }
}
