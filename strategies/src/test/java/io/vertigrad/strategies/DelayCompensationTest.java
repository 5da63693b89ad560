package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A single worker's gradients are never stale, so the contract's plain SGD holds. */
class DelayCompensationTest extends StrategyContract {

  private static final double RATE = TestJob.LEARNING_RATE;
  private static final double CLOSE = 1e-6;
  private static final float[][] GRADIENTS = {
    {1, -2, 0.5f, 3}, {-1, 4, 2, 0.25f}, {2, 2, -3, 1}, {0.5f, 1, 1, -2}
  };

  @Override
  protected String settings() {
    return "{\"name\": \"async\", \"compensation\": \"adaptive\"}";
  }

  /** Two workers by turns: each gradient is one update old, but the first. */
  @Test
  void shouldCorrectThreeStepsByTheFormulaWhenConstant() {
    TestJob job = job("\"constant\", \"compensationRate\": 0.5");
    TestShard shard = started(job, 2);

    double[] p = start();
    double[] sentToFirst = p.clone();
    double[] sentToSecond = p.clone();
    parameters(shard, job.gradient(0, 0, 0, 0, GRADIENTS[0]));
    step(p, GRADIENTS[0], sentToFirst, 0.5);
    sentToFirst = p.clone();
    parameters(shard, job.gradient(1, 0, 0, 0, GRADIENTS[1]));
    step(p, GRADIENTS[1], sentToSecond, 0.5);
    parameters(shard, job.gradient(0, 1, 0, 1, GRADIENTS[2]));
    step(p, GRADIENTS[2], sentToFirst, 0.5);

    assertEqual(p, job.parameters(shard, 0));
  }

  @Test
  void shouldCorrectThreeStepsByTheFormulaWhenAdaptive() {
    TestJob job = job("\"adaptive\", \"compensationRate\": 2");
    TestShard shard = started(job, 2);

    double[] p = start();
    double[] s = new double[4];
    double[] sentToFirst = p.clone();
    double[] sentToSecond = p.clone();
    parameters(shard, job.gradient(0, 0, 0, 0, GRADIENTS[0]));
    adaptiveStep(p, GRADIENTS[0], sentToFirst, s);
    sentToFirst = p.clone();
    parameters(shard, job.gradient(1, 0, 0, 0, GRADIENTS[1]));
    adaptiveStep(p, GRADIENTS[1], sentToSecond, s);
    parameters(shard, job.gradient(0, 1, 0, 1, GRADIENTS[2]));
    adaptiveStep(p, GRADIENTS[2], sentToFirst, s);

    assertEqual(p, job.parameters(shard, 0));
  }

  /** The mean square is in the checkpoint; the worker's parameters are those of the checkpoint. */
  @Test
  void shouldContinueWithTheMeanSquareOfTheCheckpoint() {
    TestJob job = job("\"adaptive\", \"compensationRate\": 2");
    TestShard before = started(job, 2);
    double[] p = start();
    double[] s = new double[4];
    parameters(before, job.gradient(0, 0, 0, 0, GRADIENTS[0]));
    adaptiveStep(p, GRADIENTS[0], p.clone(), s);
    TestShard after = job.shard(0, 1);
    after.restoreFrom(before);
    after.membershipChanged(TestJob.workers(2));

    double[] restored = p.clone();
    parameters(after, job.gradient(0, 1, 0, 1, GRADIENTS[1]));
    adaptiveStep(p, GRADIENTS[1], restored, s);
    parameters(after, job.gradient(1, 1, 0, 1, GRADIENTS[2]));
    adaptiveStep(p, GRADIENTS[2], restored, s);

    assertEqual(p, job.parameters(after, 0));
  }

  @Test
  void shouldNotCorrectAGradientAtParametersThatItDoesNotHave() {
    TestJob job = job("\"constant\", \"compensationRate\": 0.5");
    TestShard shard = started(job, 2);
    double[] p = start();
    parameters(shard, job.gradient(0, 0, 0, 0, GRADIENTS[0]));
    step(p, GRADIENTS[0], p.clone(), 0);
    parameters(shard, job.gradient(0, 1, 0, 1, GRADIENTS[1]));
    step(p, GRADIENTS[1], p.clone(), 0);

    // Worker 1 has pulled version 1, which it was not answered with.
    parameters(shard, job.gradient(1, 0, 0, 1, GRADIENTS[2]));
    step(p, GRADIENTS[2], p.clone(), 0);

    assertEqual(p, job.parameters(shard, 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"linear", "2"})
  void shouldNameTheKeyWhenTheRuleIsUnknown(String rule) {
    SettingsException refused =
        assertThrows(SettingsException.class, () -> job("\"" + rule + "\""));

    assertEquals(
        "test.json: compensation is \"%s\", expected one of none, constant, adaptive"
            .formatted(rule),
        refused.getMessage());
  }

  private static double[] start() {
    return new double[] {0, 0.125, 0.25, 0.375};
  }

  private static void step(double[] p, float[] g, double[] seen, double lambda) {
    for (int i = 0; i < p.length; i++) {
      p[i] -= RATE * (g[i] + lambda * g[i] * g[i] * (p[i] - seen[i]));
    }
  }

  private static void adaptiveStep(double[] p, float[] g, double[] seen, double[] s) {
    for (int i = 0; i < p.length; i++) {
      s[i] = 0.95 * s[i] + 0.05 * g[i] * g[i];
      p[i] -= RATE * (g[i] + 2 / Math.sqrt(s[i] + 1e-7) * g[i] * g[i] * (p[i] - seen[i]));
    }
  }

  private static void assertEqual(double[] expected, float[] found) {
    float[] rounded = new float[expected.length];
    for (int i = 0; i < rounded.length; i++) {
      rounded[i] = (float) expected[i];
    }
    assertArrayEquals(rounded, found, (float) CLOSE);
  }

  private static TestJob job(String compensation) {
    return new TestJob(
        "{\"name\": \"async\", \"compensation\": %s}".formatted(compensation), 4, 2, 9, 2);
  }
}
