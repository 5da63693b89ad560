package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ExpulsionTest {

  private final Expulsion expulsion = new Expulsion(3, 1);

  @Test
  void shouldExpelAWorkerWhenItsUpdatesPointTheOtherWayForEnoughRounds() {
    rounds(2, Set.of(4), Set.of());
    assertEquals(List.of(), expulsion.expelled());

    rounds(1, Set.of(4), Set.of());

    assertEquals(List.of(4), expulsion.expelled());
    assertTrue(expulsion.isExpelled(4));
    rounds(5, Set.of(), Set.of());
    assertTrue(expulsion.isExpelled(4), "for the rest of the run");
  }

  @Test
  void shouldExpelAWorkerWhenItIsLeftOutForEnoughRounds() {
    rounds(3, Set.of(), Set.of(2));

    assertEquals(List.of(2), expulsion.expelled());
  }

  @Test
  void shouldCountFromOneWhenAnUpdateFitsInBetween() {
    rounds(2, Set.of(4), Set.of());
    rounds(1, Set.of(), Set.of());
    rounds(2, Set.of(4), Set.of());

    assertEquals(List.of(), expulsion.expelled());
  }

  /** Krum accepts the update of one worker. */
  @Test
  void shouldExpelNobodyWhenHalfOfTheUpdatesDoNotFit() {
    rounds(9, Set.of(), Set.of(1, 2, 3, 4));

    assertEquals(List.of(), expulsion.expelled());
  }

  @Test
  void shouldExpelNoMoreWorkersThanTheReductionMustWithstandWhenMoreDoNotFit() {
    rounds(1, Set.of(3), Set.of());
    rounds(9, Set.of(1, 3), Set.of());

    assertEquals(List.of(3), expulsion.expelled(), "the first one");
  }

  @Test
  void shouldExpelNobodyWhenItIsOff() {
    Expulsion off = new Expulsion(0, 1);
    for (int i = 0; i < 9; i++) {
      off.judge(facts(Set.of(4), Set.of()));
    }

    assertFalse(off.isExpelled(4));
  }

  @Test
  void shouldNotCountARoundWhenItHasNoUpdateOfTheWorker() {
    rounds(2, Set.of(4), Set.of());
    expulsion.judge(facts(Set.of(), Set.of()).subList(0, 4));
    assertEquals(List.of(), expulsion.expelled());

    rounds(1, Set.of(4), Set.of());

    assertEquals(List.of(4), expulsion.expelled());
  }

  private void rounds(int count, Set<Integer> opposite, Set<Integer> leftOut) {
    for (int i = 0; i < count; i++) {
      expulsion.judge(facts(opposite, leftOut));
    }
  }

  private static List<RoundFacts.Update> facts(Set<Integer> opposite, Set<Integer> leftOut) {
    List<RoundFacts.Update> workers = new ArrayList<>();
    for (int rank = 0; rank < 5; rank++) {
      double cosine = opposite.contains(rank) ? -0.3 : 0.6;
      workers.add(new RoundFacts.Update(rank, 1, 1, cosine, leftOut.contains(rank) ? 0.4 : 1));
    }
    return workers;
  }
}
