package io.vertigrad.launcher;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.TimelineFile;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/** Receives the timeline records that members send and writes them off the event loop. */
final class TimelineRecorder implements AutoCloseable {

  private final Optional<TimelineFile> file;

  /** Opens the file if the job asks for a timeline. */
  TimelineRecorder(JobConfig job, Path path, Consumer<String> onProblem) {
    file = job.timeline() ? Optional.of(new TimelineFile(path, onProblem)) : Optional.empty();
  }

  /** Starts listening; completes when no later record can be missed. */
  Future<Void> listen(Vertx vertx, JobConfig job) {
    return file.map(
            open ->
                vertx
                    .eventBus()
                    .<JsonObject>consumer(
                        job.addresses().timeline(), shipment -> write(vertx, open, shipment.body()))
                    .completion())
        .orElseGet(Future::succeededFuture);
  }

  @Override
  public void close() {
    file.ifPresent(TimelineFile::close);
  }

  private static void write(Vertx vertx, TimelineFile open, JsonObject shipment) {
    vertx.executeBlocking(
        () -> {
          open.add(shipment);
          return null;
        });
  }
}
