package io.vertigrad.internal.worker;

import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.BatchDivision;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Optional;

/**
 * Gives a worker its share of each round's samples, and measures how fast it is. Belongs to the
 * training loop's thread.
 */
final class BatchBalance {

  private final Divider divider;

  /** The samples since the last question, and what it took to read and to compute them. */
  private long samples;

  private double readNanos;
  private double computedNanos;
  private Optional<BatchDivision> division = Optional.empty();

  /** Decides how the samples of a round are divided, for all workers together. */
  @FunctionalInterface
  interface Divider {

    /**
     * Returns the division of a round. Blocks until all workers that begin the round have asked, if
     * it is not decided yet.
     *
     * @param nanosPerSample the worker's mean time for a sample since it asked last; 0 if unknown
     * @param known the newest division that it had before
     * @throws io.vertigrad.strategy.GroupChangedException when the membership changes meanwhile, or
     *     the worker's incarnation ends
     */
    BatchDivision division(
        Admission from, long round, long nanosPerSample, Optional<BatchDivision> known);
  }

  /** Creates the balance of a worker that has taken no step. */
  BatchBalance(Divider divider) {
    this.divider = divider;
  }

  /** Returns the samples of the round that was begun last, by rank. */
  List<Integer> shares() {
    return division.orElseThrow().shares();
  }

  /**
   * Begins an incarnation. It asks for the division of its first round even if an earlier one knew
   * it: another coordinator may not.
   *
   * @param batches opened with {@link #shares}
   * @param source computes the gradients of these batches
   */
  GradientSource source(Incarnation self, BatchesOfRank batches, GradientSource source) {
    forget();
    return new Source(self, batches, source);
  }

  /** Sums, because a worker that is stopped in bursts is fast in most rounds. */
  private long meanNanos() {
    // Batches are read while others are computed, so the slower of both counts.
    double nanos = Math.max(readNanos, computedNanos);
    return samples == 0 ? 0 : Math.max(1, Math.round(nanos / samples));
  }

  private void forget() {
    samples = 0;
    readNanos = 0;
    computedNanos = 0;
  }

  /** Computes the gradients of one incarnation. */
  private final class Source implements GradientSource {

    private final Admission self;
    private final BatchesOfRank batches;
    private final GradientSource source;
    private boolean asked;

    Source(Incarnation self, BatchesOfRank batches, GradientSource source) {
      this.self = new Admission(Role.WORKER, self.identity().rank(), self.identity().incarnation());
      this.batches = batches;
      this.source = source;
    }

    @Override
    public Computed compute(long version, long step, Optional<Overlap> overlap) {
      if (!asked || !division.orElseThrow().covers(version)) {
        divide(version);
      }
      Computed computed = source.compute(version, step, overlap);
      samples += computed.samples();
      readNanos += computed.samples() * batches.nanosPerSample();
      computedNanos += computed.computedNanos();
      return computed;
    }

    private void divide(long round) {
      BatchDivision next = divider.division(self, round, meanNanos(), division);
      forget();
      if (division.isPresent() && !division.get().shares().equals(next.shares())) {
        // The batches that were read ahead are of other sizes.
        batches.close();
      }
      division = Optional.of(next);
      asked = true;
    }

    @Override
    public void close() {
      source.close();
    }
  }
}
