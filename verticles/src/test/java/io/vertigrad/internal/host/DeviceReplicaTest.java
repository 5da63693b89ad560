package io.vertigrad.internal.host;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.testkit.DeviceModel;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertigrad.testkit.QuadraticModel;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DeviceReplicaTest {

  private final DeviceModel model =
      new DeviceModel(new QuadraticModel(2, 1), Optional.of(PlainRules::create));
  private final DeviceReplica replica = new DeviceReplica(model, 100, 10);
  private final Optimizer optimizer =
      replica.optimizer(new QuadraticEngine(), OptimizerConfig.sgd(0.5));

  @Test
  void shouldCopyParametersWhenTheyAreAskedForAndBackBeforeTheNextStep() {
    step(4);
    step(4);
    assertEquals(0, model.transfers());

    assertArrayEquals(new float[] {3, 3, -2}, replica.parameters());
    replica.parameters()[0] = 8;
    assertEquals(1, model.parametersDown);
    step(4);

    assertArrayEquals(new float[] {6, 3.5f, -3}, replica.parameters());
    assertEquals(1, model.parametersUp);
    assertEquals(2, model.parametersDown);
  }

  @Test
  void shouldHandOverParametersThatAreNewerInJavaBeforeTheNextGradient() {
    replica.setParameters(new float[] {1, 2, 3});

    assertEquals(Optional.empty(), replica.beginGradient(false));

    float[] there = new float[3];
    model.readParameters(0, FloatBuffer.wrap(there));
    assertArrayEquals(new float[] {1, 2, 3}, there);
  }

  @Test
  void shouldSkipAGradientOnTheDeviceWhenOneElementIsBeyondTheBound() {
    step(4);
    assertFalse(replica.step(optimizer, gradient(100), 4));

    assertEquals(2, replica.updates());
    assertEquals(4, replica.samples());
    assertArrayEquals(new float[] {2, 2, -1}, replica.parameters());
    assertEquals(0, model.gradientsDown);
  }

  @Test
  void shouldStepWithTheValuesThatAStrategyHasChanged() {
    LocalGradient gradient = gradient(4);
    gradient.values()[1] = 0;

    assertTrue(replica.step(optimizer, gradient, 4));

    assertArrayEquals(new float[] {2, 0, -1}, replica.parameters());
    assertEquals(1, model.gradientsUp);
  }

  @Test
  void shouldRefuseAStepOfAVectorInJavaWhenTheOptimizerIsOnTheDevice() {
    IllegalStateException refused =
        assertThrows(
            IllegalStateException.class, () -> optimizer.step(new float[3], new float[3], 0, 0));

    assertTrue(refused.getMessage().contains("call Replica.step"), refused.getMessage());
  }

  private void step(float target) {
    assertTrue(replica.step(optimizer, gradient(target), 4));
  }

  /** Computes the gradient {@code w - target} of one sample; that of the statistic is 1. */
  private LocalGradient gradient(float target) {
    assertEquals(Optional.empty(), replica.beginGradient(false));
    model.gradient(new Batch(new float[] {target, target}, new int[1], List.of(2), 0));
    return new LocalGradient(
        () -> {
          float[] values = new float[3];
          model.readGradient(0, FloatBuffer.wrap(values));
          return values;
        },
        4);
  }
}
