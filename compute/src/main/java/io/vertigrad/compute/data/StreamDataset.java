package io.vertigrad.compute.data;

import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A data set whose samples come one after the other and are read once, in their order. It has no
 * random access: {@link #read} is not supported. A worker tests its model on each batch before it
 * trains on it.
 */
public interface StreamDataset extends Dataset {

  /**
   * Opens the batches of one rank from a step on.
   *
   * @param request which rank, from which step, and where its positions are kept
   * @return the batches, which the caller must close; used by one thread
   * @throws DataException when the source cannot be read, or the position of that step is not known
   */
  StreamBatches open(Request request);

  /**
   * Returns the tests of the steps before the first one of a request, without opening anything.
   *
   * @param request which rank, before which step, and where its positions are kept
   * @return empty if none are recorded
   */
  Optional<StreamTests> recorded(Request request);

  /**
   * What a stream needs to know about the worker that reads it.
   *
   * @param owner name of the worker in messages, such as {@code worker 1}
   * @param rank rank of the worker, from 0
   * @param ranks number of ranks that share the stream for good
   * @param batch number of samples in a batch
   * @param firstStep step of the first batch, from 0
   * @param length number of samples after which the stream ends; empty if it has no end
   * @param folder folder in which positions are kept, that of the run's checkpoints; empty to keep
   *     none
   * @param vertx gives access to the event bus of the job's cluster
   */
  record Request(
      String owner,
      int rank,
      int ranks,
      int batch,
      long firstStep,
      OptionalLong length,
      Optional<Path> folder,
      Vertx vertx) {}
}
