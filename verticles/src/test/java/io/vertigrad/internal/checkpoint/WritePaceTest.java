package io.vertigrad.internal.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class WritePaceTest {

  private static final int MIB = 1 << 20;

  private final AtomicLong processorNanos = new AtomicLong();
  private final WritePace pace = new WritePace(processorNanos::get);

  @Test
  void shouldPauseFifteenTimesAsLongAsItWrote() throws Exception {
    pace.begin();
    pace.writing(MIB);
    worked(4);

    pace.writing(MIB);

    assertTrue(pace.pausedMillis() >= 60, pace.pausedMillis() + " ms, expected 60 or some more");
  }

  @Test
  void shouldMeasureTheProcessorTimeOfOneFile() {
    worked(9);
    pace.begin();
    worked(4);

    assertEquals(4, pace.processorMillis());
  }

  @Test
  void shouldNotPauseForLessThanOneMebibyte() throws Exception {
    pace.begin();
    pace.writing(MIB - 1);
    worked(1_000);

    pace.writing(MIB);

    assertEquals(0, pace.pausedMillis());
  }

  @Test
  void shouldPauseForTheCopyBeforeTheFirstByte() throws Exception {
    pace.begin();
    worked(2);
    pace.copied(MIB);

    pace.writing(1);

    assertTrue(pace.pausedMillis() >= 30, pace.pausedMillis() + " ms, expected 30 or some more");
  }

  @Test
  void shouldEndThePauseWhenACallerWaits() {
    pace.begin();
    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> {
          pace.writing(MIB);
          worked(60_000);
          Thread waiting = new Thread(pace::finishWithoutPauses);
          waiting.start();
          pace.writing(MIB);
          worked(60_000);
          pace.writing(MIB);
          waiting.join();
        });
  }

  private void worked(long millis) {
    processorNanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
  }
}
