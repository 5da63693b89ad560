package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MessageRingTest {

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final ByteBuffer memory = ByteBuffer.allocateDirect(MessageRing.BYTES);
  private final MessageRing writer = new MessageRing(memory, 0);
  private final MessageRing reader = new MessageRing(memory, 0);

  @Test
  void shouldReadTheWrittenValues() {
    writer.write(3, 7, 11, bytes(1, 2), bytes(3));

    assertTrue(reader.hasNext());
    assertEquals(11, reader.streamMessagesBefore());
    assertEquals(new MessageRing.Entry(3, 7, bytes(1, 2, 3)), reader.take());
    assertFalse(reader.hasNext());
  }

  @Test
  void shouldRefuseMessagesWhenTheRingIsFull() {
    int written = 0;
    while (writer.write(1, written, 0, NOTHING, NOTHING)) {
      written++;
    }

    assertEquals(256, written);
    reader.take();
    assertTrue(writer.write(1, written, 0, NOTHING, NOTHING));
    assertFalse(writer.write(1, written, 0, NOTHING, NOTHING));
    for (int i = 1; i <= written; i++) {
      assertEquals(i, reader.take().number());
    }
  }

  @Test
  void shouldWakeAReaderOnceAndOnlyWhenItWaits() {
    writer.write(1, 1, 0, NOTHING, NOTHING);
    assertEquals(MessageRing.AWAKE, writer.clearWaiting(), "it has not said so");
    assertFalse(reader.startWaiting(MessageRing.BY_STREAM), "there is something to read");
    reader.take();
    assertTrue(reader.startWaiting(MessageRing.BY_STREAM));

    writer.write(1, 2, 0, NOTHING, NOTHING);

    assertTrue(writer.isWaiting());
    assertEquals(MessageRing.BY_STREAM, writer.clearWaiting());
    assertEquals(MessageRing.AWAKE, writer.clearWaiting(), "it has been woken");
  }

  @Test
  void shouldReportHowToWakeItsReader() {
    assertTrue(reader.startWaiting(40_000));
    assertEquals(40_000, writer.clearWaiting());

    assertTrue(reader.startWaiting(40_000));
    reader.stopWaiting(MessageRing.BY_STREAM);
    assertTrue(writer.isWaiting(), "it waits otherwise");
    reader.stopWaiting(40_000);
    assertFalse(writer.isWaiting());

    for (int broken : new int[] {-1, 65_536, Integer.MAX_VALUE}) {
      reader.startWaiting(broken);
      assertEquals(MessageRing.BY_STREAM, writer.clearWaiting());
    }
  }

  @Test
  @Tag("slow")
  void shouldLoseNoMessageOrWakeBetweenTwoThreads() throws Exception {
    int messages = 300_000;
    Semaphore wakings = new Semaphore(0);
    Thread writing =
        new Thread(
            () -> {
              for (int i = 0; i < messages; ) {
                if (writer.write(1, i, 0, NOTHING, NOTHING)) {
                  i++;
                  if (writer.clearWaiting() != MessageRing.AWAKE) {
                    wakings.release();
                  }
                }
                // Lets the reader empty the ring now and then.
                for (int spin = i % 97; spin == 0 && reader.hasNext(); ) {
                  Thread.onSpinWait();
                }
              }
            });
    writing.start();

    for (int i = 0; i < messages; ) {
      while (!reader.hasNext()) {
        if (reader.startWaiting(MessageRing.BY_STREAM)) {
          assertTrue(wakings.tryAcquire(20, TimeUnit.SECONDS), "nobody woke it at " + i);
        }
      }
      assertEquals(i++, reader.take().number());
    }
    writing.join();
  }

  @Test
  void shouldLimitTheBodyOfAnInvalidLength() {
    writer.write(1, 1, 0, NOTHING, NOTHING);
    for (int length : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      MessageRing another = new MessageRing(memory, 0);
      memory.order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(192 + 4, length);
      assertTrue(another.take().body().remaining() <= MessageRing.MOST_BODY_BYTES);
    }
  }

  private static ByteBuffer bytes(int... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length);
    for (int value : values) {
      bytes.put((byte) value);
    }
    return bytes.flip();
  }
}
