package io.vertigrad.training;

import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.processors.FlowableProcessor;
import io.reactivex.rxjava3.processors.ReplayProcessor;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvents;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.training.TrainingResult.State;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import io.vertx.core.shareddata.LocalMap;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The parent of everything that is deployed for one job, so that Vert.x undeploys all of it with
 * this verticle. It collects the job's events and reads the parameters at the end.
 *
 * <p>Its state belongs to its event loop; any thread may call the methods that are not private.
 */
final class JobVerticle extends VerticleBase {

  /** Most events that a late subscriber receives from the past. */
  static final int HISTORY = 1024;

  private static final String NAMES = "io.vertigrad.training.jobs";
  private static final long HEAR_SECONDS = 5;
  private static final long TEST_SECONDS = 10;
  private static final String STOPPED = "stopped by the application";

  private final JobConfig job;
  private final LocalMembers here;
  private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
  private final TrainingHistory history = new TrainingHistory(System::nanoTime);
  private final FlowableProcessor<TrainingEvent> events =
      ReplayProcessor.<TrainingEvent>createWithSize(HISTORY).toSerialized();
  private final Promise<TrainingResult> result = Promise.promise();
  private final Promise<Void> begun = Promise.promise();
  private final Promise<Void> finishHeard = Promise.promise();
  private volatile Membership membership = Membership.NONE;
  private volatile TrainedModel trained;
  private boolean named;
  private boolean coordinating;
  private boolean stopping;
  private boolean undeploying;
  private Future<TrainingResult> outcome;
  private Future<Void> saved = Future.succeededFuture();

  JobVerticle(JobConfig job, LocalMembers here) {
    this.job = job;
    this.here = here;
  }

  @Override
  public Future<?> start() {
    named = names().putIfAbsent(name(), deploymentID()) == null;
    if (!named) {
      return Future.failedFuture(
          new JobFailedException(
              "job \"%s\": this Vert.x runs a job of that name, expected one at a time; give this"
                      .formatted(name())
                  + " one another name (key \"job\"), or wait for the other's result"));
    }
    FrameCodecs.register(vertx.eventBus());
    MessageConsumer<JsonObject> events =
        vertx.eventBus().consumer(job.addresses().events(), message -> onEvent(message.body()));
    MessageConsumer<JsonObject> control =
        vertx.eventBus().consumer(job.addresses().control(), message -> follow(message.body()));
    return Future.all(events.completion(), control.completion())
        .onFailure(deaf -> names().remove(name()));
  }

  @Override
  public Future<?> stop() {
    if (named) {
      names().remove(name());
    }
    if (outcome == null) {
      outcome = failed("it was undeployed before it began", null);
    }
    if (!undeploying) {
      settle();
    }
    return Future.succeededFuture();
  }

  /**
   * Deploys the coordinator and the members; completes when they are admitted, or when the job has
   * ended before that.
   */
  Future<Void> begin() {
    context.runOnContext(go -> deploy());
    return begun.future();
  }

  Future<TrainingResult> result() {
    return result.future();
  }

  Flowable<TrainingEvent> events() {
    return TrainingEvents.keepingLandmarks(events);
  }

  /** Returns how many servers take part, by the coordinator's last message. */
  int servers() {
    return membership.servers().size();
  }

  /** Ends the job in good order, unless it is ending already. */
  void end() {
    context.runOnContext(go -> interrupt());
  }

  /**
   * Saves the model after earlier calls have finished, so that the last of several calls with one
   * path wins.
   */
  synchronized Future<Void> saveModel(Path file) {
    saved = saved.transform(before -> save(file));
    return saved;
  }

  private Future<Void> save(Path file) {
    TrainedModel kept = trained;
    if (kept != null) {
      return vertx.executeBlocking(
          () -> {
            FinalModel.write(job, kept, file);
            return null;
          },
          false);
    }
    if (result.future().isComplete() || membership.epoch() == 0) {
      return Future.failedFuture(
          new IllegalStateException(
              "job \"%s\": %s"
                  .formatted(
                      name(),
                      result.future().isComplete()
                          ? "it ended before its parameters could be read, so there is no model"
                          : "it has not started, so there is no model yet")));
    }
    return new FinalModel(vertx, job, membership).save(file);
  }

  private void deploy() {
    DeploymentOptions options = new DeploymentOptions().setConfig(job.json());
    vertx
        .deployVerticle(coordinator, options)
        .onFailure(why -> conclude(failed("the coordinator could not start", why)))
        .onSuccess(
            id -> {
              coordinating = true;
              coordinator.result().onSuccess(end -> context.runOnContext(go -> ended(end)));
              here.deploy(vertx, job)
                  .onSuccess(admitted -> begun.tryComplete())
                  .onFailure(why -> conclude(failed("a member could not start", why)));
            });
  }

  private void onEvent(JsonObject json) {
    TrainingEvent event = TrainingEvent.fromJson(json);
    if (event != null) {
      history.apply(event);
      events.onNext(event);
      if (event instanceof JobFinished) {
        finishHeard.tryComplete();
      }
    }
  }

  private void follow(JsonObject message) {
    JsonObject now = message.getJsonObject("membership");
    if (now != null) {
      membership = Membership.fromJson(now);
    }
  }

  /** Handles the outcome that the coordinator reports. */
  private void ended(JsonObject end) {
    switch (end.getString("state")) {
      case "finished" -> {
        JsonObject early = end.getJsonObject("stopped", new JsonObject());
        finishHeard
            .future()
            .timeout(HEAR_SECONDS, TimeUnit.SECONDS)
            .transform(received -> read(history.wholeTestSet(), Long.MAX_VALUE))
            .map(model -> result(State.FINISHED, end, early.getString("reason", "")))
            .recover(why -> failed("its model could not be read at the end", why))
            .onSuccess(found -> conclude(Future.succeededFuture(found)))
            .onFailure(why -> conclude(Future.failedFuture(why)));
      }
      case "stopped" ->
          conclude(Future.succeededFuture(result(State.STOPPED, end, end.getString("failure"))));
      default -> conclude(failed(end.getString("failure"), null));
    }
  }

  private void interrupt() {
    if (stopping || outcome != null || !coordinating || coordinator.result().isComplete()) {
      return;
    }
    stopping = true;
    coordinator
        .interrupt(keepsCheckpoints())
        .transform(
            rest ->
                history.isStarted()
                    ? read(Optional.empty(), TEST_SECONDS)
                    : Future.<TrainedModel>succeededFuture())
        .onComplete(
            read ->
                context.runOnContext(
                    go -> {
                      if (!coordinator.result().isComplete()) {
                        coordinator.stop(STOPPED);
                      }
                    }));
  }

  /** Returns true if the job file configures checkpoints; otherwise no files are written. */
  private boolean keepsCheckpoints() {
    return job.checkpoint().isOn() || job.checkpoint().directory().isPresent();
  }

  private Future<TrainedModel> read(Optional<Evaluated> tested, long limitSeconds) {
    return new FinalModel(vertx, job, membership)
        .read(tested, limitSeconds)
        .onSuccess(
            model -> {
              trained = model;
              Evaluated test = model.test();
              if (tested
                  .map(found -> found.of(test.parametersHash()))
                  .filter(test::equals)
                  .isEmpty()) {
                history.apply(test);
                events.onNext(test);
              }
            });
  }

  private TrainingResult result(State state, JsonObject end, String reason) {
    Optional<Evaluated> last = Optional.ofNullable(trained).map(TrainedModel::test);
    return history.result(
        state,
        last.map(Evaluated::version).orElse(end.getLong("version")),
        end.getLong("samples"),
        last,
        reason);
  }

  /** Releases the members and undeploys everything; later outcomes are ignored. */
  private void conclude(Future<TrainingResult> found) {
    if (outcome != null) {
      return;
    }
    outcome = found;
    history.end();
    Future<Void> left =
        coordinating ? coordinator.stop("the job is over") : Future.succeededFuture();
    left.onComplete(gone -> context.runOnContext(go -> undeploy()));
  }

  private void undeploy() {
    undeploying = true;
    vertx.undeploy(deploymentID()).onComplete(undeployed -> settle());
  }

  /** Completes all futures of the job with its outcome; a second call changes nothing. */
  private void settle() {
    outcome.onComplete(result::tryComplete, result::tryFail);
    outcome.<Void>mapEmpty().onComplete(begun::tryComplete, begun::tryFail);
    events.onComplete();
  }

  private <T> Future<T> failed(String what, Throwable cause) {
    String why = cause == null ? what : what + ": " + cause.getMessage();
    return Future.failedFuture(
        new JobFailedException("job \"%s\": %s".formatted(name(), why), cause));
  }

  private LocalMap<String, String> names() {
    return vertx.sharedData().getLocalMap(NAMES);
  }

  private String name() {
    return job.addresses().job();
  }
}
