package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.ExchangeId;

/**
 * The identity of a sender, as every frame carries it.
 *
 * @param job hash of the job's name
 * @param rank worker rank; -1 for a reader
 * @param incarnation incarnation of that rank
 */
public record SenderIdentity(long job, int rank, int incarnation) {

  /** Returns the identity of readers, which only pull: evaluators and launchers. */
  public static SenderIdentity reader(long job) {
    return new SenderIdentity(job, -1, 0);
  }

  /** Returns the identity of one exchange. */
  public ExchangeId exchange(int epoch, long step, int partition) {
    return new ExchangeId(job, rank, incarnation, epoch, step, partition);
  }
}
