package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.pipeline.CheckpointAgreement.Agreed;
import io.vertigrad.strategy.PeerGroup;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CheckpointAgreementTest {

  private static final long RUN = 77;

  @Test
  void shouldBeginANewTrainingWhenNobodyHasTrained() {
    List<Optional<Agreed>> agreed =
        hold(List.of(StageState.BEGINNING), List.of(StageState.BEGINNING));

    assertAll(Optional.of(new Agreed(StageState.BEGINNING, 1_000)), agreed);
  }

  @Test
  void shouldGoOnFromTheNewestThatAllHaveWhenOneIsNew() {
    List<Optional<Agreed>> agreed =
        hold(
            List.of(at(57), at(50), at(25)),
            List.of(StageState.BEGINNING, at(25), at(50), at(75)),
            List.of(at(56), at(25), at(50)));

    assertAll(Optional.of(new Agreed(at(50), RUN)), agreed);
  }

  @Test
  void shouldGoOnFromMemoryWhenNobodyWasLost() {
    List<Optional<Agreed>> agreed = hold(List.of(at(57), at(50)), List.of(at(57), at(50)));

    assertAll(Optional.of(new Agreed(at(57), RUN)), agreed);
  }

  @Test
  void shouldNotMixTrainingsWhenAnEarlierOneLeftTheSameStep() {
    List<Optional<Agreed>> agreed =
        hold(
            List.of(at(57), at(50), at(25)),
            List.of(StageState.BEGINNING, new StageState(50, 5), at(25)));

    assertAll(Optional.of(new Agreed(at(25), RUN)), agreed);
  }

  @Test
  void shouldAgreeOnNothingWhenNothingIsCommon() {
    assertAll(Optional.empty(), hold(List.of(at(57)), List.of(StageState.BEGINNING)));
  }

  private static StageState at(long version) {
    return new StageState(version, RUN);
  }

  private static void assertAll(Optional<Agreed> expected, List<Optional<Agreed>> agreed) {
    agreed.forEach(one -> assertEquals(expected, one));
  }

  @SafeVarargs
  private static List<Optional<Agreed>> hold(List<StageState>... points) {
    Mailboxes mailboxes = new Mailboxes();
    List<Integer> ranks = IntStream.range(0, points.length).boxed().toList();
    List<CompletableFuture<Optional<Agreed>>> calls =
        ranks.stream()
            .map(
                rank -> {
                  PeerGroup group = new PeerGroup(1, ranks, rank);
                  return CompletableFuture.supplyAsync(
                      () ->
                          CheckpointAgreement.hold(
                              mailboxes.of(group), group, points[rank], 1_000 + rank),
                      work -> new Thread(work).start());
                })
            .toList();
    return calls.stream().map(call -> call.orTimeout(10, TimeUnit.SECONDS).join()).toList();
  }
}
