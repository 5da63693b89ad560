package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.job.Partition;
import java.util.List;

/**
 * One request and one answer for each of some partitions.
 *
 * <p>Called only by the thread inside {@link PartitionExchange#run}, except {@link #abandoned()}.
 */
public interface PartitionRound {

  /** The partitions, in the order in which they are to be sent. */
  List<Partition> order();

  /** False while a partition cannot be sent yet; asked again when there is something to send. */
  default boolean isReady(Partition partition) {
    return true;
  }

  /**
   * Makes the request, when there is room to send it; retries send the same frame. Asked again for
   * the same partition, answered or not, when a server took over its shard in the middle of the
   * round: the new request must equal the first.
   */
  Frame request(Partition partition);

  /** Every partition has been sent; told again with each answer that comes after. */
  default void allSent() {}

  /** Takes the parameters, in whatever order they arrive; those of a later server come last. */
  void answered(Partition partition, ParameterPartition answer);

  /** A request was answered, and nobody but the round itself can still read it. */
  default void takeBack(Frame request) {}

  /** A gradient was refused as not finite; no parameters come for it. */
  default void dropped(Partition partition, Refusal why) {}

  /** True when nobody wants the answers any more. */
  default boolean abandoned() {
    return false;
  }
}
