package io.vertigrad.codecs;

/**
 * The identity of one exchange. It is the same on every retry, so that a receiver recognises a
 * duplicate.
 *
 * @param job hash of the job's name, see {@link Addresses#hash(String)}
 * @param worker rank of the sender, from 0; an evaluator uses -1
 * @param incarnation number of times that this rank was admitted before; a process that was evicted
 *     and replaced still sends the old number and is refused
 * @param epoch membership epoch that the sender knows
 * @param step the sender's own step counter, from 0
 * @param partition index of the partition, from 0
 */
public record ExchangeId(
    long job, int worker, int incarnation, int epoch, long step, int partition) {

  /** Checks that a frame can carry the numbers. */
  public ExchangeId {
    FrameLimits.requireAtLeast("worker", worker, -1);
    FrameLimits.requireAtLeast("incarnation", incarnation, 0);
    FrameLimits.requireAtLeast("epoch", epoch, 0);
    FrameLimits.requireAtLeast("step", step, 0);
    FrameLimits.requireAtLeast("partition", partition, 0);
  }
}
