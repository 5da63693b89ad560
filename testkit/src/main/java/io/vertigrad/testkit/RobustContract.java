package io.vertigrad.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.testkit.attack.Attack;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Tests what a strategy with a robust reduction must do besides {@link StrategyContract}: with
 * {@link #liars()} of {@link #workers()} wrong workers its steps stay within a bound, whatever they
 * send.
 *
 * <p>The updates have 24 elements in four partitions of two shards, so that a rule about whole
 * vectors needs all of them. The test applies to rules that do not draw random numbers and treat
 * all ranks alike.
 */
public abstract class RobustContract extends StrategyContract {

  private static final int ELEMENTS = 24;
  private static final int PART = 6;
  private static final int PARTS = ELEMENTS / PART;
  private static final int ROUNDS = 4;

  /** A step is at most so many times the longest honest update. */
  private static final double BOUND = 4;

  /** Below the bound on elements that a shard refuses. */
  private static final float HUGE = 9e8f;

  /** Creates the test; for subclasses. */
  protected RobustContract() {}

  /**
   * Returns the number of wrong workers that the settings ask the rule to withstand.
   *
   * @return 1 by default
   */
  protected int liars() {
    return 1;
  }

  /**
   * Returns the number of workers.
   *
   * @return 7 by default, enough for every usual rule with two liars
   */
  protected int workers() {
    return 7;
  }

  @Test
  void shouldStepWithinABoundWhenLiarsSendAnything() {
    Map<String, Attack> attacks =
        Map.of(
            "sign flip", new Attack.SignFlip(1000),
            "noise", new Attack.GaussianNoise(1e6, 3),
            "inner product", new Attack.InnerProduct(1e4),
            "a little is enough", new Attack.LittleIsEnough(1.5));

    attacks.forEach(
        (name, attack) ->
            requireBounded(name, round -> withLiars(round, own -> sent(attack, own, round))));
    requireBounded("huge", round -> withLiars(round, own -> filled(round % 2 == 0 ? HUGE : -HUGE)));
  }

  @Test
  void shouldStepWithTheMeanWhenAllUpdatesAreEqual() {
    Shards shards = new Shards();

    for (int round = 0; round < ROUNDS; round++) {
      float[][] updates = new float[workers()][];
      Arrays.fill(updates, update(0, round));
      assertArrayEquals(updates[0], shards.step(round, updates), 1e-4f, "round " + round);
    }
  }

  @Test
  void shouldTakeTheSameStepsWhenRanksAreExchanged() {
    Shards inOrder = new Shards();
    Shards reversed = new Shards();

    for (int round = 0; round < ROUNDS; round++) {
      float[][] updates = withLiars(round, own -> filled(HUGE / 1e6f));
      float[] expected = inOrder.step(round, updates);
      Collections.reverse(Arrays.asList(updates));
      assertArrayEquals(expected, reversed.step(round, updates), 1e-3f, "round " + round);
    }
  }

  @Test
  void shouldWaitForTheRightUpdateOrLeaveItOutWhenAWorkerHasSentNaN() {
    Shards undisturbed = new Shards();
    Shards disturbed = new Shards();
    float[][] updates = withLiars(0, own -> own);
    float[] nan = updates[0].clone();
    nan[1] = Float.NaN;

    Frame answer = disturbed.send(0, 0, 0, nan).result();

    if (answer == null) {
      // The rule takes it, and waits for the others.
      requireBounded("NaN", round -> withLiars(round, own -> filled(Float.NaN)));
      return;
    }
    Refusal refusal = assertInstanceOf(Refusal.class, answer, "the NaN");
    assertEquals(Reason.NOT_FINITE, refusal.reason());
    assertArrayEquals(undisturbed.step(0, updates), disturbed.step(0, updates));
  }

  private void requireBounded(String attack, IntFunction<float[][]> updates) {
    Shards shards = new Shards();
    double longest = 0;
    for (int round = 0; round < ROUNDS; round++) {
      for (int rank = 0; rank < workers() - liars(); rank++) {
        longest = Math.max(longest, norm(update(rank, round)));
      }
      double step = norm(shards.step(round, updates.apply(round)));
      double bound = BOUND * longest;
      String found = "%s, round %s: a step of %s".formatted(attack, round, step);
      assertTrue(step <= bound, () -> found + ", expected at most " + bound);
    }
  }

  /** Returns the updates of a round, of which liars change the last ones. */
  private float[][] withLiars(int round, UnaryOperator<float[]> lie) {
    float[][] updates = new float[workers()][];
    for (int rank = 0; rank < updates.length; rank++) {
      float[] own = update(rank, round);
      updates[rank] = rank < updates.length - liars() ? own : lie.apply(own);
    }
    return updates;
  }

  private float[] sent(Attack attack, float[] own, int round) {
    List<float[]> honest = new ArrayList<>();
    for (int rank = 0; rank < workers() - liars(); rank++) {
      honest.add(update(rank, round));
    }
    return attack.update(own, honest, round);
  }

  /** Returns an honest update: one that all have, and noise. */
  private static float[] update(int rank, int round) {
    Random random = new Random(31L * rank + round);
    float[] update = new float[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
      update[i] = (float) (Math.sin(i + 1) + 0.3 * random.nextGaussian());
    }
    return update;
  }

  private static float[] filled(float value) {
    float[] update = new float[ELEMENTS];
    Arrays.fill(update, value);
    return update;
  }

  private static double norm(float[] vector) {
    double squares = 0;
    for (float element : vector) {
      squares += (double) element * element;
    }
    return Math.sqrt(squares);
  }

  /** Two shards with two partitions each. */
  private final class Shards {

    private final TestJob job =
        new TestJob(new JsonObject(settings()), ELEMENTS, 0, STEPS, workers(), PART, 2);
    private final List<TestShard> shards = List.of(job.shard(0, 0), job.shard(1, 0));

    Shards() {
      shards.forEach(shard -> shard.membershipChanged(TestJob.workers(workers())));
    }

    Future<Frame> send(int rank, int round, int part, float[] update) {
      float[] piece = Arrays.copyOfRange(update, part * PART, (part + 1) * PART);
      return shard(part).handle(job.gradient(rank, round, part, round, piece));
    }

    private TestShard shard(int part) {
      return shards.get(2 * part / PARTS);
    }

    /** Takes a round and returns the aggregate that it stepped with. */
    float[] step(int round, float[][] updates) {
      float[] before = parameters();
      List<Future<Frame>> answers = new ArrayList<>();
      for (int rank = 0; rank < updates.length; rank++) {
        for (int part = 0; part < PARTS; part++) {
          answers.add(send(rank, round, part, updates[rank]));
        }
      }
      // A shard asks the other one for its part of a sum at a tick.
      for (int tick = 0; tick < 2; tick++) {
        shards.forEach(shard -> shard.tick(job.clock.getAsLong()));
      }
      for (Future<Frame> answer : answers) {
        ParameterPartition parameters =
            assertInstanceOf(ParameterPartition.class, answer.result(), () -> answer.toString());
        assertEquals(Outcome.APPLIED, parameters.outcome());
      }
      float[] step = parameters();
      for (int i = 0; i < ELEMENTS; i++) {
        step[i] = (before[i] - step[i]) / TestJob.LEARNING_RATE;
      }
      return step;
    }

    private float[] parameters() {
      float[] parameters = new float[ELEMENTS];
      for (int part = 0; part < PARTS; part++) {
        System.arraycopy(job.parameters(shard(part), part), 0, parameters, part * PART, PART);
      }
      return parameters;
    }
  }
}
