package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LinkLimitTest {

  private static final long MILLI = 1_000_000;
  private static final int BURST = 4 << 10;

  private final List<Runnable> timers = new ArrayList<>();
  private final List<Long> dueNanos = new ArrayList<>();
  private final List<String> sent = new ArrayList<>();
  private long now;

  @Test
  void shouldHoldTheRateOverManyMessagesWhateverTheirSizes() {
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
  void shouldSendAMessageWhenItsLastByteWouldHaveLeft() {
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
  void shouldRefuseALimitWhereNothingCouldBeLimited() {
    assertRefused("shared", 100, "only streams are limited");
    assertRefused("bus", 100, "only streams are limited");
    assertRefused("stream", 1, "expected 0 or at least 10");

    assertEquals(100, exchange("auto", 100).megabitsPerSecond());
    assertTrue(LinkLimit.of(exchange("auto", 0)).isEmpty());
  }

  private static void assertRefused(String transport, double megabits, String expected) {
    SettingsException refused =
        assertThrows(SettingsException.class, () -> exchange(transport, megabits));
    assertTrue(refused.getMessage().contains("exchange.megabitsPerSecond"), refused.getMessage());
    assertTrue(refused.getMessage().contains(expected), refused.getMessage());
  }

  private static ExchangeConfig exchange(String transport, double megabits) {
    JsonObject exchange =
        new JsonObject().put("transport", transport).put("megabitsPerSecond", megabits);
    return JobConfig.read("test", new JsonObject().put("exchange", exchange)).exchange();
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
