package io.vertigrad.federated;

import java.util.List;

/**
 * What a round's updates were like, over the whole vector: how far each was from what was accepted.
 *
 * @param version of the parameters that the updates were computed at
 * @param norm length of the aggregate
 * @param workers one for each rank whose whole update was in the round, in rank order
 */
record RoundFacts(long version, double norm, List<Update> workers) {

  RoundFacts {
    workers = List.copyOf(workers);
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
  record Update(int rank, double norm, double distance, double cosine, double share) {}

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
