package io.vertigrad.federated;

import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Decides which workers are left out for the rest of a run: those whose updates have not
 * {@linkplain RoundFacts.Update#fits() fitted} for so many rounds in sequence, at most as many as
 * the reduction must withstand.
 *
 * <p>A round in which the updates of half of the workers or more did not fit counts for nobody: a
 * rule that accepts the update of one worker leaves out all others. A round without the update of a
 * worker does not count for that worker.
 *
 * <p>The same facts lead to the same workers, so all partitions expel the same. A server that was
 * restored from a checkpoint begins to count anew, and follows servers that have expelled a worker.
 */
final class Expulsion {

  private final int rounds;
  private final int most;
  private final Map<Integer, Integer> sequences = new HashMap<>();
  private final Set<Integer> expelled = new TreeSet<>();

  /**
   * Creates the decision before the first round.
   *
   * @param rounds in sequence after which a worker is expelled; 0 to expel nobody
   * @param most number of workers that may be expelled
   */
  Expulsion(int rounds, int most) {
    this.rounds = rounds;
    this.most = most;
  }

  /** Takes what the updates of the next round were like. */
  void judge(List<RoundFacts.Update> workers) {
    long unfit = workers.stream().filter(update -> !update.fits()).count();
    if (rounds == 0 || 2 * unfit >= workers.size()) {
      return;
    }
    for (RoundFacts.Update update : workers) {
      if (update.fits()) {
        sequences.remove(update.rank());
      } else {
        sequences.merge(update.rank(), 1, Integer::sum);
      }
    }
    Set<Integer> due = new HashSet<>(sequences.keySet());
    due.removeIf(rank -> sequences.get(rank) < rounds || expelled.contains(rank));
    due.stream()
        .sorted(
            Comparator.<Integer>comparingInt(rank -> -sequences.get(rank)).thenComparing(r -> r))
        .limit(Math.max(0, most - expelled.size()))
        .forEach(expelled::add);
  }

  /** Expels a worker that other partitions have expelled. */
  void follow(int rank) {
    if (rounds > 0 && expelled.size() < most) {
      expelled.add(rank);
    }
  }

  /** Returns whether the updates of a worker do not count any more. */
  boolean isExpelled(int rank) {
    return expelled.contains(rank);
  }

  /** Returns the workers that are expelled, by rank. */
  List<Integer> expelled() {
    return List.copyOf(expelled);
  }
}
