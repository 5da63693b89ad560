package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.internal.membership.Decision.Complete;
import io.vertigrad.internal.membership.Decision.Hung;
import io.vertigrad.job.Role;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests a job whose coordinator or members are stopped for a while and continued. */
final class CoordinatorStateFreezeTest {

  private static final Admission FIRST = new Admission(Role.SERVER, 0, 0);
  private static final Admission SECOND = new Admission(Role.SERVER, 1, 0);

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);

  @ParameterizedTest
  @CsvSource({"2500, 0", "13000, 20000", "30000, 20000", "60000, 20000"})
  void shouldSuspectNobodyBeforeAFreshIntervalWhenItWasStoppedItself(
      long millis, long unreachable) {
    fixture.advance(2_000);
    fixture.silence(FIRST);
    fixture.advance(2_000);

    fixture.freeze(millis);
    fixture.advance(unreachable + 2_900);

    assertTrue(fixture.events(MemberSuspected.class).isEmpty());
    fixture.advance(7_300);
    assertEquals(1, fixture.events(MemberLeft.class).size(), "the one that is silent is evicted");
  }

  @Test
  void shouldNotEvictAServerForAProposalThatItCouldNotAnswer() {
    fixture.join(Role.WORKER);

    fixture.freeze(30_000);
    fixture.advance(1_000);

    assertTrue(fixture.events(MemberLeft.class).isEmpty(), "it had no time to answer");
  }

  @Test
  void shouldContinueWaitingForAShardThatWasLostBeforeTheStop() {
    fixture.silence(FIRST);
    fixture.advance(10_100);

    fixture.freeze(120_000);
    fixture.advance(1_000);

    assertTrue(fixture.all(Complete.class).isEmpty(), "nobody could come in that time");
  }

  @Test
  void shouldNotCountSilenceWhileAnEventLoopOfItsProcessIsBlocked() {
    fixture.silence(FIRST);
    fixture.advance(1_000);
    fixture.setEventLoopsRun(false);

    fixture.advance(50_000);
    fixture.setEventLoopsRun(true);
    fixture.advance(1_900);
    assertTrue(fixture.events(MemberSuspected.class).isEmpty(), "its heartbeats may lie unread");
    fixture.advance(7_300);

    MemberLeft left = fixture.events(MemberLeft.class).get(0);
    assertTrue(
        left.reason()
            .matches(
                "silent for 10000 ms; (49900|50000) ms more do not count, in which event loops of"
                    + " the coordinator's process did not run"),
        left.reason());
  }

  @Test
  void shouldNotMissTheAnswerToAProposalWhileAnEventLoopIsBlocked() {
    fixture.join(Role.WORKER);
    fixture.setEventLoopsRun(false);

    fixture.advance(50_000);

    assertTrue(fixture.events(MemberLeft.class).isEmpty(), "its answer may lie unread");
  }

  @Test
  void shouldEvictAMemberWhoseEventLoopHangs() {
    fixture.silence(FIRST);
    fixture.setEventLoopsRun(false);

    fixture.advance(60_000);
    assertTrue(fixture.events(MemberLeft.class).isEmpty());
    fixture.advance(10_200);

    assertEquals(1, fixture.events(MemberLeft.class).size());
  }

  /** A stopped process is found on a busy machine, too, where event loops run late. */
  @Test
  void shouldCountTimeWhenEventLoopsRunOnABusyMachine() {
    fixture.silence(FIRST);

    for (int i = 0; i < 101; i++) {
      fixture.setEventLoopsRun(i % 2 == 0);
      fixture.advance(200);
    }

    assertEquals(1, fixture.events(MemberLeft.class).size());
  }

  @ParameterizedTest
  @CsvSource({"13000, 0", "30000, 1", "60000, 1"})
  void shouldReportAProcessOnceWhenItsEvictedMembersStaySilent(long millis, int reported) {
    fixture.silence(FIRST);
    fixture.silence(SECOND);
    fixture.silence(new Admission(Role.WORKER, 0, 0));
    fixture.silence(new Admission(Role.WORKER, 1, 0));

    fixture.advance(millis);

    assertEquals(reported, fixture.all(Hung.class).size());
  }

  @Test
  void shouldReportNoProcessThatReportsAfterItsEviction() {
    List.of(FIRST, SECOND, new Admission(Role.WORKER, 0, 0), new Admission(Role.WORKER, 1, 0))
        .forEach(fixture::silence);
    fixture.advance(12_000);

    fixture.resume(FIRST);
    fixture.advance(30_000);

    assertTrue(fixture.all(Hung.class).isEmpty());
  }

  @Test
  void shouldReturnShardsToTheirServersInAnyOrder() {
    fixture.silence(FIRST);
    fixture.silence(SECOND);
    fixture.advance(13_000);

    assertEquals(new Admission(Role.SERVER, 1, 1), fixture.joinAgain(SECOND));
    assertEquals(new Admission(Role.SERVER, 0, 1), fixture.joinAgain(FIRST));
  }
}
