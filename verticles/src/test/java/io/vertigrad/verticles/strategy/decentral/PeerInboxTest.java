package io.vertigrad.verticles.strategy.decentral;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Tensor;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PeerInboxTest {

  private static final Tensor ONE = Tensor.ofFloats(1);
  private static final Tensor TWO = Tensor.ofFloats(2);

  private final PeerInbox inbox = new PeerInbox();

  @Test
  void shouldHandOutOnceWhenMessageCameTwice() {
    assertTrue(inbox.accept(3, 0, new Tag(0, 0, 0), ONE, 10));
    assertFalse(inbox.accept(3, 0, new Tag(0, 0, 0), ONE, 11));

    assertEquals(Optional.of(ONE), inbox.take(3, new Tag(0, 0, 0)));
    assertEquals(Optional.empty(), inbox.take(3, new Tag(0, 0, 0)));
    assertEquals(10, inbox.arrivedNanos());
  }

  @Test
  void shouldRefuseDuplicateWhenItWasTakenBefore() {
    inbox.accept(3, 0, new Tag(4, 0, 0), ONE, 0);
    inbox.accept(3, 0, new Tag(4, 1, 0), TWO, 0);
    inbox.take(3, new Tag(4, 0, 0));

    assertFalse(inbox.accept(3, 0, new Tag(4, 0, 0), ONE, 0));
    inbox.take(3, new Tag(4, 1, 0));
    inbox.accept(3, 0, new Tag(5, 0, 0), ONE, 0);
    inbox.take(3, new Tag(5, 0, 0));

    assertFalse(inbox.accept(3, 0, new Tag(4, 1, 0), TWO, 0));
    assertTrue(inbox.accept(2, 0, new Tag(4, 1, 0), TWO, 0), "another worker's");
    assertEquals(1, inbox.size());
  }

  @Test
  void shouldKeepNewerEpochsAndDropOlderOnesWhenMovingOn() {
    inbox.accept(1, 0, new Tag(7, 0, 0), ONE, 0);
    inbox.accept(1, 1, new Tag(0, 0, 0), TWO, 0);

    assertEquals(Optional.empty(), inbox.take(1, new Tag(0, 0, 0)));
    inbox.adopt(1);

    assertEquals(Optional.of(TWO), inbox.take(1, new Tag(0, 0, 0)));
    assertFalse(inbox.accept(1, 0, new Tag(8, 0, 0), ONE, 0));
    assertEquals(0, inbox.size());
  }
}
