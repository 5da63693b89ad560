package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.evaluation.Evaluation;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.peer.ModelReader;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.StageVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.awaitility.Awaitility;

/**
 * A job in one JVM with the real engine, unsplit or in stages, which a test starts and inspects.
 */
final class PipelineJob implements AutoCloseable {

  /**
   * Relative tolerance: the stages test in batches of a micro-batch, the evaluator in batches of
   * 128, so sums are rounded differently.
   */
  private static final double SAME_LOSS = 1e-6;

  /** One of the 1,000 samples, in percent: accuracies are equal except for a tie. */
  private static final double SAME_ACCURACY = 0.1;

  private final List<TrainingEvent> events = new CopyOnWriteArrayList<>();
  private final List<String> stages = new ArrayList<>();
  private final Vertx vertx = Vertx.vertx();
  private final JsonObject job;
  private CoordinatorVerticle coordinator;
  private String coordinatorId;
  private volatile Membership membership;

  /**
   * Creates a job that has not begun.
   *
   * @param job the job file, which may still change; its job name is {@code pipe}
   */
  PipelineJob(JsonObject job) {
    this.job = job;
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.pipe.events", m -> events.add(TrainingEvent.fromJson(m.body())));
    vertx.eventBus().<JsonObject>consumer("vertigrad.pipe.control", m -> follow(m.body()));
  }

  @Override
  public void close() {
    await(vertx.close());
  }

  Vertx vertx() {
    return vertx;
  }

  List<TrainingEvent> events() {
    return events;
  }

  CoordinatorVerticle coordinator() {
    return coordinator;
  }

  /** Replaces a stage by a new member. */
  void replace(int stage) {
    await(vertx.undeploy(stages.get(stage)));
    deploy(new StageVerticle());
  }

  /** Asks a stage to leave, and starts its successor. */
  void succeed(int stage) {
    String node = "%s pid %d".formatted(host(stage), ProcessHandle.current().pid());
    await(
        vertx
            .eventBus()
            .request(
                "vertigrad.pipe.coordinator", JsonObject.of("request", "drain", "node", node)));
    stages.set(stage, deploy(new StageVerticle()));
  }

  /** Returns the host of a stage, which makes it look as if it ran in a process of its own. */
  private static String host(int stage) {
    return "127.0.0." + (2 + stage);
  }

  /** Trains the whole model by all-reduce and returns the coordinator's result. */
  JsonObject trainUnsplit(int workers) {
    JsonObject allReduce = new JsonObject().put("name", "allreduce");
    JsonObject unsplit = job.copy().put("strategy", job.getJsonObject("strategy", allReduce));
    unsplit.getJsonObject("workers").put("count", workers);
    start(unsplit);
    for (int i = 0; i < workers; i++) {
      deploy(new WorkerVerticle(), unsplit);
    }
    return finish();
  }

  JsonObject trainSplit(JsonObject pipeline) {
    deployStages(pipeline);
    return finishSplit();
  }

  /** Returns the result; checks that the last test has the score of the assembled whole model. */
  JsonObject finishSplit() {
    JsonObject result = await(coordinator.result());
    assertEquals("finished", result.getString("state"), result::encode);
    Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> happened(PipelineJob::isWhole));
    Evaluated test = last(Evaluated.class, Evaluated::wholeTestSet);
    Evaluated whole = assembled();
    assertEquals(whole.version(), test.version());
    assertEquals(whole.samples(), test.samples());
    assertEquals(whole.loss(), test.loss(), SAME_LOSS * whole.loss());
    assertEquals(whole.accuracy(), test.accuracy(), SAME_ACCURACY);
    release();
    return result.put("evaluation", whole.toJson().put("hashTold", test.parametersHash()));
  }

  private Evaluated assembled() {
    JobConfig read = JobConfig.read("test", job);
    ClassLoader loader = getClass().getClassLoader();
    Dataset test = DatasetProvider.open(read.data(), Split.TEST, loader);
    ModelConfig config = read.modelOn(test);
    try (Model model = Engine.named("dl4j").model(config)) {
      StrategyTraits traits = StrategyProviders.configure(read.strategy(), loader).traits();
      ModelReader reader =
          AssembledStages.reader(
              new PartitionClient(
                  Transport.onBus(vertx.eventBus()),
                  read.addresses(),
                  read.exchange(),
                  System::nanoTime),
              read,
              traits,
              config,
              model,
              e -> {},
              () -> Score.NONE);
      reader.membership().accept(membership);
      ParameterSnapshot snapshot = reader.source().pull();
      Score score =
          new Evaluation(model, "", test, 1, 0, 0, false, count -> {}, SpanRecorder.OFF).whole();
      return new Evaluated(
          0,
          snapshot.lowestVersion(),
          score.samples(),
          score.loss(),
          score.accuracy(),
          true,
          snapshot.hash());
    }
  }

  void deployStages(JsonObject pipeline) {
    job.put("pipeline", pipeline);
    events.clear();
    start(job);
    stages.clear();
    int cuts = pipeline.getJsonArray("cuts", new JsonArray()).size();
    int count = pipeline.getInteger("stages", cuts + 1) * pipeline.getInteger("replicas", 1);
    for (int i = 0; i < count; i++) {
      JsonObject own = job.copy().put("cluster", JsonObject.of("host", host(i)));
      stages.add(deploy(new StageVerticle(), own));
    }
  }

  private void start(JsonObject conf) {
    coordinator = new CoordinatorVerticle();
    coordinatorId = deploy(coordinator, conf);
    if (JobConfig.read("test", conf).evaluators() > 0) {
      deploy(new EvaluatorVerticle(), conf);
    }
  }

  private JsonObject finish() {
    JsonObject result = await(coordinator.result());
    assertEquals("finished", result.getString("state"), result::encode);
    release();
    return result;
  }

  private void release() {
    await(coordinator.stop("the test is over"));
    await(vertx.undeploy(coordinatorId));
  }

  private void follow(JsonObject message) {
    JsonObject now = message.getJsonObject("membership");
    if (now != null) {
      membership = Membership.fromJson(now);
    }
  }

  static boolean isWhole(TrainingEvent event) {
    return event instanceof Evaluated tested && tested.wholeTestSet();
  }

  String deploy(Deployable verticle) {
    return deploy(verticle, job);
  }

  private String deploy(Deployable verticle, JsonObject conf) {
    return await(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(conf.copy())));
  }

  boolean happened(Predicate<TrainingEvent> event) {
    return events.stream().anyMatch(event);
  }

  <E extends TrainingEvent> E last(Class<E> type, Predicate<E> wanted) {
    List<E> found =
        events.stream().filter(type::isInstance).map(type::cast).filter(wanted).toList();
    return found.get(found.size() - 1);
  }

  static String hash(JsonObject result) {
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(150, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
