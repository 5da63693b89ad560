package io.vertigrad.sweep;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.sweep.SweepPlan.Trial;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The state of a sweep: which trial to train next, up to which step, and what all have reached. It
 * keeps every decision in a journal, so that a sweep whose process was killed goes on where it was:
 * a trial that had no result is handed out again first, and no result is asked for twice.
 *
 * <pre>{@code
 * while (!sweep.isOver()) {
 *   sweep.next().ifPresent(task -> train(task));   // as many as are to run at the same time
 *   ...
 *   sweep.report(task, result);
 * }
 * }</pre>
 *
 * <p>Not thread-safe.
 */
public final class Sweep implements AutoCloseable {

  /** Name of the journal in the sweep's folder. */
  public static final String JOURNAL = "sweep.jsonl";

  private final SweepPlan plan;
  private final SweepJournal journal;
  private final SuccessiveHalving rule;
  private final Map<Integer, Standing> standings = new TreeMap<>();
  private final Map<Integer, Task> running = new TreeMap<>();
  private final Deque<Task> unfinished = new ArrayDeque<>();
  private int begun;

  /**
   * A trial to train.
   *
   * @param trial the trial
   * @param rung from 0
   * @param steps up to which step; the trial's whole length at the last rung
   */
  public record Task(Trial trial, int rung, long steps) {}

  /**
   * What a trial has reached.
   *
   * @param task the last one that has a result
   * @param result the result
   */
  public record Standing(Task task, TrialResult result) {}

  private Sweep(SweepPlan plan, SweepJournal journal) {
    this.plan = plan;
    this.journal = journal;
    this.rule =
        new SuccessiveHalving(plan.rungs(), plan.factor(), TrialResult.bestFirst(plan.order()));
  }

  /**
   * Starts a sweep.
   *
   * @param folder its folder, which is created; the journal is written there
   * @param plan what it does
   * @return the sweep before its first trial
   * @throws SettingsException when there is a journal in the folder, or it cannot be written
   */
  public static Sweep begin(Path folder, SweepPlan plan) {
    SweepJournal journal = SweepJournal.create(folder.resolve(JOURNAL));
    journal.append(plan.toJson());
    return new Sweep(plan, journal);
  }

  /**
   * Goes on with a sweep that was started before.
   *
   * @param folder its folder
   * @return the sweep as its journal has it
   * @throws SettingsException when the folder has no journal, another process runs the sweep, or
   *     the journal is not one of a sweep
   */
  public static Sweep resume(Path folder) {
    Path file = folder.resolve(JOURNAL);
    SweepJournal journal = SweepJournal.open(file);
    try {
      if (journal.lines().isEmpty()) {
        throw new SettingsException(
            "%s: is empty: the sweep was ended before it began; delete %s and start it again"
                .formatted(file, folder));
      }
      Sweep sweep = new Sweep(SweepPlan.fromJson(journal.lines().get(0)), journal);
      journal.lines().stream().skip(1).forEach(sweep::repeat);
      sweep.unfinished.addAll(sweep.running.values());
      sweep.running.clear();
      return sweep;
    } catch (ClassCastException | NullPointerException | IllegalArgumentException e) {
      journal.close();
      throw new SettingsException(
          "%s: is not the journal of a sweep of this version (%s)".formatted(file, e.getMessage()),
          e);
    } catch (SettingsException e) {
      journal.close();
      throw e;
    }
  }

  /** Applies a line that was written before. */
  private void repeat(JsonObject line) {
    int number = line.getInteger("trial");
    int rung = line.getInteger("rung");
    Task task = task(plan.trial(number), rung);
    if (line.containsKey("result")) {
      take(task, fromJson(line.getJsonObject("result")));
    } else {
      start(task);
      if (rung > 0) {
        rule.promoted(number, rung);
      }
    }
  }

  /**
   * Returns the plan.
   *
   * @return what the sweep does
   */
  public SweepPlan plan() {
    return plan;
  }

  /**
   * Chooses what to train next, and records it. A trial of a sweep that was resumed goes on first;
   * then the rule promotes one; else a new one begins.
   *
   * @return empty when nothing can begin now: wait for a result, or the sweep is over
   */
  public Optional<Task> next() {
    if (!unfinished.isEmpty()) {
      Task again = unfinished.poll();
      running.put(again.trial().number(), again);
      return Optional.of(again);
    }
    Optional<Task> chosen =
        rule.promote()
            .map(promotion -> task(plan.trial(promotion.trial()), promotion.rung()))
            .or(
                () ->
                    begun < plan.trials().size()
                        ? Optional.of(task(plan.trials().get(begun), 0))
                        : Optional.empty());
    chosen.ifPresent(
        task -> {
          journal.append(
              JsonObject.of(
                  "trial", task.trial().number(), "rung", task.rung(), "to", task.steps()));
          start(task);
        });
    return chosen;
  }

  private void start(Task task) {
    running.put(task.trial().number(), task);
    begun = task.rung() == 0 ? Math.max(begun, task.trial().number()) : begun;
  }

  private Task task(Trial trial, int rung) {
    return new Task(trial, rung, plan.steps(trial, rung));
  }

  /**
   * Records the result of a task.
   *
   * @param task as {@link #next} gave it
   * @param result the trial's result; a failed trial is not continued
   */
  public void report(Task task, TrialResult result) {
    if (!task.equals(running.get(task.trial().number()))) {
      throw new IllegalArgumentException(
          "trial %s is not trained to step %s now".formatted(task.trial().number(), task.steps()));
    }
    journal.append(
        JsonObject.of(
            "trial", task.trial().number(), "rung", task.rung(), "result", toJson(result)));
    take(task, result);
  }

  /**
   * Returns a task without a result; it is handed out again before others.
   *
   * @param task as {@link #next} gave it
   */
  public void giveBack(Task task) {
    if (running.remove(task.trial().number(), task)) {
      unfinished.addFirst(task);
    }
  }

  private void take(Task task, TrialResult result) {
    int number = task.trial().number();
    running.remove(number);
    standings.put(number, new Standing(task, result));
    rule.report(number, task.rung(), result);
  }

  /**
   * Returns whether nothing is left to train.
   *
   * @return true when all trials were begun, none is trained, and none is to be promoted
   */
  public boolean isOver() {
    return running.isEmpty()
        && unfinished.isEmpty()
        && begun == plan.trials().size()
        && rule.promotable().isEmpty();
  }

  /**
   * Returns the place of a trial among those that have a result at the rung of its last result.
   *
   * @param standing of the trial
   * @return from 1
   */
  public int place(Standing standing) {
    return rule.place(standing.task().trial().number(), standing.task().rung());
  }

  /**
   * Returns how many trials have a result at a rung.
   *
   * @param rung from 0
   * @return the number, those that failed included
   */
  public int results(int rung) {
    return rule.results(rung);
  }

  /**
   * Returns what a trial has reached.
   *
   * @param trial the trial
   * @return empty when it has no result
   */
  public Optional<Standing> standing(Trial trial) {
    return Optional.ofNullable(standings.get(trial.number()));
  }

  /**
   * Returns what the trials have reached.
   *
   * @return those that have a result, the best first: a trial of a higher rung is better than one
   *     of a lower rung, and one that failed is worse than all others
   */
  public List<Standing> ranking() {
    return standings.values().stream()
        .sorted(
            Comparator.<Standing, Boolean>comparing(one -> one.result().isWorst())
                .thenComparing(one -> -one.task().rung())
                .thenComparing(Standing::result, TrialResult.bestFirst(plan.order()))
                .thenComparing(one -> one.task().trial().number()))
        .toList();
  }

  /**
   * Returns the best trial.
   *
   * @return empty when none has a result, or all failed
   */
  public Optional<Standing> best() {
    return ranking().stream().findFirst().filter(best -> !best.result().isWorst());
  }

  /** Closes the journal; another process may go on with the sweep. */
  @Override
  public void close() {
    journal.close();
  }

  private static JsonObject toJson(TrialResult result) {
    JsonObject json =
        JsonObject.of("samples", result.samples(), "processorSeconds", result.processorSeconds());
    if (Double.isFinite(result.loss())) {
      json.put("loss", result.loss());
    }
    if (Double.isFinite(result.accuracy())) {
      json.put("accuracy", result.accuracy());
    }
    result.problem().ifPresent(why -> json.put("problem", why));
    return json;
  }

  private static TrialResult fromJson(JsonObject json) {
    return new TrialResult(
        json.getDouble("loss", Double.NaN),
        json.getDouble("accuracy", Double.NaN),
        json.getLong("samples"),
        json.getDouble("processorSeconds"),
        Optional.ofNullable(json.getString("problem")));
  }
}
