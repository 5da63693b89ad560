package io.vertigrad.compute.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class LearningRateScheduleTest {

  private static final double EXACT_ENOUGH = 1e-12;

  @Test
  void shouldStayOneWhenConstant() {
    assertEquals(1, LearningRateSchedule.constant().factor(1000, 99), 0);
  }

  @Test
  void shouldDropAtEveryMilestoneWhenStepping() {
    LearningRateSchedule schedule = new StepSchedule(List.of(80.0, 120.0), 0.1);

    assertEquals(1, schedule.factor(0, 79.999), EXACT_ENOUGH);
    assertEquals(0.1, schedule.factor(0, 80), EXACT_ENOUGH);
    assertEquals(0.01, schedule.factor(0, 120), EXACT_ENOUGH);
  }

  @Test
  void shouldDecayByGammaEachEpochWhenExponential() {
    LearningRateSchedule schedule = new ExponentialSchedule(0.9);

    assertEquals(Math.pow(0.9, 2.5), schedule.factor(0, 2.5), EXACT_ENOUGH);
  }

  @Test
  void shouldFallFromOneToTheLeastFactorWhenCosine() {
    LearningRateSchedule schedule = new CosineSchedule(10, 0.2);

    assertEquals(1, schedule.factor(0, 0), EXACT_ENOUGH);
    assertEquals(0.6, schedule.factor(0, 5), EXACT_ENOUGH);
    assertEquals(0.2, schedule.factor(0, 10), EXACT_ENOUGH);
    assertEquals(0.2, schedule.factor(0, 50), EXACT_ENOUGH);
  }

  @Test
  void shouldLastAsLongAsTheRunWhenCosineHasNoLength() {
    LearningRateSchedule schedule = new WarmUp(10, 0.5, new WholeRunCosine(0.2));

    assertTrue(schedule.needsRunLength());
    assertThrows(IllegalStateException.class, () -> schedule.factor(20, 5));
    assertEquals(new WarmUp(10, 0.5, new CosineSchedule(6.4, 0.2)), schedule.over(6.4));
    assertFalse(schedule.over(6.4).needsRunLength());
    assertEquals(new CosineSchedule(10, 0), new CosineSchedule(10, 0).over(6.4));
  }

  @Test
  void shouldMultiplyTheOtherScheduleWhenWarmingUp() {
    LearningRateSchedule schedule = new WarmUp(100, 0.2, new ExponentialSchedule(0.5));

    assertEquals(0.2, schedule.factor(0, 0), EXACT_ENOUGH);
    assertEquals(0.5 * 0.6, schedule.factor(50, 1), EXACT_ENOUGH);
    assertEquals(0.25, schedule.factor(100, 2), EXACT_ENOUGH);
  }

  @Test
  void shouldRefuseWhenMilestonesDoNotRise() {
    assertThrows(IllegalArgumentException.class, () -> new StepSchedule(List.of(120.0, 80.0), 0.1));
  }
}
