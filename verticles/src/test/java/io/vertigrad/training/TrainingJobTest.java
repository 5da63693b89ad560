package io.vertigrad.training;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.reactivex.rxjava3.subscribers.TestSubscriber;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.training.TrainingResult.State;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class TrainingJobTest {

  private static final double RATE = 0.01;
  private static final int STEPS = 40;
  private static final long LIMIT_SECONDS = 40;

  /** More steps than any test takes. */
  private static final int FOREVER = 1_000_000;

  @TempDir private Path folder;

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldGiveTheResultOfTheClosedFormWhenAWholeJobIsTrained() throws Exception {
    RunningJob running = get(TrainingJob.of(job(STEPS)).deploy(vertx));

    TrainingResult result = get(running.result());

    double first = PointsProvider.COORDINATE * (1 - Math.pow(1 - RATE, STEPS));
    assertEquals(State.FINISHED, result.state());
    assertEquals(STEPS, result.version());
    assertEquals(STEPS * 2 * 4, result.samples());
    assertEquals(first, result.loss(), 1e-5, "the quadratic model's loss is its first coordinate");
    assertTrue(result.bestLoss() <= result.loss(), result::toString);
    assertTrue(result.bestAccuracy() >= result.accuracy(), result::toString);
    assertTrue(result.parametersHash().matches("[0-9a-f]{16}"), result::toString);
    assertFalse(result.duration().isNegative() || result.duration().isZero(), result::toString);
    assertEquals("", result.reason());
  }

  @Test
  void shouldGiveTheSameHashWhenNoEvaluatorTakesPart() throws Exception {
    TrainingResult tested = train(job(STEPS));
    TrainingResult untested = train(job(STEPS).put("evaluator", JsonObject.of("count", 0)));

    assertEquals(tested.parametersHash(), untested.parametersHash());
    assertEquals(tested.loss(), untested.loss());
  }

  @Test
  void shouldLeaveNothingDeployedWhenTheResultIsThere() throws Exception {
    train(job(STEPS));

    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  void shouldTrainAgainWhenAJobOfThatNameHasEnded() throws Exception {
    TrainingJob job = TrainingJob.of(job(STEPS));

    TrainingResult first = get(get(job.deploy(vertx)).result());
    TrainingResult second = get(get(job.deploy(vertx)).result());

    assertEquals(first.parametersHash(), second.parametersHash());
  }

  @Test
  void shouldEmitAllEventsWhenSubscribedLate() throws Exception {
    RunningJob running = get(TrainingJob.of(job(STEPS)).deploy(vertx));
    get(running.result());

    List<TrainingEvent> events = running.events().toList().blockingGet();

    assertTrue(events.stream().anyMatch(JobStarted.class::isInstance), events::toString);
    assertTrue(events.stream().anyMatch(JobFinished.class::isInstance), events::toString);
    Evaluated last =
        events.stream()
            .filter(Evaluated.class::isInstance)
            .map(Evaluated.class::cast)
            .reduce((before, after) -> after)
            .orElseThrow();
    assertTrue(last.wholeTestSet(), events::toString);
    assertEquals(STEPS, last.version());
  }

  @Test
  void shouldRefuseTheSecondOfTwoJobsWhenTheyHaveOneName() throws Exception {
    RunningJob running = get(TrainingJob.of(job(FOREVER)).deploy(vertx));
    Set<String> before = vertx.deploymentIDs();

    Exception refused =
        assertThrows(Exception.class, () -> get(TrainingJob.of(job(STEPS)).deploy(vertx)));

    assertInstanceOf(JobFailedException.class, refused.getCause());
    assertEquals(
        "job \"points\": this Vert.x runs a job of that name, expected one at a time; give this one"
            + " another name (key \"job\"), or wait for the other's result",
        refused.getCause().getMessage());
    assertEquals(before, vertx.deploymentIDs());
    assertFalse(running.result().isComplete());
    get(running.stop());
  }

  @Test
  void shouldTrainTwoJobsAtOnceWhenTheyHaveDifferentNames() throws Exception {
    Future<RunningJob> one = TrainingJob.of(job(STEPS)).deploy(vertx);
    Future<RunningJob> other = TrainingJob.of(job(STEPS).put("job", "other")).deploy(vertx);

    TrainingResult first = get(get(one).result());
    TrainingResult second = get(get(other).result());

    assertEquals(first.parametersHash(), second.parametersHash());
  }

  @Test
  void shouldTakeNoStepWhenPausedAndContinueWhenResumed() throws Exception {
    RunningJob running = get(TrainingJob.of(job(FOREVER)).deploy(vertx));
    awaitEvent(running, event -> event instanceof WorkerProgress p && p.version() > 0);

    get(running.pause());
    awaitEvent(running, JobPaused.class::isInstance);
    Exception again = assertThrows(Exception.class, () -> get(running.pause()));
    get(running.resume());
    JobResumed resumed =
        (JobResumed) running.events().filter(JobResumed.class::isInstance).blockingFirst();
    awaitEvent(
        running,
        event -> event instanceof WorkerProgress p && p.timeMillis() > resumed.timeMillis() + 300);

    assertInstanceOf(IllegalStateException.class, again.getCause());
    assertEquals(
        "job \"points\": pause: the job is paused, it cannot be paused",
        again.getCause().getMessage());
    get(running.stop());
  }

  @Test
  void shouldWriteACheckpointOfEveryShardWhenAskedTo() throws Exception {
    JsonObject files = JsonObject.of("directory", folder.toString());
    JsonObject two =
        job(FOREVER).put("servers", JsonObject.of("count", 2)).put("checkpoint", files);
    RunningJob running = get(TrainingJob.of(two).deploy(vertx));
    awaitEvent(running, event -> event instanceof WorkerProgress p && p.version() > 0);

    get(running.checkpoint());
    List<TrainingEvent> written =
        running.events().filter(CheckpointWritten.class::isInstance).take(2).toList().blockingGet();

    for (TrainingEvent event : written) {
      assertTrue(Files.exists(Path.of(((CheckpointWritten) event).file())), event::toString);
    }
    get(running.stop());
  }

  @Test
  void shouldRefuseACheckpointWhenNoServerTakesPart() throws Exception {
    RunningJob running =
        get(
            TrainingJob.of(job(FOREVER).put("strategy", JsonObject.of("name", "allreduce")))
                .deploy(vertx));
    awaitEvent(running, event -> event instanceof WorkerProgress p && p.version() > 0);

    Exception refused = assertThrows(Exception.class, () -> get(running.checkpoint()));

    assertInstanceOf(IllegalStateException.class, refused.getCause());
    assertTrue(refused.getMessage().contains("no server takes part"), refused::getMessage);
    assertEquals(State.STOPPED, get(running.stop()).state());
  }

  @Test
  void shouldKeepTheParametersWhenStoppedEarly() throws Exception {
    RunningJob running = get(TrainingJob.of(job(FOREVER).put("job", "unasked")).deploy(vertx));
    awaitEvent(running, event -> event instanceof WorkerProgress p && p.version() > 0);

    TrainingResult result = get(running.stop());

    assertEquals(State.STOPPED, result.state());
    assertEquals("stopped by the application", result.reason());
    assertTrue(result.version() > 0 && result.version() < FOREVER, result::toString);
    double first = PointsProvider.COORDINATE * (1 - Math.pow(1 - RATE, result.version()));
    assertEquals(first, result.loss(), 1e-4);
    assertTrue(result.parametersHash().matches("[0-9a-f]{16}"), result::toString);
    assertEquals(result, get(running.stop()), "a second stop changes nothing");
    assertFalse(
        Files.exists(Path.of("checkpoints", "unasked")), "nobody has asked for checkpoints");
    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  @Tag("slow")
  void shouldGiveTheResultOfAnAllReduceOfAHundredAndTwentyEightWorkers() throws Exception {
    int steps = 10;
    JsonObject many =
        job(steps)
            .put("strategy", JsonObject.of("name", "allreduce"))
            .put("workers", JsonObject.of("count", 128).put("batch", 1).put("waitSeconds", 20));

    TrainingResult result = train(many);

    double first = PointsProvider.COORDINATE * (1 - Math.pow(1 - RATE, steps));
    assertEquals(State.FINISHED, result.state());
    assertEquals(steps * 128L, result.samples());
    assertEquals(first, result.loss(), 1e-4);
    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  void shouldSaveTheModelWhileItTrainsAndWhenItHasEnded() throws Exception {
    RunningJob running = get(TrainingJob.of(dl4j(FOREVER)).deploy(vertx));
    awaitEvent(running, event -> event instanceof WorkerProgress p && p.version() > 0);

    get(running.saveModel(folder.resolve("during.zip")));
    get(running.stop());
    get(running.saveModel(folder.resolve("after.zip")));

    assertTrue(Files.size(folder.resolve("during.zip")) > 1_000);
    assertTrue(Files.size(folder.resolve("after.zip")) > 1_000);
  }

  @Test
  @Tag("slow")
  void shouldSaveEveryModelWhenSeveralAreSavedToOnePathAtOnce() throws Exception {
    RunningJob running = get(TrainingJob.of(dl4j(2)).deploy(vertx));
    TrainingResult result = get(running.result());
    Path file = folder.resolve("model.zip");

    get(Future.all(running.saveModel(file), running.saveModel(file), running.saveModel(file)));

    try (SavedModel saved = SavedModel.open(file);
        Stream<Path> left = Files.list(folder)) {
      assertEquals(result.parametersHash(), saved.parametersHash());
      assertEquals(List.of(file), left.toList());
    }
    Path nowhere = folder.resolve("nowhere/model.zip");
    Exception failure = assertThrows(Exception.class, () -> get(running.saveModel(nowhere)));
    assertEquals(
        nowhere + ": the trained model could not be saved: there is no such folder",
        failure.getCause().getMessage());
  }

  @Test
  @Tag("slow")
  void shouldPredictFromAnyThreadWithoutTheDataOfASavedModel() throws Exception {
    Path prices = folder.resolve("prices.csv");
    StringBuilder lines = new StringBuilder("size,colour,class\n");
    for (int i = 1; i <= 40; i++) {
      lines.append(
          "%d,%s,%s%n".formatted(i, i % 2 == 0 ? "red" : "blue", i > 20 ? "dear" : "cheap"));
    }
    Files.writeString(prices, lines);
    JsonObject data =
        JsonObject.of("name", "csv")
            .put("directory", prices.toString())
            .put("label", "class")
            .put("categories", "colour")
            .put("missing", "mean");
    JsonObject job =
        dl4j(60)
            .put("data", data)
            .put("model", JsonObject.of("name", "mlp").put("hidden", 8))
            .put("optimizer", JsonObject.of("learningRate", 0.5));
    RunningJob running = get(TrainingJob.of(job).deploy(vertx));
    TestSubscriber<JobStarted> started = running.events().ofType(JobStarted.class).test();
    get(running.result());
    Path file = folder.resolve("model.zip");
    get(running.saveModel(file));
    Files.delete(prices);

    try (SavedModel saved = SavedModel.open(file)) {
      assertEquals(List.of("cheap", "dear"), saved.classNames());
      assertEquals(List.of(3), saved.inputShape());
      List<Integer> likeliest =
          IntStream.of(2, 39, 3, 38)
              .parallel()
              .mapToObj(
                  size -> {
                    float[] features = new float[3];
                    saved.unlabelled(size + ",red").read(0, features, 0);
                    float[] both = saved.probabilities(features, 1);
                    return both[0] > both[1] ? 0 : 1;
                  })
              .toList();
      assertEquals(List.of(0, 1, 0, 1), likeliest);
      Path copy = folder.resolve("copy.safetensors");
      saved.export(SavedModel.SAFETENSORS, copy);
      try (SavedModel exported = SavedModel.open(copy)) {
        assertEquals(saved.parametersHash(), exported.parametersHash());
        assertEquals(saved.classNames(), exported.classNames());
        assertEquals(1, exported.unlabelled("5,blue,?").size());
      }
    }
    assertEquals(List.of("cheap", "dear"), started.values().get(0).classes());
    assertEquals(started.values().get(0), TrainingEvent.fromJson(started.values().get(0).toJson()));
    Path plain = Files.writeString(folder.resolve("plain.zip"), "no model");
    assertTrue(
        assertThrows(DataException.class, () -> SavedModel.open(plain))
            .getMessage()
            .contains("does not say what it was trained on"));
  }

  @Test
  void shouldNameTheWorkerWhenTrainingDiverges() throws Exception {
    JsonObject diverging =
        job(FOREVER).put("optimizer", JsonObject.of("name", "sgd").put("learningRate", 1e6));
    RunningJob running = get(TrainingJob.of(diverging).deploy(vertx));

    Exception failure = assertThrows(Exception.class, () -> get(running.result()));

    assertInstanceOf(JobFailedException.class, failure.getCause());
    String message = failure.getCause().getMessage();
    assertTrue(
        message.matches(
            "job \"points\": worker [01]: training diverged at step \\d+: the loss is .*, and 20"
                + " gradients in sequence were refused\\. Lower optimizer\\.learningRate"
                + " \\(1000000\\), to a tenth"),
        message);
    assertEquals(Set.of(), vertx.deploymentIDs());
    assertThrows(Exception.class, () -> get(running.saveModel(folder.resolve("none"))));
  }

  @Test
  void shouldDeployNothingWhenTheDataAreNotKnown() {
    TrainingJob job = TrainingJob.of(job(STEPS).put("data", JsonObject.of("name", "nowhere")));

    Exception failure = assertThrows(Exception.class, () -> get(job.deploy(vertx)));

    assertTrue(failure.getMessage().contains("nowhere"), failure::getMessage);
    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  void shouldDeployNothingWhenTheModelIsNotKnown() {
    TrainingJob job = TrainingJob.of(dl4j(STEPS).put("model", JsonObject.of("name", "nowhere")));

    Exception failure = assertThrows(Exception.class, () -> get(job.deploy(vertx)));

    assertTrue(failure.getMessage().contains("job: model.name is wrong: "), failure::getMessage);
    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  void shouldDeployNothingWhenTheLossDoesNotSuitTheData() {
    JsonObject model = job(STEPS).getJsonObject("model", new JsonObject()).copy();
    TrainingJob job =
        TrainingJob.of(job(STEPS).put("model", model.put("loss", "meanSquaredError")));

    Exception failure = assertThrows(Exception.class, () -> get(job.deploy(vertx)));

    assertTrue(
        failure.getMessage().contains("job: model.loss is meanSquaredError, which takes real"),
        failure::getMessage);
    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  @Tag("slow")
  void shouldUndeployAllWhenAMemberCannotStart() throws Exception {
    TrainingJob job = TrainingJob.of(dl4j(STEPS).put("model", JsonObject.of("name", "./pom.xml")));

    Exception failure = assertThrows(Exception.class, () -> get(job.deploy(vertx)));

    assertInstanceOf(JobFailedException.class, failure.getCause());
    assertTrue(
        failure.getMessage().contains("job \"points\": a member could not start: "),
        failure::getMessage);
    assertEquals(Set.of(), vertx.deploymentIDs());
    assertEquals(State.FINISHED, train(job(STEPS)).state(), "the name is free again");
  }

  @Test
  void shouldWaitForMembersFromElsewhereWhenOnlySomeAreHere() throws Exception {
    JobConfig config = JobConfig.read("test", job(STEPS));
    LocalMembers all = LocalMembers.of(config);
    RunningJob running = get(TrainingJob.of(config).here(all.withWorkers(1)).deploy(vertx));

    get(LocalMembers.one(Role.WORKER).deploy(vertx, config));
    TrainingResult result = get(running.result());

    assertEquals(new LocalMembers(1, 2, 1), all);
    assertEquals(STEPS * 2 * 4, result.samples());
  }

  @Test
  void shouldReadTheFileWhenDeployed() throws Exception {
    Path file = Files.writeString(folder.resolve("job.json"), job(STEPS).encode());

    TrainingResult result = get(get(TrainingJob.of(file).deploy(vertx)).result());

    assertEquals(STEPS, result.version());
  }

  @Test
  void shouldNameTheFileWhenItIsMissingOrWrong() throws Exception {
    Path none = folder.resolve("none.json");
    Path torn = Files.writeString(folder.resolve("torn.json"), "{");
    Path wrong = Files.writeString(folder.resolve("wrong.json"), "{\"stepps\": 3}");

    for (Path file : List.of(none, torn, wrong)) {
      Exception failure =
          assertThrows(Exception.class, () -> get(TrainingJob.of(file).deploy(vertx)));
      assertInstanceOf(SettingsException.class, failure.getCause());
      assertTrue(failure.getCause().getMessage().startsWith(file.toString()), failure::getMessage);
    }
  }

  @Test
  void shouldStopWhenTheVerticleThatDeployedItIsUndeployed() throws Exception {
    Promise<RunningJob> deployed = Promise.promise();
    String application =
        get(
            vertx.deployVerticle(
                new VerticleBase() {
                  @Override
                  public Future<?> start() {
                    return TrainingJob.of(job(FOREVER)).deploy(vertx).onComplete(deployed);
                  }
                }));
    RunningJob running = get(deployed.future());

    get(vertx.undeploy(application));

    TrainingResult result = get(running.result());
    assertEquals(State.STOPPED, result.state());
    assertEquals("the coordinator was undeployed", result.reason());
    assertEquals(Set.of(), vertx.deploymentIDs());
  }

  @Test
  void shouldNotHoldTheEventLoopWhenDeployedFromIt() throws Exception {
    Promise<RunningJob> deployed = Promise.promise();
    Promise<Long> heldMillis = Promise.promise();
    Context context = vertx.getOrCreateContext();

    context.runOnContext(
        go -> {
          long start = System.nanoTime();
          TrainingJob.of(dl4j(1)).deploy(vertx).onComplete(deployed);
          heldMillis.complete(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
        });

    long held = get(heldMillis.future());
    assertTrue(held < 1_000, "held for " + held + " ms");
    assertNotNull(get(get(deployed.future()).result()));
  }

  @Test
  void shouldMissNoLandmarkWhenASubscriberIsSlow() throws Exception {
    RunningJob running = get(TrainingJob.of(job(STEPS)).deploy(vertx));
    TestSubscriber<TrainingEvent> slow = running.events().test(0);

    get(running.result());
    slow.request(Long.MAX_VALUE);

    assertTrue(slow.await(LIMIT_SECONDS, TimeUnit.SECONDS));
    slow.assertNoErrors();
    assertTrue(slow.values().stream().anyMatch(JobFinished.class::isInstance));
  }

  private TrainingResult train(JsonObject job) throws Exception {
    return get(get(TrainingJob.of(job).deploy(vertx)).result());
  }

  private static void awaitEvent(RunningJob running, Predicate<TrainingEvent> wanted) {
    running.events().filter(wanted::test).timeout(LIMIT_SECONDS, TimeUnit.SECONDS).blockingFirst();
  }

  private static JsonObject job(int steps) {
    return new JsonObject()
        .put("job", "points")
        .put("engine", "quadratic")
        .put("steps", steps)
        .put("data", JsonObject.of("name", "points"))
        .put("optimizer", JsonObject.of("name", "sgd").put("learningRate", RATE))
        .put("workers", JsonObject.of("count", 2).put("batch", 4).put("waitSeconds", 60))
        .put("evaluator", JsonObject.of("every", 10));
  }

  private static JsonObject dl4j(int steps) {
    JsonObject digits = JsonObject.of("name", "digits").put("train", 256).put("test", 64);
    return job(steps)
        .put("engine", "dl4j")
        .put("data", digits)
        .put("model", JsonObject.of("name", "convnet"));
  }

  private static <T> T get(Future<T> future)
      throws ExecutionException, InterruptedException, java.util.concurrent.TimeoutException {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
