package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Pauses of a job: when it is paused, or has too few workers, no worker begins another step.
 *
 * <p>Where workers wait for each other in a round, one may have begun it before it heard of the
 * pause. Each says, with its answer, to which version its last step leads; everyone then goes on up
 * to the highest of these, so that every round that was begun is finished and no other begins. That
 * version only grows with what workers begun before they knew, hence it comes to rest.
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

  /** The last word. */
  Pause newest() {
    return pause;
  }

  /** Lets no worker begin another step; false when the job does not run, or is paused already. */
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

  /** Lets workers go on, and newcomers in; false when the job is not paused. */
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

  /** Too few workers are there, or enough again; the job runs on, and so does the wait for more. */
  void few(boolean now) {
    few = now;
    if (now) {
      holdBack();
    } else {
      letGo();
    }
  }

  /** Lets no worker begin another step, for good: the job is about to be ended. */
  void halt() {
    halted = true;
    holdBack();
  }

  /** The number of the word with which workers were held back; what is newer still holds them. */
  long heldSince() {
    return firstNumber;
  }

  /**
   * Lets every worker finish the steps that were begun, and no more: the job ends there. Where
   * workers wait for each other, that is known when all have said what they have begun, and is put
   * off until all replicas agree.
   *
   * @param heardByAll called once when every worker has heard where the job ends, so that what else
   *     holds workers back may be lifted without any of them going on
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

  /** Tells where the job ends, once that is known. */
  void settle() {
    if (!ending || pause.ends() || (config.stepsTogether() && !allHeard())) {
      return;
    }
    long every = config.endsEvery();
    long rounded = (pause.holdFrom() + every - 1) / every * every;
    say(pause.ending(Math.min(rounded, config.lastVersion())));
    endNumber = pause.number();
  }

  /** Looks whether every worker that is still here has heard the last word; also when some left. */
  void tellEndIsHeard() {
    if (pause.ends() && allHeard(endNumber)) {
      Runnable told = whenEndIsHeard;
      whenEndIsHeard = () -> {};
      told.run();
    }
  }

  /** At which version the job ends before its last; empty while that is not known. */
  OptionalLong endsAt() {
    return pause.ends() ? OptionalLong.of(pause.holdFrom()) : OptionalLong.empty();
  }

  /**
   * A worker's answer.
   *
   * @param from who answers
   * @param number of the newest word it had heard
   * @param begun version to which the last step leads that it has begun; 0 for none
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

  /** Nothing may follow this version before it was tested, which begins now or was not begun. */
  void test(long at, boolean testing) {
    say(pause.testing(at, testing));
  }

  /** Every member writes a checkpoint of this version. */
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
