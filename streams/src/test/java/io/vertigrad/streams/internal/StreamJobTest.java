package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.DataAwaited;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvents;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.SavedModel;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole jobs that train from a file and from the event bus, in one JVM. */
@Tag("slow")
class StreamJobTest {

  private static final int EVENTS = 2_003;
  private static final long LIMIT_SECONDS = 120;

  @TempDir Path folder;
  private final Vertx vertx = Vertx.vertx();
  private final Map<Integer, StreamTests> tests = new ConcurrentHashMap<>();
  private Path file;

  @BeforeEach
  void write() throws IOException {
    Random random = new Random(3);
    StringBuilder text = new StringBuilder("demand,day,class\n");
    for (int i = 0; i < EVENTS; i++) {
      int demand = random.nextInt(2_000);
      int day = 1 + random.nextInt(2);
      text.append("%d,%d,%d%n".formatted(demand, day, label(demand, day)));
    }
    file = folder.resolve("events.csv");
    Files.writeString(file, text);
  }

  /** Numbers of a thousand must be normalised, or the network learns nothing. */
  private static int label(int demand, int day) {
    return (demand > 1_000) == (day == 1) ? 1 : 0;
  }

  @AfterEach
  void close() {
    await(vertx.close());
  }

  @Test
  void shouldTrainOnEveryEventOfAFileAndEndWithIt() {
    TrainingResult first = train(job("sync", file("file")));

    StreamTests all = all();
    assertEquals(EVENTS, all.events());
    assertEquals(126, first.version(), "16 events in a round, 3 in the last one");
    assertTrue(all.figure() > all.noChangeFigure() + 0.2, all::toString);
    assertTrue(all.kappa() > 0.4, all::toString);
    assertEquals(100 * all.figure(), first.accuracy(), 1e-9);
    assertTrue(Double.isNaN(first.loss()) && Double.isNaN(first.bestAccuracy()), first::toString);

    TrainingResult again = train(job("sync", file("file")));
    assertEquals(first.parametersHash(), again.parametersHash());
    TrainingResult other = train(job("sync", file("file")).put("seed", 9));
    assertNotEquals(first.parametersHash(), other.parametersHash());
  }

  @Test
  void shouldPredictAnEventFromAModelThatWasSaved() throws IOException {
    Path model = folder.resolve("model.zip");
    RunningJob running = await(TrainingJob.of(job("sync", file("file"))).deploy(vertx));
    await(running.result());
    await(running.saveModel(model));

    try (SavedModel saved = SavedModel.open(model)) {
      assertEquals(List.of("0", "1"), saved.classNames());
      for (String event :
          List.of("{\"demand\": 1900, \"day\": \"1\"}", "{\"demand\": 100, \"day\": 2}")) {
        float[] features = new float[5];
        saved.unlabelled(event).read(0, features, 0);
        float[] outputs = saved.probabilities(features, 1);
        assertTrue(outputs[1] > outputs[0], event);
      }
      assertTrue(
          assertThrows(DataException.class, () -> saved.unlabelled("{\"day\": \"1\"}"))
              .getMessage()
              .contains("field \"demand\" is missing"));
      Path exported = folder.resolve("model.safetensors");
      saved.export(SavedModel.SAFETENSORS, exported);
      try (SavedModel read = SavedModel.open(exported)) {
        assertEquals(saved.parametersHash(), read.parametersHash());
      }
    }
  }

  @Test
  void shouldTrainEachWorkerOfEveryStrategyOnItsOwnEvents() {
    for (String strategy : List.of("async", "allreduce", "dpsgd")) {
      tests.clear();
      train(job(strategy, file("file")));
      assertEquals(EVENTS, all().events(), strategy);
    }
  }

  @Test
  void shouldAnswerEventsOfTheBusWhenTheyWereApplied() throws InterruptedException {
    // Batches are full, so both workers take as many steps; the last event is left out alone.
    JsonObject source =
        new JsonObject().put("kind", "bus").put("address", "prices").put("waitMillis", 2_000);
    RunningJob running = silent(source);
    Random random = new Random(5);
    List<Future<?>> sent = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      int demand = random.nextInt(2_000);
      int day = 1 + random.nextInt(2);
      sent.add(send(demand, String.valueOf(day), String.valueOf(label(demand, day))));
    }
    ReplyException refused =
        assertThrows(ReplyException.class, () -> await(send(1, "7", "0")), "an unknown day");
    assertEquals(BusReader.REFUSED, refused.failureCode());
    assertTrue(refused.getMessage().contains("field \"day\" is \"7\""), refused::getMessage);
    await(Future.all(sent));

    awaitTested(400, 1);
    await(running.stop());
  }

  @Test
  void shouldJoinEventsWithLabelsThatComeLater() throws InterruptedException {
    JsonObject source =
        new JsonObject()
            .put("kind", "bus")
            .put("address", "prices")
            .put("labels", new JsonObject().put("address", "outcomes").put("key", "id"));
    RunningJob running = silent(source);
    List<Future<?>> sent = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      JsonObject event = new JsonObject().put("id", i).put("demand", 20 * i).put("day", "1");
      await(vertx.eventBus().request("prices", event));
    }
    for (int i = 0; i < 60; i++) {
      sent.add(
          vertx
              .eventBus()
              .request(
                  "outcomes",
                  new JsonObject().put("id", i).put("class", String.valueOf(label(20 * i, 1)))));
    }
    assertThrows(
        ReplyException.class,
        () ->
            await(
                vertx
                    .eventBus()
                    .request("outcomes", new JsonObject().put("id", 99).put("class", "1"))));
    await(Future.all(sent));

    awaitTested(60, 0);
    await(running.stop());
  }

  /**
   * With a single worker {@code async} is deterministic: the bits show which events it trained on.
   */
  @Test
  void shouldTrainOnEveryEventOnceWhenWorkerAndServerAreLostInAsync() throws Exception {
    StringBuilder text = new StringBuilder("demand,day,class\n");
    Random random = new Random(4);
    for (int i = 0; i < 24_000; i++) {
      int demand = random.nextInt(2_000);
      text.append("%d,1,%d%n".formatted(demand, label(demand, 1)));
    }
    Files.writeString(file, text);
    Members undisturbed = new Members("undisturbed");
    TrainingResult expected = await(undisturbed.running.result());

    Members members = new Members("disturbed");
    members.awaitCheckpoints(2);
    await(vertx.undeploy(members.worker));
    members.deploy(new WorkerVerticle());
    members.awaitCheckpoints(2);
    await(vertx.undeploy(members.server));
    members.deleteNewestCheckpoint();
    members.deploy(new ParameterServerVerticle());
    TrainingResult result = await(members.running.result());

    StreamTested tested = members.awaitTested(24_000);
    assertEquals(24_000, tested.tests().events(), "each event was tested once");
    assertEquals(undisturbed.awaitTested(24_000).tests().score(), tested.tests().score());
    assertEquals(2, tested.incarnation(), "the worker repeats what the server has lost");
    assertEquals(expected.parametersHash(), result.parametersHash());
  }

  /** The members of a run with one worker. */
  private final class Members {

    private final RunningJob running;
    private final Path checkpoints;
    private final String server;
    private final String worker;
    private final Semaphore written = new Semaphore(0);
    private final BlockingQueue<StreamTested> tested = new LinkedBlockingQueue<>();

    Members(String run) {
      checkpoints = folder.resolve(run);
      JsonObject job =
          job("async", file("file"))
              .put("run", new JsonObject().put("id", run))
              .put(
                  "checkpoint",
                  new JsonObject().put("every", 50).put("directory", checkpoints.toString()));
      job.getJsonObject("workers").put("count", 1).put("waitSeconds", 30);
      running = await(TrainingJob.of(job).here(new LocalMembers(0, 0, 0)).deploy(vertx));
      running.events().ofType(StreamTested.class).subscribe(tested::add);
      running.events().ofType(CheckpointWritten.class).subscribe(event -> written.release());
      server = deploy(new ParameterServerVerticle());
      worker = deploy(new WorkerVerticle());
    }

    String deploy(Deployable verticle) {
      JsonObject config = running.config().json();
      return await(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(config)));
    }

    /** Waits for this many more checkpoints of the server. */
    void awaitCheckpoints(int count) throws InterruptedException {
      assertTrue(written.tryAcquire(count, LIMIT_SECONDS, TimeUnit.SECONDS), "no checkpoint");
    }

    /** Waits for the first report of at least so many events. */
    StreamTested awaitTested(long events) throws InterruptedException {
      while (true) {
        StreamTested next = tested.poll(LIMIT_SECONDS, TimeUnit.SECONDS);
        assertNotNull(next, () -> "no report of " + events + " tested events");
        if (next.tests().events() >= events) {
          return next;
        }
      }
    }

    /** The server wrote its last version when it left in order; a killed one would not have. */
    void deleteNewestCheckpoint() throws IOException {
      try (Stream<Path> files = Files.list(checkpoints)) {
        List<Path> ofServer =
            files
                .filter(each -> each.getFileName().toString().startsWith("shard-"))
                .sorted()
                .toList();
        assertTrue(ofServer.size() > 1, ofServer::toString);
        Files.delete(ofServer.get(ofServer.size() - 1));
      }
    }
  }

  /** Deploys a job and waits until both workers have reported that nothing comes. */
  private RunningJob silent(JsonObject source) throws InterruptedException {
    CountDownLatch reported = new CountDownLatch(2);
    TrainingEvents.of(vertx, "prices")
        .ofType(DataAwaited.class)
        .subscribe(event -> reported.countDown());
    RunningJob running = await(TrainingJob.of(job("sync", source)).deploy(vertx));
    observe(running);
    assertTrue(reported.await(LIMIT_SECONDS, TimeUnit.SECONDS), "the silence is reported");
    return running;
  }

  private Future<?> send(int demand, String day, String label) {
    return vertx
        .eventBus()
        .request(
            "prices",
            new JsonObject().put("demand", demand).put("day", day).put("class", label),
            new DeliveryOptions().setSendTimeout(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS)));
  }

  private JsonObject file(String kind) {
    return new JsonObject().put("kind", kind).put("path", file.toString());
  }

  private JsonObject job(String strategy, JsonObject source) {
    return new JsonObject(
            """
            {"job": "prices", "steps": "unbounded",
             "data": {"name": "stream",
               "schema": {"features": [{"field": "demand"},
                                       {"field": "day", "type": "category", "values": ["1", "2"]}],
                          "label": {"field": "class", "classes": ["0", "1"]}, "lags": 1}},
             "model": {"name": "mlp", "hidden": 16},
             "workers": {"count": 2, "batch": 8}}
            """)
        .put("strategy", new JsonObject().put("name", strategy))
        .mergeIn(new JsonObject().put("data", new JsonObject().put("source", source)), true);
  }

  private TrainingResult train(JsonObject job) {
    RunningJob running = await(TrainingJob.of(job).deploy(vertx));
    observe(running);
    TrainingResult result = await(running.result());
    assertEquals(TrainingResult.State.FINISHED, result.state());
    return result;
  }

  private void observe(RunningJob running) {
    running
        .events()
        .ofType(StreamTested.class)
        .subscribe(
            event -> {
              synchronized (tests) {
                tests.put(event.rank(), event.tests());
                tests.notifyAll();
              }
            });
  }

  /** Waits until the workers have reported this many tests and bad events, and no more. */
  private void awaitTested(long events, long bad) {
    synchronized (tests) {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
      while ((all().events() < events || all().bad() < bad) && System.nanoTime() < end) {
        try {
          tests.wait(100);
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
    }
    assertEquals(events, all().events());
    assertEquals(bad, all().bad());
  }

  private StreamTests all() {
    return tests.values().stream().reduce(StreamTests::plus).orElse(StreamTests.NONE);
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.await(LIMIT_SECONDS, TimeUnit.SECONDS);
    } catch (java.util.concurrent.TimeoutException e) {
      throw new AssertionError(e);
    }
  }
}
