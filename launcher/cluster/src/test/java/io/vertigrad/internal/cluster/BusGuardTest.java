package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.cluster.BusGuard.AnswerWait;
import io.vertigrad.internal.cluster.BusGuard.ReplayFilter;
import io.vertigrad.internal.cluster.BusGuard.ReplayFilter.Source;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests which messages count as copies. No time of day occurs: times are of two stopwatches. */
class BusGuardTest {

  private static final long BEGAN = TimeUnit.SECONDS.toNanos(1_000);
  private static final Source STOP = new Source("a", "coordinator", true);
  private static final Source EVENTS = new Source("a", "events", false);
  private static final Optional<String> OLD =
      Optional.of("it was sent before this process began to listen");
  private static final Optional<String> COPY =
      Optional.of("it is a copy of one that was here before");

  private final ReplayFilter filter = new ReplayFilter(BEGAN);

  @Test
  void shouldTakeMessagesSentAfterItBeganWhenTheSenderIsMuchOlder() {
    // The sender has run for 5,000 s when this process is 10 s old.
    filter.introduce("a", 5_000_000, at(10_000));

    assertEquals(OLD, filter.refusal(STOP, 7, 4_989_999, at(10_001)));
    assertEquals(Optional.empty(), filter.refusal(STOP, 8, 4_990_001, at(10_001)));
    assertEquals(Optional.empty(), filter.refusal(EVENTS, 0, 5_000_500, at(10_500)));
  }

  @Test
  void shouldTakeMessagesWhenTheSendersMachineHasSlept() {
    filter.introduce("a", 100, at(1_000));

    // The stopwatch stood still for an hour.
    assertEquals(Optional.empty(), filter.refusal(STOP, 0, 200, at(3_600_000)));
  }

  @Test
  void shouldRefuseASenderThatHasNotAnswered() {
    assertFalse(filter.knows("a"));
    assertEquals(OLD, filter.refusal(STOP, 0, 1_000_000_000, at(10)));
  }

  @Test
  void shouldTakeANumberOnceWhenItIsSentToOneConsumer() {
    filter.introduce("a", 0, at(0));

    assertEquals(Optional.empty(), filter.refusal(STOP, 1, 5, at(5)));
    assertEquals(Optional.empty(), filter.refusal(STOP, 0, 4, at(6)));
    assertEquals(COPY, filter.refusal(STOP, 1, 5, at(7)));
    assertEquals(COPY, filter.refusal(STOP, 0, 4, at(8)));
  }

  @Test
  void shouldTakeCopiesForHalfAMinuteWhenTheyArePublished() {
    filter.introduce("a", 0, at(0));

    assertEquals(Optional.empty(), filter.refusal(EVENTS, 0, 5, at(5)));
    assertEquals(Optional.empty(), filter.refusal(EVENTS, 0, 5, at(29_000)));
    assertEquals(COPY, filter.refusal(EVENTS, 0, 5, at(31_000)));
  }

  @Test
  void shouldRefuseCopiesWhenItHasForgottenTheirSender() {
    filter.introduce("a", 0, at(0));
    assertEquals(Optional.empty(), filter.refusal(STOP, 0, 5, at(5)));
    for (int i = 0; i < 4_000; i++) {
      filter.introduce("b" + i, 0, at(100));
    }
    assertFalse(filter.knows("a"));

    filter.introduce("a", 200, at(200));
    for (int i = 0; i < 4_000; i++) {
      Source other = new Source("b3999", "address " + i, true);
      assertEquals(Optional.empty(), filter.refusal(other, 0, 150, at(250)));
    }

    assertEquals(OLD, filter.refusal(STOP, 0, 5, at(300)));
    assertTrue(filter.knows("a"));
  }

  @Test
  void shouldNotCountTimeInWhichThisProcessDidNotRunAsSilence() {
    AnswerWait wait = AnswerWait.NONE.plus(TimeUnit.MINUTES.toNanos(1));

    assertEquals(1_000, wait.waitedMillis());
    assertFalse(wait.isOver());
  }

  @Test
  void shouldGiveUpASenderThatNobodyKnowsAsLateAsOneThatIsSilent() {
    AnswerWait unknown = AnswerWait.NONE;
    for (AnswerWait next = unknown; !next.isOver(); next = next.plus(0)) {
      unknown = next;
    }
    AnswerWait silent = AnswerWait.NONE;
    for (AnswerWait next = silent; !next.isOver(); next = next.plus(1_000_000_000)) {
      silent = next;
    }

    long longestStep = 2_000;
    assertTrue(unknown.waitedMillis() >= AnswerWait.LIMIT_MILLIS - longestStep);
    assertTrue(silent.waitedMillis() >= AnswerWait.LIMIT_MILLIS - longestStep);
    assertEquals(1_000, silent.pauseMillis());
  }

  private static long at(long millis) {
    return BEGAN + TimeUnit.MILLISECONDS.toNanos(millis);
  }
}
