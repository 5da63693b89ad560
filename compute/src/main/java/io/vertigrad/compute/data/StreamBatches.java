package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import java.util.List;

/**
 * The batches of one rank of a {@link StreamDataset}. For each step a worker calls {@link #await}
 * until it returns true, then {@link #take} or {@link #skip}, {@link #tested} before it trains on
 * the batch, and {@link #answered} after the exchange. Used by one thread, except for {@link
 * #tests}.
 */
public interface StreamBatches extends AutoCloseable {

  /**
   * Waits for the next batch.
   *
   * @param millis longest wait
   * @return true if {@link #take} will not wait
   * @throws DataException when the source has failed, or has a sample that the schema refuses
   */
  boolean await(long millis);

  /**
   * Returns whether this rank has no samples left.
   *
   * @return true once the last batch was taken, false for a stream without an end
   */
  boolean ended();

  /**
   * Returns the next batch, which {@link #await} has announced.
   *
   * @return the samples; none if all of them were left out, and the step changes nothing
   */
  Batch take();

  /**
   * Takes an empty step: the job ends or pauses at a later version and no sample has come. Its
   * gradient is zero.
   */
  void skip();

  /**
   * Receives the outputs of the model for the batch that was taken, before it is trained on it.
   *
   * @param outputs for each sample one probability per class, or the values
   */
  void tested(float[] outputs);

  /**
   * Receives the end of the step of the batch that was taken.
   *
   * @param applied false if its gradient was left out
   */
  void answered(boolean applied);

  /**
   * Returns the tests so far, those of earlier processes of this rank included. Any thread.
   *
   * @return counters of this rank
   */
  StreamTests tests();

  /**
   * Returns what the user must know about the stream: samples that were left out or are lost, or
   * positions that cannot be written.
   *
   * @return the messages since the last call
   */
  List<String> warnings();

  /**
   * Returns what is waited for while no batch comes, for messages.
   *
   * @return such as {@code topic prices, partitions 0, 2 is silent}
   */
  String source();

  @Override
  void close();
}
