package io.vertigrad.benchmarks.goodput;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.testkit.QuadraticModel;
import java.lang.reflect.Proxy;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PacedEngineTest {

  private static final int MILLIS = 40;
  private static final Batch BATCH = new Batch(new float[] {1, 2}, new int[] {0}, List.of(2), 0);

  private final QuadraticModel quadratic = new QuadraticModel(2, 0);

  @Test
  void shouldComputeTheSameGradientInItsTime() {
    Model paced = paced(quadratic, MILLIS);
    float[] gradient = new float[2];

    long begun = System.nanoTime();
    double loss = paced.gradient(BATCH);
    long nanos = System.nanoTime() - begun;
    paced.readGradient(0, FloatBuffer.wrap(gradient));

    assertTrue(nanos >= TimeUnit.MILLISECONDS.toNanos(MILLIS), nanos + " ns");
    assertEquals(2.5, loss);
    assertArrayEquals(new float[] {-1, -2}, gradient);
  }

  @Test
  void shouldLetWorkersOfAProcessTakeTurns() throws Exception {
    Model one = paced(quadratic, MILLIS);
    Model other = paced(new QuadraticModel(2, 0), MILLIS);

    long begun = System.nanoTime();
    CompletableFuture<Void> beside = CompletableFuture.runAsync(() -> other.gradient(BATCH));
    one.gradient(BATCH);
    beside.get(10, TimeUnit.SECONDS);

    long nanos = System.nanoTime() - begun;
    assertTrue(nanos >= TimeUnit.MILLISECONDS.toNanos(2 * MILLIS), nanos + " ns");
  }

  @Test
  void shouldLeaveAModelAloneWithoutAPace() {
    assertSame(quadratic, paced(quadratic, 0));
  }

  private static Model paced(Model model, int millis) {
    Engine engine =
        (Engine)
            Proxy.newProxyInstance(
                PacedEngineTest.class.getClassLoader(),
                new Class<?>[] {Engine.class},
                (proxy, method, arguments) -> model);
    return new PacedEngine(() -> engine, millis).model(null);
  }
}
