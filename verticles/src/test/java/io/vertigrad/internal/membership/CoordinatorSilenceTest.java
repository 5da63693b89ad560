package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.membership.CoordinatorClient.CoordinatorSilence;
import io.vertigrad.internal.membership.CoordinatorClient.CoordinatorSilence.Finding;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class CoordinatorSilenceTest {

  private static final long LIMIT = 600_000;

  private long now = 5_000;
  private final CoordinatorSilence silence = new CoordinatorSilence(3_000, 3_000, LIMIT, now);

  @Test
  void shouldReportSilenceOnceAMinuteAndFailAtTheLimit() {
    List<Long> reports = new ArrayList<>();
    Finding found = Finding.NONE;
    long began = now;
    while (found != Finding.GIVE_UP) {
      now += 1_000;
      found = silence.check(now);
      if (found == Finding.REPORT) {
        reports.add(now - began);
      }
    }

    assertEquals(LIMIT, now - began);
    assertEquals(List.of(3_000L, 63_000L, 123_000L), reports.subList(0, 3));
    assertEquals(10, reports.size());
  }

  @Test
  void shouldReportOnceThatItAnswersAgain() {
    assertFalse(silence.onAnswer(now));
    look(4_000);

    assertTrue(silence.onAnswer(now));
    assertFalse(silence.onAnswer(now));
    assertEquals(Finding.NONE, look(2_000));
    assertEquals(Finding.REPORT, look(1_000));
  }

  @ParameterizedTest
  @ValueSource(longs = {13_000, 30_000, 60_000, 3_600_000})
  void shouldNotLeaveTheCoordinatorAfterItsOwnSleep(long asleep) {
    look(1_000);

    now += asleep;

    assertEquals(Finding.NONE, silence.check(now));
    assertEquals(1_000, silence.silentMillis(now));
  }

  private Finding look(long millis) {
    Finding last = Finding.NONE;
    for (long end = now + millis; now < end; ) {
      now += 1_000;
      last = silence.check(now);
    }
    return last;
  }
}
