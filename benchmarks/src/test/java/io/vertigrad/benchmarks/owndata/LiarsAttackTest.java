package io.vertigrad.benchmarks.owndata;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.benchmarks.owndata.LiarsCase.Lie;
import org.junit.jupiter.api.Test;

class LiarsAttackTest {

  private static final float TOLERANCE = 1e-6f;
  private static final int HONEST = 3;

  /** Three honest workers and a liar's own update. */
  private static final float[][] OWN = {{1, 0}, {2, 1}, {6, 2}, {4, -8}};

  @Test
  void shouldSendTheOppositeOfItsOwnUpdateWhenBitsFlip() {
    assertArrayEquals(new float[] {-4, 8}, lied(Lie.BIT_FLIP), TOLERANCE);
    assertTrue(new LiarsAttack(Lie.BIT_FLIP, HONEST).needsOwn());
  }

  @Test
  void shouldSendItsOwnUpdateWhenOnlyLabelsFlip() {
    assertArrayEquals(OWN[3], lied(Lie.LABEL_FLIP), TOLERANCE);
    assertEquals(9, LiarsAttack.flippedLabels(10).applyAsInt(0));
    assertEquals(4, LiarsAttack.flippedLabels(10).applyAsInt(5));
  }

  @Test
  void shouldSendATenthOfTheOppositeMeanWhenItManipulatesTheInnerProduct() {
    assertArrayEquals(new float[] {-0.3f, -0.1f}, lied(Lie.INNER_PRODUCT), TOLERANCE);
    assertFalse(new LiarsAttack(Lie.INNER_PRODUCT, HONEST).needsOwn());
  }

  @Test
  void shouldMoveTheMeanByAQuarterOfTheDeviationWhenALittleIsEnough() {
    float first = (float) (3 - 0.2533 * Math.sqrt((4 + 1 + 9) / 2.0));
    float second = (float) (1 - 0.2533 * 1);

    assertArrayEquals(new float[] {first, second}, lied(Lie.A_LITTLE), TOLERANCE);
  }

  @Test
  void shouldRepeatTheSameHonestWorkerWhenItMimics() {
    LiarsAttack attack = new LiarsAttack(Lie.MIMIC, HONEST);
    float[] first = attack.updates(OWN, 0)[HONEST];
    float[][] later = {{-5, 1}, {7, 7}, {0, 3}, {9, 9}};

    int mimicked = first == OWN[0] ? 0 : first == OWN[1] ? 1 : 2;
    assertEquals(OWN[mimicked], first);
    assertEquals(later[mimicked], attack.updates(later, 1)[HONEST]);
  }

  @Test
  void shouldLeaveHonestUpdatesAsTheyAreWhenOthersLie() {
    for (Lie lie : Lie.values()) {
      float[][] sent = new LiarsAttack(lie, HONEST).updates(OWN, 0);
      for (int rank = 0; rank < HONEST; rank++) {
        assertEquals(OWN[rank], sent[rank]);
      }
    }
  }

  private static float[] lied(Lie lie) {
    return new LiarsAttack(lie, HONEST).updates(OWN, 0)[HONEST];
  }
}
