package io.vertigrad.federated;

import java.util.List;

/**
 * What a round's updates were like, over the whole vector: how far each was from what was accepted.
 *
 * @param version of the parameters that the updates were computed at
 * @param norm length of the aggregate
 * @param workers one for each rank whose whole update was in the round, in rank order, and after
 *     them one {@linkplain Update#notFinite not finite} for each that was left out as such
 * @param expelled ranks of the workers that are left out from the next rounds on
 */
record RoundFacts(long version, double norm, List<Update> workers, List<Integer> expelled) {

  RoundFacts {
    workers = List.copyOf(workers);
    expelled = List.copyOf(expelled);
  }

  /**
   * One worker's update.
   *
   * @param rank of the worker
   * @param norm length of the update
   * @param distance from the aggregate
   * @param cosine of the angle with the aggregate; NaN if one of them is zero
   * @param share coefficient of the update in the aggregate times the number of updates: 1 for an
   *     equal part, 0 if it was left out; NaN where every coordinate is combined by itself
   */
  record Update(int rank, double norm, double distance, double cosine, double share) {

    /** Returns an update that was left out because it holds NaN or infinity. */
    static Update notFinite(int rank) {
      return new Update(rank, Double.NaN, Double.NaN, Double.NaN, 0);
    }

    /** Returns whether its elements are finite. */
    boolean isFinite() {
      return !Double.isNaN(distance);
    }

    /** Returns whether it has less than half of an equal part in the aggregate. */
    boolean isLeftOut() {
      return share < 0.5;
    }

    /** Returns whether it has a part in the aggregate and does not point the other way. */
    boolean fits() {
      return !isLeftOut() && !(cosine < 0);
    }
  }

  /** Returns the median of the distances of all finite updates, NaN without any. */
  double usualDistance() {
    double[] sorted =
        workers.stream().filter(Update::isFinite).mapToDouble(Update::distance).sorted().toArray();
    int size = sorted.length;
    return size == 0 ? Double.NaN : (sorted[(size - 1) / 2] + sorted[size / 2]) / 2;
  }

  /** Receives the facts of each round, in the process of the first partition. */
  @FunctionalInterface
  interface Listener {

    /**
     * Takes the facts of a round, shortly after its step.
     *
     * @param facts of a later round than those before
     */
    void roundEnded(RoundFacts facts);
  }
}
