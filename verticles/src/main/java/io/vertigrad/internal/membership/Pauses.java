package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Pauses of a job: when it is paused or has too few workers, no worker starts another step.
 *
 * <p>If workers wait for each other in a round, one may have started it before it learned of the
 * pause. Each reports the version after its last started step. All workers then go on up to the
 * highest of these versions, so that every started round is finished and no other starts. That
 * version grows only with steps that were started before the worker knew of the pause, so it stops
 * growing.
 */
final class Pauses {

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final JobLifecycle lifecycle;
  private final MembershipChanges changes;
  private final CoordinatorEvents news;
  private final LongSupplier clockMillis;
  private final Consumer<Decision> decisions;
  private final Map<Admission, Long> heard = new HashMap<>();
  private Pause pause = Pause.NONE;
  private long firstNumber;
  private long sinceMillis;
  private boolean asked;
  private boolean few;
  private boolean halted;
  private boolean ending;
  private long endNumber;
  private Runnable whenEndIsHeard = () -> {};

  Pauses(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobLifecycle lifecycle,
      MembershipChanges changes,
      CoordinatorEvents news,
      LongSupplier clockMillis,
      Consumer<Decision> decisions) {
    this.config = config;
    this.registry = registry;
    this.lifecycle = lifecycle;
    this.changes = changes;
    this.news = news;
    this.clockMillis = clockMillis;
    this.decisions = decisions;
  }

  /** Returns the newest instruction. */
  Pause newest() {
    return pause;
  }

  /** Pauses the job; returns false when it does not run or is paused already. */
  boolean begin() {
    if (!lifecycle.pause()) {
      return false;
    }
    sinceMillis = clockMillis.getAsLong();
    asked = true;
    holdBack();
    news.paused();
    return true;
  }

  /** Resumes the job and admits newcomers again; returns false when it is not paused. */
  boolean end() {
    if (!lifecycle.resume()) {
      return false;
    }
    asked = false;
    letGo();
    changes.want();
    news.resumed(clockMillis.getAsLong() - sinceMillis);
    return true;
  }

  /**
   * Holds workers back while there are too few of them; the job stays in its phase, and the limit
   * for the wait goes on.
   */
  void few(boolean now) {
    few = now;
    if (now) {
      holdBack();
    } else {
      letGo();
    }
  }

  /** Lets no worker start another step, for good: the job is about to be ended. */
  void halt() {
    halted = true;
    holdBack();
  }

  /** Returns the number of the instruction that held workers back; newer ones still hold them. */
  long heldSince() {
    return firstNumber;
  }

  /**
   * Starts an early end: every worker finishes the steps that were started, and no more. If workers
   * wait for each other, the end is known when all have reported their last started step; it is
   * then moved on to the next version at which all replicas agree.
   *
   * @param heardByAll called once when every worker knows where the job ends; other holds can then
   *     be lifted without letting a worker go on
   */
  void conclude(Runnable heardByAll) {
    if (asked) {
      asked = false;
      news.resumed(clockMillis.getAsLong() - sinceMillis);
    }
    ending = true;
    whenEndIsHeard = heardByAll;
    holdBack();
    settle();
    tellEndIsHeard();
  }

  /** Publishes where the job ends, once that is known. */
  void settle() {
    if (!ending || pause.ends() || (config.stepsTogether() && !allHeard())) {
      return;
    }
    long every = config.endsEvery();
    long rounded = (pause.holdFrom() + every - 1) / every * every;
    say(pause.ending(Math.min(rounded, config.lastVersion())));
    endNumber = pause.number();
  }

  /**
   * Checks whether every worker that is left knows where the job ends; also called when some left.
   */
  void tellEndIsHeard() {
    if (pause.ends() && allHeard(endNumber)) {
      Runnable told = whenEndIsHeard;
      whenEndIsHeard = () -> {};
      told.run();
    }
  }

  /** Returns the version of an early end; empty while it is not known. */
  OptionalLong endsAt() {
    return pause.ends() ? OptionalLong.of(pause.holdFrom()) : OptionalLong.empty();
  }

  /**
   * Takes a worker's reply.
   *
   * @param from the worker
   * @param number of the newest instruction it had received
   * @param begun version after the last step that it has started; 0 for none
   */
  void heard(Admission from, long number, long begun) {
    boolean current = pause.holds() && number >= firstNumber;
    if (config.stepsTogether() && current && !pause.ends() && begun > pause.holdFrom()) {
      hold(begun);
    }
    heard.put(from, number);
    settle();
    tellEndIsHeard();
  }

  private boolean allHeard() {
    return allHeard(pause.number());
  }

  private boolean allHeard(long number) {
    return registry.of(Role.WORKER).stream()
        .filter(MemberRecord::published)
        .allMatch(worker -> heard.getOrDefault(worker.admission(), 0L) >= number);
  }

  /**
   * Lets nobody pass this version before it was tested.
   *
   * @param testing true when the test starts now, false when it has not started
   */
  void test(long at, boolean testing) {
    say(pause.testing(at, testing));
  }

  /** Makes every member write a checkpoint of this version. */
  void save(long at) {
    say(pause.saving(at));
  }

  private void holdBack() {
    if (!pause.holds()) {
      hold(0);
      firstNumber = pause.number();
    }
  }

  private void letGo() {
    if (!asked && !few && !ending && !halted) {
      hold(Long.MAX_VALUE);
    }
  }

  private void hold(long from) {
    say(pause.holding(from));
  }

  private void say(Pause word) {
    pause = word;
    decisions.accept(new Hold(word));
  }
}
