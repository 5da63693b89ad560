package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.peer.PeerInbox.Acceptance;
import io.vertigrad.strategy.Tag;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PeerInboxTest {

  private static final TensorView ONE = Tensor.ofFloats(1);
  private static final TensorView TWO = Tensor.ofFloats(2);

  private final PeerInbox inbox = new PeerInbox();

  @Test
  void shouldDeliverOnceWhenAMessageIsRepeated() {
    assertEquals(Acceptance.STORED, inbox.accept(3, 0, new Tag(0, 0, 0), ONE, 10));
    assertEquals(Acceptance.DROPPED, inbox.accept(3, 0, new Tag(0, 0, 0), ONE, 11));

    assertEquals(Optional.of(ONE), inbox.take(3, new Tag(0, 0, 0)));
    assertEquals(Optional.empty(), inbox.take(3, new Tag(0, 0, 0)));
    assertEquals(10, inbox.arrivedNanos());
  }

  @Test
  void shouldRefuseDuplicateWhenItWasTakenBefore() {
    inbox.accept(3, 0, new Tag(4, 0, 0), ONE, 0);
    inbox.accept(3, 0, new Tag(4, 1, 0), TWO, 0);
    inbox.take(3, new Tag(4, 0, 0));

    assertEquals(Acceptance.DROPPED, inbox.accept(3, 0, new Tag(4, 0, 0), ONE, 0));
    inbox.take(3, new Tag(4, 1, 0));
    inbox.accept(3, 0, new Tag(5, 0, 0), ONE, 0);
    inbox.take(3, new Tag(5, 0, 0));

    assertEquals(Acceptance.DROPPED, inbox.accept(3, 0, new Tag(4, 1, 0), TWO, 0));
    assertEquals(
        Acceptance.STORED, inbox.accept(2, 0, new Tag(4, 1, 0), TWO, 0), "another worker's");
    assertEquals(1, inbox.size());
  }

  @Test
  void shouldKeepNewerEpochsAndDropOlderOnesWhenMovingOn() {
    inbox.accept(1, 0, new Tag(7, 0, 0), ONE, 0);
    inbox.accept(1, 1, new Tag(0, 0, 0), TWO, 0);

    assertEquals(Optional.empty(), inbox.take(1, new Tag(0, 0, 0)));
    inbox.adopt(1);

    assertEquals(Optional.of(TWO), inbox.take(1, new Tag(0, 0, 0)));
    assertEquals(Acceptance.DROPPED, inbox.accept(1, 0, new Tag(8, 0, 0), ONE, 0));
    assertEquals(0, inbox.size());
  }

  @Test
  void shouldDeliverAnExpectedMessageOnce() {
    Tag here = new Tag(2, 0, 0);
    Tag coming = new Tag(2, 0, 1);
    inbox.accept(1, 0, here, ONE, 5);

    assertEquals(List.of(here), inbox.expect(1, List.of(here, coming)));
    assertEquals(Acceptance.EXPECTED, inbox.accept(1, 0, coming, TWO, 8));

    assertEquals(Acceptance.DROPPED, inbox.accept(1, 0, coming, TWO, 9));
    assertEquals(8, inbox.arrivedNanos());
    assertEquals(1, inbox.size());
  }

  @Test
  void shouldKeepOtherMessagesWhileOneIsExpected() {
    Tag tag = new Tag(2, 0, 0);
    inbox.expect(1, List.of(tag));

    assertEquals(Acceptance.STORED, inbox.accept(2, 0, tag, ONE, 0));
    assertEquals(Acceptance.STORED, inbox.accept(1, 1, tag, ONE, 0));
    inbox.expectNothing();

    assertEquals(Acceptance.STORED, inbox.accept(1, 0, tag, ONE, 0));
  }

  @Test
  void shouldReuseMemoryWhenABorrowedMessageIsReleased() {
    TensorMemory senders = new TensorMemory();
    TensorView lent = senders.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[] {3}));
    inbox.accept(1, 0, new Tag(0, 0, 0), lent, 0);
    TensorView first = inbox.take(1, new Tag(0, 0, 0)).orElseThrow();

    senders.giveBack(lent);
    senders.giveBack(senders.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[] {4})));
    assertEquals(Tensor.ofFloats(3), first, "a copy, since the sender writes its memory again");

    inbox.giveBack(first);
    TensorView second = senders.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[] {2}));
    inbox.accept(1, 0, new Tag(1, 0, 0), second, 0);
    senders.giveBack(second);
    assertEquals(Tensor.ofFloats(2), first, "the same memory holds the next message");
    inbox.adopt(1);
  }
}
