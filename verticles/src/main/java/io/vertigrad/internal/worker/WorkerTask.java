package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;

/** What a worker's thread does once it takes part; all but {@link #run()} may be called by any. */
interface WorkerTask {

  /** Works until the job is over: true when its last version was reached. */
  boolean run();

  /** Ends {@link #run()} soon: at the latest after the gradient that is being computed. */
  void stop();

  /** Makes {@link #run()} join again if this is what it works as: it is not welcome any more. */
  void evicted(int rank, int incarnation);

  /**
   * Writes a checkpoint of what this worker alone holds, as soon as it is in no step.
   *
   * @return the file; fails where workers keep no checkpoints
   */
  default Future<Path> checkpoint() {
    return Future.failedFuture("its strategy keeps no checkpoints");
  }

  /** Counters. */
  LoopProgress progress();

  /** Samples applied by all workers, where no server counts them; 0 elsewhere. */
  default long samplesOfAll() {
    return 0;
  }

  /** Test samples that went through, where who trains also tests; 0 elsewhere. */
  default long tested() {
    return 0;
  }

  /** What else there is to tell, with every report of progress. */
  default List<TrainingEvent> news() {
    return List.of();
  }
}
