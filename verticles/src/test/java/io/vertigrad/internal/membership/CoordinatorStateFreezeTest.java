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

  private final CoordinatorStateFixture stage =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);

  @ParameterizedTest
  @CsvSource({"2500, 0", "13000, 20000", "30000, 20000", "60000, 20000"})
  void shouldSuspectNobodyBeforeAFreshIntervalWhenItWasStoppedItself(
      long millis, long unreachable) {
    stage.pass(2_000);
    stage.silence(FIRST);
    stage.pass(2_000);

    stage.freeze(millis);
    stage.pass(unreachable + 2_900);

    assertTrue(stage.events(MemberSuspected.class).isEmpty());
    stage.pass(7_300);
    assertEquals(1, stage.events(MemberLeft.class).size(), "the one that is silent is evicted");
  }

  @Test
  void shouldNotEvictAServerForAProposalThatItCouldNotAnswerMeanwhile() {
    stage.join(Role.WORKER);

    stage.freeze(30_000);
    stage.pass(1_000);

    assertTrue(stage.events(MemberLeft.class).isEmpty(), "it had no time to answer");
  }

  @Test
  void shouldGoOnWaitingForAShardThatWasLostBeforeItWasStopped() {
    stage.silence(FIRST);
    stage.pass(10_100);

    stage.freeze(120_000);
    stage.pass(1_000);

    assertTrue(stage.all(Complete.class).isEmpty(), "nobody could come in that time");
  }

  @ParameterizedTest
  @CsvSource({"13000, 0", "30000, 1", "60000, 1"})
  void shouldReportAProcessOnceWhenItsEvictedMembersStaySilent(long millis, int reported) {
    stage.silence(FIRST);
    stage.silence(SECOND);
    stage.silence(new Admission(Role.WORKER, 0, 0));
    stage.silence(new Admission(Role.WORKER, 1, 0));

    stage.pass(millis);

    assertEquals(reported, stage.all(Hung.class).size());
  }

  @Test
  void shouldReportNobodyWhoSpokeAgainAfterItsEviction() {
    List.of(FIRST, SECOND, new Admission(Role.WORKER, 0, 0), new Admission(Role.WORKER, 1, 0))
        .forEach(stage::silence);
    stage.pass(12_000);

    stage.wake(FIRST);
    stage.pass(30_000);

    assertTrue(stage.all(Hung.class).isEmpty());
  }

  @Test
  void shouldGiveServersTheirShardsBackInWhateverOrderTheyComeBack() {
    stage.silence(FIRST);
    stage.silence(SECOND);
    stage.pass(13_000);

    assertEquals(new Admission(Role.SERVER, 1, 1), stage.joinAgain(SECOND));
    assertEquals(new Admission(Role.SERVER, 0, 1), stage.joinAgain(FIRST));
  }
}
