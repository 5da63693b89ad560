package io.vertigrad.codecs;

/**
 * The identity of one exchange, the same on every retry, so that a receiver recognises a duplicate.
 *
 * @param job hash of the job's name, see {@link Addresses#hash(String)}
 * @param worker rank of the sender, from 0; an evaluator uses -1
 * @param incarnation how many times that rank has been admitted before, so that a process that was
 *     taken for dead is told so
 * @param epoch membership epoch the sender believes in
 * @param step the sender's own step counter, from 0
 * @param partition index of the partition, from 0
 */
public record ExchangeId(
    long job, int worker, int incarnation, int epoch, long step, int partition) {

  /** Refuses numbers that no frame can carry. */
  public ExchangeId {
    FrameLimits.requireAtLeast("worker", worker, -1);
    FrameLimits.requireAtLeast("incarnation", incarnation, 0);
    FrameLimits.requireAtLeast("epoch", epoch, 0);
    FrameLimits.requireAtLeast("step", step, 0);
    FrameLimits.requireAtLeast("partition", partition, 0);
  }
}
