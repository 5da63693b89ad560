package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
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
  private final CoordinatorEvents news;
  private final boolean needsResult;
  private long at;
  private long reported;
  private long result;
  private long tested;
  private boolean testing;
  private boolean over;
  private long movement = -1;
  private long movedMillis;

  BlockingTests(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobProgress progress,
      Pauses pauses,
      CoordinatorEvents news) {
    plan = config.evaluations();
    limitMillis = config.deadlineMillis();
    needsResult = config.stop().looksAtTests();
    this.registry = registry;
    this.progress = progress;
    this.pauses = pauses;
    this.news = news;
    at = plan.firstHold();
  }

  /**
   * Takes an evaluator's status: {@code testing} is the version it tests now, {@code evaluated} the
   * last version it has tested.
   */
  void heard(MemberStatus status) {
    if (!plan.blocking() || over) {
      return;
    }
    reported = Math.max(reported, status.evaluated().orElse(0));
    goOn();
    if (!testing && at != EvaluationPlan.NONE && status.testing().orElse(0) >= at) {
      testing = true;
      pauses.test(at, true);
    }
  }

  /**
   * Takes the result of a test, which arrives separately from the evaluator's status. When a result
   * can end the job, training goes on only after it has arrived.
   */
  void result(long version) {
    result = Math.max(result, version);
    if (plan.blocking() && !over) {
      goOn();
    }
  }

  private void goOn() {
    long done = needsResult ? Math.min(reported, result) : reported;
    if (done > tested) {
      tested = done;
      testing = false;
      at = plan.next(done);
      pauses.test(at, false);
    }
  }

  /** Stops waiting for tests, because the job ends early. */
  void end() {
    if (plan.blocking() && !over) {
      over = true;
      testing = false;
      at = EvaluationPlan.NONE;
      pauses.test(at, false);
    }
  }

  /** Returns whether training waits for the evaluator, as far as the coordinator knows. */
  boolean awaited() {
    return at != EvaluationPlan.NONE && progress.version() >= at;
  }

  /** Skips test versions that training has passed: an earlier coordinator has released them. */
  private void passOver() {
    long version = progress.version();
    if (at != EvaluationPlan.NONE && version > at && !testing) {
      while (at != EvaluationPlan.NONE && at < version) {
        tested = at;
        at = plan.next(at);
      }
      pauses.test(at, false);
    }
  }

  /**
   * Checks whether there is still an evaluator to wait for.
   *
   * @param running true while workers take steps
   * @param nowMillis monotonic
   */
  void look(boolean running, long nowMillis) {
    if (running) {
      passOver();
    }
    if (at == EvaluationPlan.NONE || !running) {
      movement = -1;
      return;
    }
    Optional<MemberRecord> evaluator = registry.of(Role.EVALUATOR).stream().findFirst();
    if (evaluator.isEmpty()) {
      giveUp("no evaluator takes part");
      return;
    }
    long now = movement(evaluator.get());
    if (now != movement || !awaited()) {
      movement = now;
      movedMillis = nowMillis;
    } else if (nowMillis - movedMillis >= limitMillis) {
      giveUp(
          "%s at %s has tested no sample for %.1f s (exchange.deadlineMillis)"
              .formatted(
                  evaluator.get().admission(),
                  evaluator.get().node(),
                  (double) limitMillis / MILLIS_PER_SECOND));
    }
  }

  /** Returns a number that grows with every step of a worker and every tested sample. */
  private long movement(MemberRecord evaluator) {
    long steps =
        registry.of(Role.WORKER).stream().mapToLong(worker -> worker.step().orElse(0)).sum();
    return steps + evaluator.tested() + tested;
  }

  private void giveUp(String why) {
    LOG.warn("version {} is not waited for: {}", at, why);
    news.testSkipped(at, why);
    at = EvaluationPlan.NONE;
    testing = false;
    pauses.test(at, false);
  }
}
