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
 * control it. Any thread may call any method; all methods return at once.
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
   * Returns the job's configuration.
   *
   * @return the checked job file, including values computed from the data and the cuts of a
   *     pipeline
   */
  public JobConfig config() {
    return config;
  }

  /**
   * Returns the job's result.
   *
   * @return completes when the job has ended, its parameters are read and tested, and all its
   *     verticles are undeployed; fails with a {@link JobFailedException} that names the cause
   */
  public Future<TrainingResult> result() {
    return verticle.result();
  }

  /**
   * Returns the job's events from its beginning on: a late subscriber first receives the last
   * {@value JobVerticle#HISTORY} events that it missed. The flow completes together with the
   * result. Events are emitted on an event loop, which a subscriber must not block. A slow
   * subscriber misses progress but no landmark (see {@link io.vertigrad.events.TrainingEvents}).
   *
   * @return the events, for any number of subscribers
   */
  public Flowable<TrainingEvent> events() {
    return verticle.events();
  }

  /**
   * Pauses the job: no worker begins another step, and steps in progress are finished.
   *
   * @return completes when the coordinator has agreed, which the event {@code JobPaused} reports,
   *     too; fails with an {@link IllegalStateException} when the job is not running
   */
  public Future<Void> pause() {
    return request("pause");
  }

  /**
   * Resumes a paused job.
   *
   * @return completes when the coordinator has agreed, which the event {@code JobResumed} reports,
   *     too; fails with an {@link IllegalStateException} when the job is not paused
   */
  public Future<Void> resume() {
    return request("resume");
  }

  /**
   * Asks every server to write its shard to disk while training continues, into {@code
   * checkpoint.directory} or, by default, into {@code checkpoints/<job>} of the working directory.
   * An event {@code CheckpointWritten} or {@code CheckpointFailed} follows for each server.
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
   * Ends the job early and in good order. Workers finish their current step, checkpoints are
   * written if the job file configures them, the parameters are read and tested for at most ten
   * seconds, and all members leave. It does nothing when the job is over.
   *
   * @return the {@link #result()}
   */
  public Future<TrainingResult> stop() {
    verticle.end();
    return result();
  }

  /**
   * Saves the trained model. While the job runs, it saves the current parameters, which may mix
   * versions unless the job is paused.
   *
   * @param file target of the engine's model file, which is written completely or not at all; for
   *     DL4J a zip that {@code ModelSerializer} reads
   * @return completes when the file is written; fails with an {@link IllegalStateException} when
   *     the job has not started, or ended without readable parameters, and with the reason when the
   *     file cannot be written
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
