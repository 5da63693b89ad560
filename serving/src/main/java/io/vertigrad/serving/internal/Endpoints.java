package io.vertigrad.serving.internal;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.NewestParameters;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One predictor and everything that listens for it: requests on the event bus and over HTTP, and
 * the job's tests. Belongs to the verticle's context.
 */
public final class Endpoints {

  private static final Logger LOG = LoggerFactory.getLogger(Endpoints.class);
  private static final long REPORT_MILLIS = 1_000;

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final EventPublisher events;
  private final ServingResources resources;
  private final Predictor predictor;
  private final Optional<NewestParameters> newest;
  private final BusEndpoint bus;
  private final Optional<InferenceServer> http;
  private final MessageConsumer<JsonObject> tests;
  private long reported;

  private Endpoints(
      Vertx vertx,
      Context context,
      JobConfig job,
      EventPublisher events,
      String id,
      ServingResources resources,
      Predictor predictor,
      Optional<NewestParameters> newest) {
    this.vertx = vertx;
    this.context = context;
    this.job = job;
    this.events = events;
    this.resources = resources;
    this.predictor = predictor;
    this.newest = newest;
    this.bus = new BusEndpoint(vertx, job.addresses(), id, resources.memory(), predictor);
    this.http =
        job.serving().http().port().isPresent()
            ? Optional.of(
                new InferenceServer(
                    resources.http(),
                    resources.memory(),
                    job.serving().http(),
                    ModelRepository.of(predictor),
                    BearerTokens.NONE,
                    System::nanoTime))
            : Optional.empty();
    this.tests = vertx.eventBus().consumer(job.addresses().events());
  }

  /**
   * Starts a predictor.
   *
   * @param id of the predictor in events
   * @return completes when the model is built, and a model from a file answers
   */
  public static Future<Endpoints> open(Vertx vertx, Context context, JobConfig job, String id) {
    FrameCodecs.register(vertx.eventBus());
    // A thread of no Vert.x instance: Vert.x warns of one that is created by another.
    return Future.fromCompletionStage(
            CompletableFuture.supplyAsync(() -> ServingResources.acquire(vertx)), context)
        .compose(
            resources ->
                open(vertx, context, job, id, resources)
                    .recover(
                        why ->
                            resources
                                .release(vertx)
                                .transform(released -> Future.failedFuture(why))));
  }

  private static Future<Endpoints> open(
      Vertx vertx, Context context, JobConfig job, String id, ServingResources resources) {
    EventPublisher events = new EventPublisher(vertx, job.addresses());
    Consumer<TrainingEvent> refused = events::publish;
    String name = job.addresses().job();
    Optional<Path> file = job.serving().file();
    if (file.isPresent()) {
      Predictor predictor =
          Predictor.holding(
              job.serving(), name, id, refused, () -> HeldModel.open(job, file.get()));
      Endpoints endpoints =
          new Endpoints(vertx, context, job, events, id, resources, predictor, Optional.empty());
      return endpoints.opened().compose(built -> endpoints.ready()).map(endpoints);
    }
    return NewestParameters.of(vertx, job)
        .compose(
            newest -> {
              Predictor predictor =
                  Predictor.following(
                      job.serving(), name, id, refused, () -> FollowedModel.open(job, newest));
              Endpoints endpoints =
                  new Endpoints(
                      vertx, context, job, events, id, resources, predictor, Optional.of(newest));
              return endpoints.opened().onSuccess(built -> endpoints.ready()).map(endpoints);
            });
  }

  private Future<Void> opened() {
    return Future.fromCompletionStage(predictor.opened(), context)
        .compose(built -> listen())
        .compose(listening -> http.map(InferenceServer::open).orElseGet(Future::succeededFuture))
        .recover(why -> closeListeners().transform(closed -> Future.failedFuture(why)))
        .mapEmpty();
  }

  private Future<Void> listen() {
    tests.handler(message -> onEvent(message.body()));
    vertx.setPeriodic(REPORT_MILLIS, timer -> report());
    return tests.completion();
  }

  /** Listens for requests once there are parameters: the bus then passes requests here. */
  private Future<Void> ready() {
    return Future.fromCompletionStage(predictor.ready(), context)
        .compose(ready -> bus.open())
        .onSuccess(
            open ->
                LOG.info(
                    "job {} is served from version {} on at {}",
                    predictor.job(),
                    predictor.version(),
                    job.addresses().predict()))
        .onFailure(why -> LOG.error("job {} cannot be served", predictor.job(), why));
  }

  /** Returns the model's address over HTTP. */
  public Optional<String> url() {
    return http.map(InferenceServer::url);
  }

  private void onEvent(JsonObject json) {
    if (job.serving().guard().isPresent()
        && TrainingEvent.fromJson(json) instanceof Evaluated test) {
      predictor.onTest(test);
    }
  }

  private void report() {
    long changes = predictor.changes();
    if (changes != reported) {
      reported = changes;
      events.publish(predictor.progress());
    }
  }

  /** Stops listening, refuses what waits, and closes the models. */
  public Future<Void> close() {
    return closeListeners().eventually(() -> resources.release(vertx));
  }

  private Future<Void> closeListeners() {
    return bus.close()
        .eventually(() -> http.map(InferenceServer::close).orElseGet(Future::succeededFuture))
        .eventually(tests::unregister)
        .eventually(() -> newest.map(NewestParameters::close).orElse(Future.succeededFuture()))
        .eventually(
            () ->
                vertx.executeBlocking(
                    () -> {
                      predictor.close();
                      return null;
                    },
                    false));
  }
}
