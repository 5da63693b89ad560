package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.testkit.QuadraticEngine;
import org.junit.jupiter.api.Test;

class ReplicaBoundTest {

  @Test
  void shouldSkipAGradientWhenOneElementIsBeyondTheBound() {
    Replica replica = new Replica(new float[] {1, 2}, 2, 100, 10);
    Optimizer optimizer = Optimizer.of(new QuadraticEngine(), OptimizerConfig.sgd(0.5), 2);

    for (float beyond : new float[] {10.5f, -10.5f, Float.NaN, Float.NEGATIVE_INFINITY}) {
      assertFalse(replica.step(optimizer, new float[] {1, beyond}, 4));
      assertArrayEquals(new float[] {1, 2}, replica.parameters());
      assertEquals(0, replica.samples());
    }
    assertTrue(replica.step(optimizer, new float[] {-10, 10}, 4));
    assertArrayEquals(new float[] {6, -3}, replica.parameters());
  }
}
