package io.vertigrad.training;

import io.reactivex.rxjava3.core.Flowable;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;

/**
 * A job that was deployed with {@link TrainingJob}: its events, its result, and the means to
 * control it. All methods may be called from any thread and return at once.
 *
 * <p>Everything that was deployed for the job is undeployed before {@link #result()} completes.
 * After that this object still holds the trained parameters, four bytes each, so that the model can
 * be saved.
 */
public final class RunningJob {

  private final Vertx vertx;
  private final JobConfig config;
  private final JobVerticle verticle;

  RunningJob(Vertx vertx, JobConfig config, JobVerticle verticle) {
    this.vertx = vertx;
    this.config = config;
    this.verticle = verticle;
  }

  /**
   * Returns what is trained.
   *
   * @return the checked job file, with what followed from the data and the cuts of a pipeline
   */
  public JobConfig config() {
    return config;
  }

  /**
   * Returns the job's end.
   *
   * @return completes when the job has ended, its parameters were read and tested, and everything
   *     of it was undeployed; fails with a {@link JobFailedException} that names the culprit
   */
  public Future<TrainingResult> result() {
    return verticle.result();
  }

  /**
   * Returns the job's events, from its beginning on: a subscriber that comes late first receives
   * the last {@value JobVerticle#HISTORY} of those it has missed. The flow completes when the
   * result is there. Events are emitted on an event loop, which a subscriber must not block; one
   * that is slow misses progress and never a landmark (see {@link
   * io.vertigrad.events.TrainingEvents}).
   *
   * @return the events, for any number of subscribers
   */
  public Flowable<TrainingEvent> events() {
    return verticle.events();
  }

  /**
   * Lets no worker begin another step. Steps that were begun are finished.
   *
   * @return completes when the coordinator has agreed, which the event {@code JobPaused} tells too;
   *     fails with an {@link IllegalStateException} when the job is not running
   */
  public Future<Void> pause() {
    return request("pause");
  }

  /**
   * Lets the workers of a paused job go on.
   *
   * @return completes when the coordinator has agreed, which the event {@code JobResumed} tells
   *     too; fails with an {@link IllegalStateException} when the job is not paused
   */
  public Future<Void> resume() {
    return request("resume");
  }

  /**
   * Has every server write its shard to the disk while training goes on, into {@code
   * checkpoint.directory} or else into {@code checkpoints/<job>} of the working directory. An event
   * {@code CheckpointWritten} or {@code CheckpointFailed} follows for each of them.
   *
   * @return completes when the servers were asked; fails with an {@link IllegalStateException} when
   *     the job is not running, or has no servers to write checkpoints
   */
  public Future<Void> checkpoint() {
    return verticle.servers() == 0
        ? Future.failedFuture(
            new IllegalStateException(
                "job \"%s\": no server takes part, expected one to write a checkpoint; save the model"
                        .formatted(name())
                    + " instead"))
        : request("checkpoint");
  }

  /**
   * Ends the job early and in good order: workers finish the step they are in, checkpoints are
   * written if the job file says how often or where to, the parameters are read and tested for at
   * most ten seconds, and all members leave. A job that is over already stays as it ended.
   *
   * @return the {@link #result()}
   */
  public Future<TrainingResult> stop() {
    verticle.end();
    return result();
  }

  /**
   * Saves the trained model, or while the job runs the parameters there are at this moment, which
   * may mix versions unless the job is paused.
   *
   * @param file where the engine's model file is written, as a whole or not at all; for DL4J a zip
   *     that {@code ModelSerializer} reads
   * @return completes when the file is there; fails with an {@link IllegalStateException} when the
   *     job has not started, or ended without parameters that could be read, and with the reason
   *     when the file cannot be written
   */
  public Future<Void> saveModel(Path file) {
    return verticle.saveModel(file);
  }

  private String name() {
    return config.addresses().job();
  }

  private Future<Void> request(String name) {
    if (result().isComplete()) {
      return Future.failedFuture(
          new IllegalStateException("job \"%s\": %s: the job is over".formatted(name(), name)));
    }
    return vertx
        .eventBus()
        .<JsonObject>request(
            config.addresses().coordinator(), new JsonObject().put("request", name))
        .compose(
            answer -> {
              String refused = answer.body().getString("refused");
              return refused == null
                  ? Future.succeededFuture()
                  : Future.failedFuture(
                      new IllegalStateException(
                          "job \"%s\": %s: %s".formatted(name(), name, refused)));
            });
  }
}
