package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tests that training waits for: says which version nothing may follow before it was tested,
 * and lets training go on when the evaluator has tested it, is gone, or does nothing for longer
 * than the exchange's deadline.
 *
 * <p>Workers and servers begin by holding at the plan's first version themselves, so that no word
 * has to reach them before their first step. An evaluator that was given up is waited for again as
 * soon as it reports a test.
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
   * An evaluator's status: {@code testing}, the version it tests now, and {@code evaluated}, the
   * last one it has tested.
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
   * The result of a test came, which travels by itself. Where it may end the job, nobody goes on
   * before it has.
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

  /** The job ends early: whatever was begun is finished, and no other test is waited for. */
  void end() {
    if (plan.blocking() && !over) {
      over = true;
      testing = false;
      at = EvaluationPlan.NONE;
      pauses.test(at, false);
    }
  }

  /** True while the others wait for the evaluator, as far as it is known. */
  boolean awaited() {
    return at != EvaluationPlan.NONE && progress.version() >= at;
  }

  /** What lies behind was tested under an earlier coordinator: nobody passes it otherwise. */
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

  /** Looks whether there is still somebody to wait for; {@code running} when steps are made. */
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

  /** Grows with every step of anybody and every sample of a test. */
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
