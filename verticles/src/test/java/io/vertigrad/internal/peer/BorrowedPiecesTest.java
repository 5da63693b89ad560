package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.strategy.Tag;
import java.nio.FloatBuffer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The pieces that a worker sends of its own vector, and the memory that they are sent from. */
class BorrowedPiecesTest extends TwoPeers {

  @Test
  void shouldReleaseTheValuesWhenTheyAreSent() {
    float[] values = {1, 2};
    left.send(1, TAG, DataType.FLOAT32, FloatBuffer.wrap(values));
    values[0] = 9;
    await(right.open());
    group(1, right, 0, 1);

    assertEquals(ONE, right.receive(0, TAG));
  }

  @Test
  @org.junit.jupiter.api.Tag("slow")
  void shouldKeepReceivedValuesWhenTheSendersMemoryIsReused() {
    await(right.open());
    group(1, right, 0, 1);
    for (int i = 0; i < 20; i++) {
      int sent = i;
      left.send(1, new Tag(0, 0, i), DataType.FLOAT32, FloatBuffer.wrap(new float[] {i}));
      Awaitility.await().until(() -> right.traffic().bytesReceived() == 4 * (sent + 1));
    }

    for (int i = 0; i < 20; i++) {
      assertEquals(Tensor.ofFloats(i), right.receive(0, new Tag(0, 0, i)));
    }
  }
}
