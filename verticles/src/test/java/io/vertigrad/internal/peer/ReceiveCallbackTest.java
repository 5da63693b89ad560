package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReceiveCallbackTest {

  private static final TensorView ONE = Tensor.ofFloats(1);
  private static final Tag FIRST = new Tag(0, 0, 0);
  private static final Tag SECOND = new Tag(0, 0, 1);

  private final List<Tag> taken = new ArrayList<>();
  private final ReceiveCallback delivery =
      new ReceiveCallback(List.of(FIRST, SECOND), (tag, tensor) -> taken.add(tag));

  @Test
  void shouldHandleEachMessageOnceInAnyOrder() {
    assertFalse(delivery.take(SECOND, ONE));
    assertFalse(delivery.take(SECOND, ONE));
    assertEquals(FIRST, delivery.next());
    assertEquals(1, delivery.pending());

    assertTrue(delivery.take(FIRST, ONE));

    assertTrue(delivery.isEnded());
    assertEquals(List.of(SECOND, FIRST), taken);
  }

  @Test
  void shouldIgnoreEventsAfterTheEnd() {
    delivery.end();

    assertTrue(delivery.take(FIRST, ONE));

    assertEquals(List.of(), taken);
  }

  @Test
  void shouldThrowTheHandlersErrorToTheWaitingThread() {
    ReceiveCallback broken =
        new ReceiveCallback(
            List.of(FIRST, SECOND),
            (tag, tensor) -> {
              throw new IllegalStateException("of another length");
            });

    assertTrue(broken.take(FIRST, ONE));

    assertEquals(
        "of another length",
        assertThrows(IllegalStateException.class, broken::isEnded).getMessage());
  }
}
