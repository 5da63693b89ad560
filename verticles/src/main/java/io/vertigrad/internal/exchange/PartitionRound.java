package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.job.Partition;
import java.util.List;

/**
 * One request and one answer for each of a list of partitions.
 *
 * <p>Called only by the thread inside {@link PartitionExchange#run}, except {@link #abandoned()}.
 */
public interface PartitionRound {

  /** Returns the partitions in the order to send them. */
  List<Partition> order();

  /** Returns false while a partition cannot be sent yet. Called again before each later send. */
  default boolean isReady(Partition partition) {
    return true;
  }

  /**
   * Creates the request when there is room to send it. Retries send the same frame. If a
   * replacement server takes over the shard during the round, this method is called again for the
   * same partition, answered or not. The new request must equal the first.
   */
  Frame request(Partition partition);

  /** Called when every partition has been sent, and again with each later answer. */
  default void allSent() {}

  /** Takes the parameters, in the order of arrival; those of a later server come last. */
  void answered(Partition partition, ParameterPartition answer);

  /** Takes back a request that was answered and that only the round itself can still read. */
  default void takeBack(Frame request) {}

  /** Called if a gradient was refused as not finite; there are no parameters for it. */
  default void dropped(Partition partition, Refusal why) {}

  /** Returns true if nobody wants the answers any more. */
  default boolean abandoned() {
    return false;
  }
}
