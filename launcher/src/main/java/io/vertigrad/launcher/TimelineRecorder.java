package io.vertigrad.launcher;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.TimelineFile;
import io.vertigrad.observability.RoundTraces;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Receives the timeline records that members send and writes them off the event loop. If this
 * process has an OpenTelemetry agent, rounds are exported to it as traces, too.
 */
final class TimelineRecorder implements AutoCloseable {

  /** One round of this many is a trace; a property for people who look for a rare case. */
  private static final long TRACED_EVERY = Long.getLong("vertigrad.traceEvery", 100);

  private final Optional<TimelineFile> file;
  private Optional<RoundTraces> traces = Optional.empty();

  /** Opens the file if the job asks for a timeline. */
  TimelineRecorder(JobConfig job, Path path, Consumer<String> onProblem) {
    file = job.timeline() ? Optional.of(new TimelineFile(path, onProblem)) : Optional.empty();
  }

  /** Starts listening; completes when no later record can be missed. */
  Future<Void> listen(Vertx vertx, JobConfig job) {
    if (file.isPresent()) {
      traces =
          RoundTraces.global()
              .map(telemetry -> RoundTraces.export(vertx, job, telemetry, TRACED_EVERY));
    }
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
    traces.ifPresent(RoundTraces::close);
    file.ifPresent(TimelineFile::close);
  }

  private void write(Vertx vertx, TimelineFile open, JsonObject shipment) {
    vertx.executeBlocking(
        () -> {
          open.add(
              shipment,
              (member, step) -> traces.flatMap(exported -> exported.traceId(member, step)));
          return null;
        });
  }
}
