package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class VersionChoiceTest {

  private static final long RUN = 77;
  private static final long NEW_RUN = 1_000;
  private static final Choice KEPT = new Choice(Optional.empty(), OptionalLong.of(RUN));
  private static final Membership TWO = VersionChoiceFixture.membership(1, 0, 2);

  private final AtomicLong nextRun = new AtomicLong(NEW_RUN);
  private final VersionChoice choice = new VersionChoice(nextRun::getAndIncrement);

  /** Rank 1 is new and has no file; rank 2 holds its states, rank 0 those of rank 2. */
  @Test
  void shouldCountTheStatesThatTheNextRankHolds() {
    Candidates newcomer = candidates(Optional.empty(), List.of(RunVersion.BEGINNING), false, true);
    Candidates first =
        candidates(Optional.of(at(7)), List.of(RunVersion.BEGINNING, at(4), at(6)), false, true);
    Candidates last = withCopies(first, List.of(at(4), at(2)));

    assertEquals(from(at(4), RUN), choose(Rule.COMMON_STATE, List.of(first, newcomer, last)));
  }

  private static Candidates withCopies(Candidates own, List<RunVersion> copies) {
    return new Candidates(
        own.from(),
        own.epoch(),
        own.rule(),
        own.inMemory(),
        own.restorable(),
        copies,
        own.beyondRanks(),
        own.repeatable());
  }

  @Test
  void shouldStartANewTrainingWhenNobodyHasTrained() {
    Choice chosen = choose(List.of(RunVersion.BEGINNING), List.of(RunVersion.BEGINNING));

    assertEquals(from(RunVersion.BEGINNING, NEW_RUN), chosen);
  }

  @Test
  void shouldContinueFromTheNewestCommonVersionWhenOneMemberIsNew() {
    Choice chosen =
        choose(
            List.of(at(57), at(50), at(25)),
            List.of(RunVersion.BEGINNING, at(25), at(50), at(75)),
            List.of(at(56), at(25), at(50)));

    assertEquals(from(at(50), RUN), chosen);
  }

  @Test
  void shouldContinueFromMemoryWhenNobodyWasLost() {
    Choice chosen = choose(List.of(at(57), at(50)), List.of(at(57), at(50)));

    assertEquals(from(at(57), RUN), chosen);
  }

  @Test
  void shouldNotMixTrainingsWhenAnEarlierOneLeftTheSameStep() {
    Choice chosen =
        choose(
            List.of(at(57), at(50), at(25)),
            List.of(RunVersion.BEGINNING, new RunVersion(50, 5), at(25)));

    assertEquals(from(at(25), RUN), chosen);
  }

  @Test
  void shouldChooseNothingWhenNothingIsCommon() {
    assertEquals(Choice.NONE, choose(List.of(at(57)), List.of(RunVersion.BEGINNING)));
  }

  @Test
  void shouldStartOverWhenOneMemberHasNoStateAndNoneWasKept() {
    List<Candidates> reported =
        List.of(remembers(57, RunVersion.BEGINNING), isNew(RunVersion.BEGINNING));

    assertEquals(from(RunVersion.BEGINNING, NEW_RUN), choose(Rule.COMMON_STATE, reported));
  }

  @Test
  void shouldContinueFromAnyReplicaWhenReplicasAreEqual() {
    List<Candidates> reported =
        List.of(
            isNew(RunVersion.BEGINNING),
            remembers(57, at(50)),
            remembers(56, RunVersion.BEGINNING));

    assertEquals(KEPT, choose(Rule.ANY_MEMORY, reported));
  }

  @Test
  void shouldRestoreTheNewestCommonCheckpointWhenNobodyHasState() {
    List<Candidates> reported =
        List.of(isNew(RunVersion.BEGINNING, at(50), at(75)), isNew(at(50), RunVersion.BEGINNING));

    assertEquals(from(at(50), RUN), choose(Rule.ANY_MEMORY, reported));
  }

  /** Training with an extra worker cannot be repeated, so it is no reason to go back. */
  @Test
  void shouldKeepTheCommonVersionWhenAnExtraWorkerJoins() {
    Candidates extra = candidates(Optional.empty(), List.of(), true, true);

    assertEquals(
        KEPT,
        choose(Rule.COMMON_STATE, List.of(remembers(57, at(50)), remembers(56, at(50)), extra)));
  }

  @Test
  void shouldRollBackWhenARankWasLostWhileOthersJoined() {
    Candidates inexact = candidates(Optional.of(at(57)), List.of(at(50)), false, false);

    assertEquals(from(at(50), NEW_RUN), choose(Rule.COMMON_STATE, List.of(inexact, isNew(at(50)))));
  }

  @Test
  void shouldChooseNothingBeforeTheLastReport() {
    assertEquals(List.of(0, 1), choice.missing(TWO));
    assertEquals(Optional.empty(), report(TWO, 1, remembers(57)));
    assertEquals(List.of(0), choice.missing(TWO));
    assertEquals(Optional.of(from(at(57), RUN)), report(TWO, 0, remembers(57)));
  }

  @Test
  void shouldGiveTheSameChoiceWhenAReportIsRepeated() {
    report(TWO, 0, isNew(RunVersion.BEGINNING));
    report(TWO, 0, isNew(RunVersion.BEGINNING));
    Optional<Choice> first = report(TWO, 1, isNew(RunVersion.BEGINNING));

    assertEquals(Optional.of(from(RunVersion.BEGINNING, NEW_RUN)), first);
    assertEquals(first, report(TWO, 0, isNew(RunVersion.BEGINNING)));
    assertEquals(first, report(TWO, 1, isNew(RunVersion.BEGINNING)));
  }

  @Test
  void shouldWaitForAllReportsAgainWhenTheMembershipChanges() {
    report(TWO, 0, remembers(57));
    Membership next = VersionChoiceFixture.membership(2, 0, 2);

    assertEquals(List.of(0, 1), choice.missing(next));
    assertEquals(Optional.empty(), report(next, 1, remembers(57)));
    assertEquals(List.of(0), choice.missing(next));
  }

  private static Candidates remembers(long version, RunVersion... kept) {
    return candidates(Optional.of(at(version)), List.of(kept), false, true);
  }

  private static Candidates isNew(RunVersion... kept) {
    return candidates(Optional.empty(), List.of(kept), false, true);
  }

  private static RunVersion at(long version) {
    return new RunVersion(version, RUN);
  }

  private static Choice from(RunVersion state, long run) {
    return new Choice(Optional.of(state), OptionalLong.of(run));
  }

  /** Each member holds the first state of its list in memory. */
  @SafeVarargs
  private Choice choose(List<RunVersion>... states) {
    List<Candidates> all = new ArrayList<>();
    for (List<RunVersion> own : states) {
      all.add(candidates(Optional.of(own.get(0)), own.subList(1, own.size()), false, true));
    }
    return choose(Rule.COMMON_STATE, all);
  }

  /** Reports the candidates in the order of ranks, with this rule. */
  private Choice choose(Rule rule, List<Candidates> all) {
    Membership membership = VersionChoiceFixture.membership(1, 0, all.size());
    Optional<Choice> chosen = Optional.empty();
    for (int rank = 0; rank < all.size(); rank++) {
      Candidates own = all.get(rank);
      assertEquals(Optional.empty(), chosen);
      chosen = report(membership, rank, rule, own);
    }
    return chosen.orElseThrow();
  }

  private Optional<Choice> report(Membership membership, int rank, Candidates own) {
    return report(membership, rank, own.rule(), own);
  }

  private Optional<Choice> report(Membership membership, int rank, Rule rule, Candidates own) {
    return choice.report(
        membership,
        new Candidates(
            new Admission(Role.WORKER, rank, 0),
            membership.epoch(),
            rule,
            own.inMemory(),
            own.restorable(),
            own.copies(),
            own.beyondRanks(),
            own.repeatable()));
  }

  /** Returns the candidates of rank 0, to be reported by any rank. */
  private static Candidates candidates(
      Optional<RunVersion> inMemory,
      List<RunVersion> restorable,
      boolean beyondRanks,
      boolean repeatable) {
    return new Candidates(
        new Admission(Role.WORKER, 0, 0),
        1,
        Rule.COMMON_STATE,
        inMemory,
        restorable,
        List.of(),
        beyondRanks,
        repeatable);
  }
}
