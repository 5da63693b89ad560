package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;

/** The work of a worker's thread. All methods but {@link #run()} may be called by any thread. */
interface WorkerTask {

  /** Works until the job is over. Returns true if its last version was reached. */
  boolean run();

  /** Ends {@link #run()} soon: at the latest after the gradient that is being computed. */
  void stop();

  /** Makes {@link #run()} join again if this rank and incarnation are its own: it was evicted. */
  void evicted(int rank, int incarnation);

  /**
   * Writes a checkpoint of the state that only this worker holds, as soon as it is in no step.
   *
   * @return the file; fails where workers keep no checkpoints
   */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Returns the counters. */
  LoopProgress progress();

  /** Returns the samples applied by all workers if no server counts them; otherwise 0. */
  default long samplesOfAll() {
    return 0;
  }

  /** Returns the number of samples tested so far, if the worker also tests; otherwise 0. */
  default long tested() {
    return 0;
  }

  /** Returns further events, which are published with every progress report. */
  default List<TrainingEvent> news() {
    return List.of();
  }
}
