package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.internal.membership.MemberStatus.EvaluatorStatus;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tests that training waits for. Publishes the version that nobody may pass before it was
 * tested. Training goes on when the evaluator has tested that version, has left, or makes no
 * progress for longer than the exchange's deadline.
 *
 * <p>Workers and servers stop at the plan's first test version on their own, so that no message has
 * to reach them before their first step. After the evaluator was given up, training waits for it
 * again as soon as it reports a test.
 */
final class BlockingTests {

  private static final Logger LOG = LoggerFactory.getLogger(BlockingTests.class);
  private static final long MILLIS_PER_SECOND = 1_000;

  private final EvaluationPlan plan;
  private final long limitMillis;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final Pauses pauses;
  private final CoordinatorEvents events;
  private final boolean waitsForResult;
  private long nextTestVersion;
  private long reported;
  private long result;
  private long tested;
  private boolean testing;
  private boolean ended;
  private long lastWorkDone = -1;
  private long progressMillis;

  BlockingTests(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobProgress progress,
      Pauses pauses,
      CoordinatorEvents events) {
    plan = config.evaluations();
    limitMillis = config.exchange().deadlineMillis();
    waitsForResult = config.stop().looksAtTests();
    this.registry = registry;
    this.progress = progress;
    this.pauses = pauses;
    this.events = events;
    nextTestVersion = plan.firstHold();
  }

  /** Takes an evaluator's status. */
  void onStatus(EvaluatorStatus status) {
    if (!plan.blocking() || ended) {
      return;
    }
    reported = Math.max(reported, status.evaluated());
    releaseTested();
    if (!testing && nextTestVersion != EvaluationPlan.NONE && status.testing() >= nextTestVersion) {
      testing = true;
      pauses.test(nextTestVersion, true);
    }
  }

  /**
   * Takes the result of a test, which arrives separately from the evaluator's status. When a result
   * can end the job, training goes on only after it has arrived.
   */
  void result(long version) {
    result = Math.max(result, version);
    if (plan.blocking() && !ended) {
      releaseTested();
    }
  }

  private void releaseTested() {
    long done = waitsForResult ? Math.min(reported, result) : reported;
    if (done > tested) {
      tested = done;
      testing = false;
      nextTestVersion = plan.next(done);
      pauses.test(nextTestVersion, false);
    }
  }

  /** Stops waiting for tests, because the job ends early. */
  void end() {
    if (plan.blocking() && !ended) {
      ended = true;
      testing = false;
      nextTestVersion = EvaluationPlan.NONE;
      pauses.test(nextTestVersion, false);
    }
  }

  /** Returns whether training waits for the evaluator, as far as the coordinator knows. */
  boolean trainingWaits() {
    return nextTestVersion != EvaluationPlan.NONE && progress.version() >= nextTestVersion;
  }

  /** Skips test versions that training has passed: an earlier coordinator has released them. */
  private void skipPassedTests() {
    long version = progress.version();
    if (nextTestVersion != EvaluationPlan.NONE && version > nextTestVersion && !testing) {
      while (nextTestVersion != EvaluationPlan.NONE && nextTestVersion < version) {
        tested = nextTestVersion;
        nextTestVersion = plan.next(nextTestVersion);
      }
      pauses.test(nextTestVersion, false);
    }
  }

  /**
   * Checks whether there is still an evaluator to wait for.
   *
   * @param running true while workers take steps
   * @param nowMillis monotonic
   */
  void check(boolean running, long nowMillis) {
    if (running) {
      skipPassedTests();
    }
    if (nextTestVersion == EvaluationPlan.NONE || !running) {
      lastWorkDone = -1;
      return;
    }
    Optional<MemberRecord> evaluator = registry.of(Role.EVALUATOR).stream().findFirst();
    if (evaluator.isEmpty()) {
      giveUp("no evaluator takes part");
      return;
    }
    long now = workDone(evaluator.get());
    if (now != lastWorkDone || !trainingWaits()) {
      lastWorkDone = now;
      progressMillis = nowMillis;
    } else if (nowMillis - progressMillis >= limitMillis) {
      giveUp(
          String.format(
              Locale.ROOT,
              "%s at %s has tested no sample for %.1f s (exchange.deadlineMillis)",
              evaluator.get().admission(),
              evaluator.get().node(),
              (double) limitMillis / MILLIS_PER_SECOND));
    }
  }

  /** Returns a number that grows with every step of a worker and every tested sample. */
  private long workDone(MemberRecord evaluator) {
    long steps =
        registry.of(Role.WORKER).stream().mapToLong(worker -> worker.step().orElse(0)).sum();
    return steps + evaluator.tested() + tested;
  }

  private void giveUp(String reason) {
    LOG.warn("version {} is not waited for: {}", nextTestVersion, reason);
    events.testSkipped(nextTestVersion, reason);
    nextTestVersion = EvaluationPlan.NONE;
    testing = false;
    pauses.test(nextTestVersion, false);
  }
}
