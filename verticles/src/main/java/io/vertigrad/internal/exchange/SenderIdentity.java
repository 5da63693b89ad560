package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.ExchangeId;

/**
 * Who sends, as every frame's identity says it.
 *
 * @param job hash of the job's name
 * @param rank worker rank, or -1 for whoever only pulls
 * @param incarnation of that rank
 */
public record SenderIdentity(long job, int rank, int incarnation) {

  /** Whoever only pulls: evaluators and launchers. */
  public static SenderIdentity reader(long job) {
    return new SenderIdentity(job, -1, 0);
  }

  /** The identity of one exchange. */
  public ExchangeId exchange(int epoch, long step, int partition) {
    return new ExchangeId(job, rank, incarnation, epoch, step, partition);
  }
}
