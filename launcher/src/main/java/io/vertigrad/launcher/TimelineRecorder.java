package io.vertigrad.launcher;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.TimelineFile;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/** Hears what members ship of a run's timeline, and has it written off the event loop. */
final class TimelineRecorder implements AutoCloseable {

  private final Optional<TimelineFile> file;

  /** Opens the file, if the job asks for one. */
  TimelineRecorder(JobConfig job, Path path, Consumer<String> trouble) {
    file = job.timeline() ? Optional.of(new TimelineFile(path, trouble)) : Optional.empty();
  }

  /** Starts listening; completes when nothing can be missed any more. */
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
