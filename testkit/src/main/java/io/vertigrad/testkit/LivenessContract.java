package io.vertigrad.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests that every exchange of a strategy ends, even if workers are silent, die or the server
 * closes.
 *
 * <p>A test of a strategy extends {@link StrategyContract}, or only this class if the strategy does
 * not equal plain SGD with one worker.
 */
public abstract class LivenessContract {

  static final int STEPS = 12;
  private static final long LIMIT_MILLIS = 61_000;

  /** Creates the test; for subclasses. */
  protected LivenessContract() {}

  /**
   * Returns the strategy's settings.
   *
   * @return the strategy section of a job file, as JSON
   */
  protected abstract String settings();

  @Test
  void shouldAnswerEveryExchangeByTheDeadlineWhenAWorkerIsSilent() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);

    List<Future<Frame>> answers = runAhead(job, shard);
    passTime(job, shard);

    assertTrue(answers.stream().allMatch(Future::succeeded));
    answers.stream()
        .map(Future::result)
        .filter(Refusal.class::isInstance)
        .map(Refusal.class::cast)
        .forEach(
            refusal -> {
              assertEquals(Reason.DEADLINE, refusal.reason());
              assertTrue(refusal.message().contains("worker 1"), refusal.message());
              assertTrue(refusal.message().contains("partition 0"), refusal.message());
            });
  }

  @Test
  void shouldAnswerTheOtherWorkersWhenOneDies() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    List<Future<Frame>> answers = runAhead(job, shard);

    shard.membershipChanged(TestJob.of(2, 0));

    assertTrue(answers.stream().allMatch(Future::succeeded));
    answers.forEach(answer -> assertInstanceOf(ParameterPartition.class, answer.result()));
  }

  @Test
  void shouldRefuseAnEvictedMemberAndItsLateMessages() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    List<Future<Frame>> answers = new ArrayList<>(runAhead(job, shard));

    shard.membershipChanged(TestJob.of(2, 1));
    answers.add(shard.handle(job.gradient(0, STEPS, 0, 0, 1, 1, 1, 1)));

    assertTrue(answers.stream().allMatch(Future::succeeded));
    Refusal last = (Refusal) answers.get(answers.size() - 1).result();
    assertEquals(Reason.STALE_INCARNATION, last.reason());
    assertTrue(last.message().contains("join again"), last.message());
  }

  @Test
  void shouldNotWaitForAnyoneWhenAllLeft() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    List<Future<Frame>> answers = runAhead(job, shard);

    shard.membershipChanged(new Membership(2, List.of(), List.of()));
    shard.tick(job.clock.getAsLong());

    assertTrue(answers.stream().allMatch(Future::succeeded));
  }

  @Test
  void shouldAnswerAllWaitingWorkersWhenItCloses() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    List<Future<Frame>> answers = new ArrayList<>(runAhead(job, shard));
    answers.add(shard.handle(job.pull(-1, 0, 0, job.lastVersion())));

    shard.close("the server stops");
    answers.add(shard.handle(job.gradient(1, 0, 0, 0, 1, 1, 1, 1)));

    assertTrue(answers.stream().allMatch(Future::succeeded));
    Refusal last = (Refusal) answers.get(answers.size() - 1).result();
    assertEquals(Reason.UNAVAILABLE, last.reason());
    assertEquals("the server stops", last.message());
  }

  /** The workers of a paused job finish the step that they are in, and start no other. */
  @Test
  void shouldAnswerAllWorkersWhenTheJobIsPaused() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    List<Future<Frame>> answers = new ArrayList<>(runAhead(job, shard));

    shard.paused(true);
    boolean isInTheSameStep = answers.size() == 1;
    if (isInTheSameStep) {
      answers.add(shard.handle(job.gradient(1, 0, 0, 0, 1, 1, 1, 1)));
    }

    assertTrue(answers.stream().allMatch(Future::succeeded), "of " + answers.size() + " answers");
    answers.forEach(answer -> assertInstanceOf(ParameterPartition.class, answer.result()));
  }

  @Test
  void shouldAnswerARepeatLikeTheFirstWhenItStillWaits() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    List<Future<Frame>> answers = runAhead(job, shard);
    int last = answers.size() - 1;
    float[] before = job.parameters(shard, 0);

    Future<Frame> again = shard.handle(ahead(job, shard, last));
    assertArrayEquals(before, job.parameters(shard, 0));
    shard.membershipChanged(TestJob.of(2, 0));

    assertTrue(again.succeeded());
    assertInstanceOf(ParameterPartition.class, again.result());
    assertEquals(last + 1, shard.counters().applied());
  }

  /**
   * Creates a job of 12 steps with one trainable partition of 4 elements and one of 2 statistics.
   *
   * @param workers number of workers
   * @return the job, under this strategy
   */
  protected final TestJob job(int workers) {
    return new TestJob(settings(), 4, 2, STEPS, workers);
  }

  /**
   * Creates the job's shard and admits workers.
   *
   * @param job the job
   * @param workers number of workers, with ranks from 0
   * @return the shard at version 0
   */
  protected static TestShard started(TestJob job, int workers) {
    TestShard shard = job.shard();
    shard.membershipChanged(TestJob.workers(workers));
    return shard;
  }

  /** Lets worker 0 take as many steps as it can while worker 1 is silent. */
  private static List<Future<Frame>> runAhead(TestJob job, TestShard shard) {
    List<Future<Frame>> answers = new ArrayList<>();
    for (int step = 0; step < STEPS; step++) {
      answers.add(shard.handle(ahead(job, shard, step)));
      if (!answers.get(step).isComplete()) {
        return answers;
      }
    }
    return answers;
  }

  private static GradientPartition ahead(TestJob job, TestShard shard, long step) {
    ExchangeId id = new ExchangeId(TestJob.JOB, 0, 0, 1, step, 0);
    ParameterPartition now = (ParameterPartition) shard.handle(job.pull(-1, step, 0, 0)).result();
    return job.gradient(id, now.version(), 10, 1, 1, 1, 1);
  }

  private static void passTime(TestJob job, TestShard shard) {
    for (long passed = 0; passed < LIMIT_MILLIS; passed += 100) {
      job.clock.advanceMillis(100);
      shard.tick(job.clock.getAsLong());
    }
  }
}
