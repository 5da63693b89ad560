package io.vertigrad.benchmarks.overlap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ChannelInitializerExtension;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.vertigrad.benchmarks.overlap.LinkLimit.TokenBucket;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

class LinkLimitTest {

  private static final long MILLI = 1_000_000;
  private static final int BURST = 4 << 10;

  private final List<Runnable> timers = new ArrayList<>();
  private final List<Long> dueNanos = new ArrayList<>();
  private final List<String> sent = new ArrayList<>();
  private long now;

  @Test
  void shouldKeepTheRateOverMessagesOfAnySize() {
    TokenBucket bucket = new TokenBucket(1e6, 1_000, 0);
    long bytes = 0;
    long last = 0;

    for (int i = 0; i < 10_000; i++) {
      int size = 1 + i * 7919 % 5_000;
      bytes += size;
      long due = bucket.take(size, last);
      assertTrue(due >= last, "a message may not pass an earlier one");
      last = due;
    }

    assertEquals((bytes - 1_000) * 1e-6, last * 1e-9, 1e-4, "seconds at 1 MB/s");
  }

  @Test
  void shouldKeepNoMoreTokensThanTheBucketHolds() {
    TokenBucket bucket = new TokenBucket(1e6, 1_000, 0);

    long rested = 3_600_000 * MILLI;

    assertEquals(rested, bucket.take(1_000, rested));
    assertEquals(rested + 1 * MILLI, bucket.take(1_000, rested));
  }

  @Test
  void shouldDelayAMessageByTheTimeOfItsBytes() {
    LinkLimit limit = limit();

    limit.send(BURST, () -> sent.add("at once"));
    limit.send(10_000, () -> sent.add("10 ms later"));
    limit.send(5_000, () -> sent.add("15 ms later"));

    assertEquals(List.of("at once"), sent);
    tick(9 * MILLI);
    assertEquals(List.of("at once"), sent);
    tick(10 * MILLI);
    assertEquals(List.of("at once", "10 ms later"), sent);
    tick(15 * MILLI);
    assertEquals(List.of("at once", "10 ms later", "15 ms later"), sent);
  }

  @Test
  void shouldNotLetAMessagePassAnEarlierOneWhoseTimerIsLate() {
    LinkLimit limit = limit();
    limit.send(BURST, () -> sent.add("first"));
    limit.send(1_000, () -> sent.add("second"));

    now = 60_000 * MILLI;
    limit.send(1, () -> sent.add("third"));

    assertEquals(List.of("first"), sent);
    tick(now);
    assertEquals(List.of("first", "second", "third"), sent);
  }

  @Test
  void shouldSendTheBytesOfAllConnectionsInTurnAndThenClose() {
    LinkLimit limit = limit();
    EmbeddedChannel first = new EmbeddedChannel(limit.handler());
    EmbeddedChannel second = new EmbeddedChannel(limit.handler());
    EmbeddedChannel third = new EmbeddedChannel(limit.handler());

    first.write(Unpooled.wrappedBuffer(new byte[BURST]));
    first.write(Unpooled.wrappedBuffer(new byte[10_000]));
    second.write(Unpooled.wrappedBuffer(new byte[5_000]));
    third.close();

    assertEquals(List.of(BURST), sentBytes(first));
    assertEquals(List.of(), sentBytes(second));
    tick(10 * MILLI);
    assertEquals(List.of(10_000), sentBytes(first));
    assertEquals(List.of(), sentBytes(second));
    assertTrue(third.isOpen());
    tick(15 * MILLI);
    assertEquals(List.of(5_000), sentBytes(second));
    third.runPendingTasks();
    assertFalse(third.isOpen());
  }

  @Test
  void shouldBeLoadedByNettyInTheMeasuredProgram() throws Exception {
    List<String> prefix = LinkLimit.commandPrefix(100);

    assertTrue(prefix.get(2).endsWith("megabits=100"), prefix.get(2));
    assertTrue(
        ServiceLoader.load(ChannelInitializerExtension.class).stream()
            .anyMatch(service -> service.type() == LinkLimit.EveryConnection.class));
  }

  private static List<Integer> sentBytes(EmbeddedChannel channel) {
    channel.runPendingTasks();
    List<Integer> lengths = new ArrayList<>();
    for (ByteBuf sent = channel.readOutbound(); sent != null; sent = channel.readOutbound()) {
      lengths.add(sent.readableBytes());
      sent.release();
    }
    return lengths;
  }

  /** Creates a limit of one megabyte per second, so that a byte takes a microsecond. */
  private LinkLimit limit() {
    return new LinkLimit(
        1e6,
        () -> now,
        (nanos, action) -> {
          dueNanos.add(now + nanos);
          timers.add(action);
        });
  }

  private void tick(long nanos) {
    now = nanos;
    for (int i = 0; i < timers.size(); ) {
      if (dueNanos.get(i) <= now) {
        dueNanos.remove(i);
        timers.remove(i).run();
      } else {
        i++;
      }
    }
  }
}
