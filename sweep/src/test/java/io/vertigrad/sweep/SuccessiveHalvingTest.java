package io.vertigrad.sweep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.sweep.SuccessiveHalving.Promotion;
import io.vertigrad.sweep.TrialResult.Order;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SuccessiveHalvingTest {

  private static final Optional<Promotion> NOBODY = Optional.empty();

  private static TrialResult loss(double loss) {
    return new TrialResult(loss, Double.NaN, 1, 1, Optional.empty());
  }

  private static SuccessiveHalving rule(int rungs) {
    return new SuccessiveHalving(rungs, 3, TrialResult.bestFirst(Order.LOSS));
  }

  private static Optional<Promotion> promotion(int trial, int rung) {
    return Optional.of(new Promotion(trial, rung));
  }

  /** Nine trials, three rungs, factor 3, worked by hand after algorithm 2 of the paper. */
  @Test
  void shouldPromoteTheBestThirdWithoutWaitingWhenResultsArriveOneByOne() {
    SuccessiveHalving rule = rule(3);

    rule.report(1, 0, loss(0.9));
    rule.report(2, 0, loss(0.5));
    // Two results: a third of them is less than one trial.
    assertEquals(NOBODY, rule.promote());
    rule.report(3, 0, loss(0.7));
    assertEquals(promotion(2, 1), rule.promote());
    assertEquals(NOBODY, rule.promote());

    // A better one arrives: it is now the best of four, and is promoted although 2 was, too.
    rule.report(4, 0, loss(0.1));
    assertEquals(promotion(4, 1), rule.promote());
    rule.report(5, 0, loss(0.8));
    rule.report(6, 0, loss(0.6));
    // The best two of six, 4 and 2, have gone.
    assertEquals(NOBODY, rule.promote());
    rule.report(7, 0, loss(0.95));
    rule.report(8, 0, loss(0.96));
    rule.report(9, 0, loss(0.2));
    // The best three of nine are 4, 9 and 2.
    assertEquals(promotion(9, 1), rule.promote());
    assertEquals(NOBODY, rule.promote());

    rule.report(2, 1, loss(0.4));
    rule.report(4, 1, loss(0.3));
    assertEquals(NOBODY, rule.promote());
    rule.report(9, 1, loss(0.05));
    assertEquals(promotion(9, 2), rule.promote());
    rule.report(9, 2, loss(0.01));
    assertEquals(NOBODY, rule.promote());
  }

  @Test
  void shouldPromoteFromTheHighestRungWhenSeveralHaveSomebody() {
    SuccessiveHalving rule = rule(3);
    for (int trial = 1; trial <= 12; trial++) {
      rule.report(trial, 0, loss(trial));
    }
    for (int trial = 1; trial <= 3; trial++) {
      assertEquals(promotion(trial, 1), rule.promote());
      rule.report(trial, 1, loss(trial));
    }

    assertEquals(promotion(1, 2), rule.promote());
    assertEquals(promotion(4, 1), rule.promote());
    assertEquals(NOBODY, rule.promote());
  }

  @Test
  void shouldNotPromoteATrialThatFailedOrDivergedWhenAllOthersDidToo() {
    SuccessiveHalving rule = rule(2);

    rule.report(1, 0, TrialResult.failed("its process was killed"));
    rule.report(2, 0, loss(Double.NaN));
    rule.report(3, 0, TrialResult.failed("diverged"));
    assertEquals(NOBODY, rule.promote());
    rule.report(4, 0, loss(7));
    assertEquals(promotion(4, 1), rule.promote());
  }

  @Test
  void shouldPreferTheLowerLossWhenAccuraciesAreEqual() {
    SuccessiveHalving rule = new SuccessiveHalving(2, 3, TrialResult.bestFirst(Order.ACCURACY));

    rule.report(1, 0, new TrialResult(0.3, 90, 1, 1, Optional.empty()));
    rule.report(2, 0, new TrialResult(0.2, 90, 1, 1, Optional.empty()));
    rule.report(3, 0, new TrialResult(0.1, 80, 1, 1, Optional.empty()));

    assertEquals(promotion(2, 1), rule.promote());
  }

  /**
   * Trains 27 trials of known quality, several at a time, which end in any order. Whatever the
   * order, the best third of each rung has left it at the end, and so the best trial is trained to
   * its end.
   */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 9, 27})
  void shouldTrainTheBestTrialToItsEndWhenTrialsEndInAnyOrder(int parallel) {
    for (int seed = 0; seed < 50; seed++) {
      Random random = new Random(seed);
      List<Integer> quality = new ArrayList<>();
      for (int i = 0; i < 27; i++) {
        quality.add(i);
      }
      Collections.shuffle(quality, random);
      SuccessiveHalving rule = rule(4);
      int[] at = new int[4];
      List<Promotion> running = new ArrayList<>();
      int begun = 0;
      boolean bestEnded = false;
      while (true) {
        while (running.size() < parallel) {
          Optional<Promotion> next = rule.promote();
          if (next.isEmpty() && begun < 27) {
            next = promotion(begun++, 0);
          }
          if (next.isEmpty()) {
            break;
          }
          running.add(next.get());
        }
        if (running.isEmpty()) {
          break;
        }
        Promotion ended = running.remove(random.nextInt(running.size()));
        rule.report(ended.trial(), ended.rung(), loss(quality.get(ended.trial())));
        at[ended.rung()]++;
        bestEnded |= ended.rung() == 3 && quality.get(ended.trial()) == 0;
      }

      String counts = "seed %s: %s %s %s %s".formatted(seed, at[0], at[1], at[2], at[3]);
      assertEquals(27, at[0], counts);
      for (int rung = 1; rung < 4; rung++) {
        assertTrue(at[rung] >= at[rung - 1] / 3 && at[rung] < at[rung - 1], counts);
      }
      assertTrue(bestEnded, counts);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "27, 600, 10, 4", "27, 600, 100, 2", "26, 600, 10, 3", "9, 600, 10, 3", "8, 600, 10, 2",
    "3, 30, 10, 2", "3, 29, 10, 1", "2, 600, 1, 1", "1, 600, 1, 1", "100, 100, 1, 5"
  })
  void shouldHaveAsManyRungsAsTrialsAndStepsAllow(int trials, long most, long least, int rungs) {
    assertEquals(rungs, SuccessiveHalving.rungs(trials, most, least, 3));
  }
}
