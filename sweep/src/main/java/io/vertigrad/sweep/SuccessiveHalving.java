package io.vertigrad.sweep;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Asynchronous successive halving (ASHA; Li et al. 2018, arXiv:1810.05934, algorithm 2). Trials are
 * tested at rungs, each with a budget {@code factor} times that of the rung below. Whenever there
 * is room for another trial, the highest rung with a trial among its best {@code 1/factor} that has
 * not been promoted promotes it. Where no rung has one, a new trial begins at the lowest rung.
 * Nobody waits for a rung to be full, so a trial may be promoted that a later result would have
 * beaten.
 *
 * <p>Not thread-safe.
 */
public final class SuccessiveHalving {

  private final int factor;
  private final Comparator<TrialResult> bestFirst;
  private final List<Rung> rungs = new ArrayList<>();

  /** The results of one rung, the best first, and the trials that have left it. */
  private record Rung(List<Entry> entries, Set<Integer> promoted) {}

  private record Entry(int trial, TrialResult result) {}

  /**
   * The trial that goes on, and the rung that it is trained to.
   *
   * @param trial its number
   * @param rung from 1
   */
  public record Promotion(int trial, int rung) {}

  /**
   * Creates the rule before the first result.
   *
   * @param rungs how many, from 1; a trial of the last one is over
   * @param factor one of so many trials of a rung is promoted, from 2
   * @param bestFirst the order of results
   */
  public SuccessiveHalving(int rungs, int factor, Comparator<TrialResult> bestFirst) {
    if (rungs < 1 || factor < 2) {
      throw new IllegalArgumentException(
          "%s rungs and factor %s, expected at least 1 and 2".formatted(rungs, factor));
    }
    this.factor = factor;
    this.bestFirst = bestFirst;
    for (int i = 0; i < rungs; i++) {
      this.rungs.add(new Rung(new ArrayList<>(), new HashSet<>()));
    }
  }

  /**
   * Returns how many rungs a sweep has: with as many, {@code factor} to the power of the rungs less
   * one is at most the number of trials, and the lowest budget is not below the least one.
   *
   * @param trials of the sweep, from 1
   * @param most steps of a whole trial
   * @param least steps of the lowest rung, at least
   * @param factor from 2
   * @return from 1
   */
  public static int rungs(int trials, long most, long least, int factor) {
    int rungs = 1;
    long left = trials / factor;
    double budget = (double) most / factor;
    while (left >= 1 && budget >= least) {
      rungs++;
      left /= factor;
      budget /= factor;
    }
    return rungs;
  }

  /**
   * Records the result of a trial at a rung.
   *
   * @param trial its number
   * @param rung from 0
   * @param result its result there
   */
  public void report(int trial, int rung, TrialResult result) {
    List<Entry> entries = rungs.get(rung).entries();
    if (entries.stream().anyMatch(entry -> entry.trial() == trial)) {
      throw new IllegalArgumentException(
          "trial %s has a result at rung %s, expected one at most".formatted(trial, rung));
    }
    entries.add(new Entry(trial, result));
    entries.sort(Comparator.comparing(Entry::result, bestFirst).thenComparingInt(Entry::trial));
  }

  /**
   * Chooses the trial to promote next, and records that it is.
   *
   * @return empty when no rung has one now
   */
  public Optional<Promotion> promote() {
    Optional<Promotion> chosen = promotable();
    chosen.ifPresent(one -> promoted(one.trial(), one.rung()));
    return chosen;
  }

  /** Returns the trial that {@link #promote} would choose. */
  Optional<Promotion> promotable() {
    for (int k = rungs.size() - 2; k >= 0; k--) {
      Rung rung = rungs.get(k);
      int best = rung.entries().size() / factor;
      for (Entry entry : rung.entries().subList(0, best)) {
        if (!entry.result().isWorst() && !rung.promoted().contains(entry.trial())) {
          return Optional.of(new Promotion(entry.trial(), k + 1));
        }
      }
    }
    return Optional.empty();
  }

  /** Records a promotion. */
  void promoted(int trial, int rung) {
    rungs.get(rung - 1).promoted().add(trial);
  }

  /** Returns the place of a trial among the results of its rung, from 1. */
  int place(int trial, int rung) {
    List<Entry> entries = rungs.get(rung).entries();
    for (int i = 0; i < entries.size(); i++) {
      if (entries.get(i).trial() == trial) {
        return i + 1;
      }
    }
    throw new IllegalArgumentException("trial %s has no result at rung %s".formatted(trial, rung));
  }

  /** Returns how many results a rung has. */
  int results(int rung) {
    return rungs.get(rung).entries().size();
  }
}
