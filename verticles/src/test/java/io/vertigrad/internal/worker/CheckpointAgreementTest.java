package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.worker.CheckpointAgreement.Agreed;
import io.vertigrad.internal.worker.CheckpointAgreement.Rule;
import io.vertigrad.internal.worker.CheckpointAgreement.Statement;
import io.vertigrad.internal.worker.ReplicaCheckpoints.RunVersion;
import io.vertigrad.strategy.PeerGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CheckpointAgreementTest {

  private static final long RUN = 77;

  @Test
  void shouldStartANewTrainingWhenNobodyHasTrained() {
    List<Optional<Agreed>> agreed =
        hold(List.of(RunVersion.BEGINNING), List.of(RunVersion.BEGINNING));

    assertAll(Optional.of(new Agreed(Optional.of(RunVersion.BEGINNING), 1_000)), agreed);
  }

  @Test
  void shouldContinueFromTheNewestCommonVersionWhenOneMemberIsNew() {
    List<Optional<Agreed>> agreed =
        hold(
            List.of(at(57), at(50), at(25)),
            List.of(RunVersion.BEGINNING, at(25), at(50), at(75)),
            List.of(at(56), at(25), at(50)));

    assertAll(Optional.of(new Agreed(Optional.of(at(50)), RUN)), agreed);
  }

  @Test
  void shouldContinueFromMemoryWhenNobodyWasLost() {
    List<Optional<Agreed>> agreed = hold(List.of(at(57), at(50)), List.of(at(57), at(50)));

    assertAll(Optional.of(new Agreed(Optional.of(at(57)), RUN)), agreed);
  }

  @Test
  void shouldNotMixTrainingsWhenAnEarlierOneLeftTheSameStep() {
    List<Optional<Agreed>> agreed =
        hold(
            List.of(at(57), at(50), at(25)),
            List.of(RunVersion.BEGINNING, new RunVersion(50, 5), at(25)));

    assertAll(Optional.of(new Agreed(Optional.of(at(25)), RUN)), agreed);
  }

  @Test
  void shouldAgreeOnNothingWhenNothingIsCommon() {
    assertAll(Optional.empty(), hold(List.of(at(57)), List.of(RunVersion.BEGINNING)));
  }

  @Test
  void shouldStartOverWhenOneMemberHasNoStateAndNoneWasKept() {
    List<Statement> said =
        List.of(remembers(57, RunVersion.BEGINNING), isNew(RunVersion.BEGINNING));

    assertAll(
        Optional.of(new Agreed(Optional.of(RunVersion.BEGINNING), 1_000)),
        hold(Rule.COMMON_STATE, said));
  }

  @Test
  void shouldContinueFromAnyReplicaWhenReplicasAreEqual() {
    List<Statement> said =
        List.of(
            isNew(RunVersion.BEGINNING),
            remembers(57, at(50)),
            remembers(56, RunVersion.BEGINNING));

    assertAll(Optional.of(new Agreed(Optional.empty(), RUN)), hold(Rule.ANY_MEMORY, said));
  }

  @Test
  void shouldRestoreTheNewestCommonCheckpointWhenNobodyHasState() {
    List<Statement> said =
        List.of(isNew(RunVersion.BEGINNING, at(50), at(75)), isNew(at(50), RunVersion.BEGINNING));

    assertAll(Optional.of(new Agreed(Optional.of(at(50)), RUN)), hold(Rule.ANY_MEMORY, said));
  }

  /** Training with an extra worker cannot be repeated, so it is no reason to go back. */
  @Test
  void shouldKeepTheCommonVersionWhenAnExtraWorkerJoins() {
    Statement extra = new Statement(Optional.empty(), List.of(), true, true);

    assertAll(
        Optional.of(new Agreed(Optional.empty(), RUN)),
        hold(Rule.COMMON_STATE, List.of(remembers(57, at(50)), remembers(56, at(50)), extra)));
  }

  @Test
  void shouldRollBackWhenARankWasLostWhileOthersJoined() {
    Statement inexact = new Statement(Optional.of(at(57)), List.of(at(50)), false, false);

    assertAll(
        Optional.of(new Agreed(Optional.of(at(50)), 1_000)),
        hold(Rule.COMMON_STATE, List.of(inexact, isNew(at(50)))));
  }

  private static Statement remembers(long version, RunVersion... kept) {
    return new Statement(Optional.of(at(version)), List.of(kept), false, true);
  }

  private static Statement isNew(RunVersion... kept) {
    return new Statement(Optional.empty(), List.of(kept), false, true);
  }

  private static RunVersion at(long version) {
    return new RunVersion(version, RUN);
  }

  private static void assertAll(Optional<Agreed> expected, List<Optional<Agreed>> agreed) {
    agreed.forEach(one -> assertEquals(expected, one));
  }

  /** Runs the agreement; each member holds the first state of its list in memory. */
  @SafeVarargs
  private static List<Optional<Agreed>> hold(List<RunVersion>... points) {
    List<Statement> said = new ArrayList<>();
    for (List<RunVersion> all : points) {
      said.add(new Statement(Optional.of(all.get(0)), all.subList(1, all.size()), false, true));
    }
    return hold(Rule.COMMON_STATE, said);
  }

  private static List<Optional<Agreed>> hold(Rule rule, List<Statement> said) {
    InMemoryPeers peers = new InMemoryPeers();
    List<Integer> ranks = IntStream.range(0, said.size()).boxed().toList();
    List<CompletableFuture<Optional<Agreed>>> calls =
        ranks.stream()
            .map(
                rank -> {
                  PeerGroup group = new PeerGroup(1, ranks, rank);
                  return CompletableFuture.supplyAsync(
                      () ->
                          CheckpointAgreement.hold(
                              peers.of(group), group, said.get(rank), rule, 1_000 + rank),
                      work -> new Thread(work).start());
                })
            .toList();
    return calls.stream().map(call -> call.orTimeout(10, TimeUnit.SECONDS).join()).toList();
  }
}
