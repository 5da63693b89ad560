package io.vertigrad.testkit.attack;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.testkit.attack.Attack.BitFlip;
import io.vertigrad.testkit.attack.Attack.GaussianNoise;
import io.vertigrad.testkit.attack.Attack.InnerProduct;
import io.vertigrad.testkit.attack.Attack.LittleIsEnough;
import io.vertigrad.testkit.attack.Attack.Mimic;
import io.vertigrad.testkit.attack.Attack.NotANumber;
import io.vertigrad.testkit.attack.Attack.SignFlip;
import io.vertigrad.testkit.attack.Attack.StaleReplay;
import java.util.List;
import org.junit.jupiter.api.Test;

class AttackTest {

  private static final float[] OWN = {1, -2, 0.5f};
  private static final List<float[]> HONEST =
      List.of(new float[] {1, 0, 4}, new float[] {3, 0, -2}, new float[] {5, 3, 1});

  @Test
  void shouldNegateWhenSignIsFlipped() {
    assertArrayEquals(new float[] {-1, 2, -0.5f}, new SignFlip(1).update(OWN, HONEST, 0));
    assertArrayEquals(new float[] {-10, 20, -5}, new SignFlip(10).update(OWN, HONEST, 0));
    assertArrayEquals(new float[] {1, -2, 0.5f}, OWN);
  }

  @Test
  void shouldFlipBitOfEverySecondElementWhenMemoryIsBroken() {
    assertArrayEquals(new float[] {-1, -2, -0.5f}, new BitFlip(31, 2).update(OWN, HONEST, 0));
    // Bit 23 is the lowest of the exponent: 1 has the exponent 127, and 0.5 has 126.
    assertArrayEquals(new float[] {0.5f, -2, 1}, new BitFlip(23, 2).update(OWN, HONEST, 0));
    assertArrayEquals(
        new float[] {Float.POSITIVE_INFINITY, -2, 0.5f}, new BitFlip(30, 3).update(OWN, HONEST, 0));
  }

  @Test
  void shouldRepeatNoiseOfRoundWhenSeedIsEqual() {
    float[] noise = new GaussianNoise(200, 5).update(new float[100_000], HONEST, 3);

    double squares = 0;
    for (float element : noise) {
      squares += (double) element * element;
    }
    // The standard error is 0.45.
    assertEquals(200, Math.sqrt(squares / noise.length), 2);
    assertArrayEquals(noise, new GaussianNoise(200, 5).update(new float[100_000], HONEST, 3));
    assertTrue(noise[0] != new GaussianNoise(200, 5).update(OWN, HONEST, 4)[0]);
  }

  @Test
  void shouldSendNegatedMeanWhenInnerProductIsManipulated() {
    assertArrayEquals(
        new float[] {-1.5f, -0.5f, -0.5f}, new InnerProduct(0.5).update(OWN, HONEST, 0), 1e-6f);
  }

  @Test
  void shouldLeaveMeanByDeviationsWhenLittleIsEnough() {
    float[] sent = new LittleIsEnough(1.5).update(OWN, HONEST, 0);

    assertEquals(3 - 1.5 * Math.sqrt(8.0 / 3), sent[0], 1e-6);
    assertEquals(1 - 1.5 * Math.sqrt(2), sent[1], 1e-6);
    assertEquals(1 - 1.5 * Math.sqrt(6), sent[2], 1e-6);
  }

  /** The paper's example has 50 workers and 24 attackers: 24 of 26, which is at 1.43. */
  @Test
  void shouldReachPublishedDeviationsWhenWorkersAreCounted() {
    assertEquals(1.4261, LittleIsEnough.of(50, 24).z(), 1e-4);
    assertEquals(0.253347, LittleIsEnough.of(25, 5).z(), 1e-6);
    assertEquals(0, LittleIsEnough.of(25, 1).z());
  }

  @Test
  void shouldSendNanWhenWorkerIsBroken() {
    for (float element : new NotANumber().update(OWN, HONEST, 0)) {
      assertTrue(Float.isNaN(element));
    }
  }

  @Test
  void shouldSendEarlierUpdateWhenItIsReplayed() {
    StaleReplay attack = new StaleReplay(2);

    assertArrayEquals(new float[1], attack.update(new float[] {1}, HONEST, 0));
    assertArrayEquals(new float[1], attack.update(new float[] {2}, HONEST, 1));
    assertArrayEquals(new float[] {1}, attack.update(new float[] {3}, HONEST, 2));
    assertArrayEquals(new float[] {2}, attack.update(new float[] {4}, HONEST, 3));
  }

  @Test
  void shouldChooseWorkerFarthestAlongSpreadWhenItLearns() {
    // All differ in the second coordinate alone, and the second worker is farthest from 0 there.
    List<float[]> honest =
        List.of(
            new float[] {9, 1, 9},
            new float[] {9, -20, 9},
            new float[] {9, 0, 9},
            new float[] {9, 2, 9});
    Mimic attack = new Mimic(20);
    for (int round = 0; round < 20; round++) {
      attack.update(OWN, honest, round);
    }

    assertArrayEquals(new float[] {9, -20, 9}, attack.update(OWN, honest, 20));
    List<float[]> changed = List.of(OWN, new float[] {7, 7, 7}, OWN, OWN);
    assertArrayEquals(new float[] {7, 7, 7}, attack.update(OWN, changed, 21));
  }

  @Test
  void shouldMimicFirstWorkerWhenItDoesNotLearn() {
    assertArrayEquals(HONEST.get(0), new Mimic(0).update(OWN, HONEST, 0));
  }

  @Test
  void shouldRefuseArgumentsWhenTheyHaveNoMeaning() {
    assertThrows(IllegalArgumentException.class, () -> new SignFlip(0));
    assertThrows(IllegalArgumentException.class, () -> new BitFlip(32, 1));
    assertThrows(IllegalArgumentException.class, () -> new GaussianNoise(-1, 0));
    assertThrows(IllegalArgumentException.class, () -> new LittleIsEnough(Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> LittleIsEnough.of(10, 5));
    assertThrows(IllegalArgumentException.class, () -> new StaleReplay(0));
    assertThrows(
        IllegalArgumentException.class, () -> new InnerProduct(1).update(OWN, List.of(), 0));
  }
}
