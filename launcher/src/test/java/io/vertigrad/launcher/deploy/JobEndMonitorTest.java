package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class JobEndMonitorTest {

  private static final long ASK_MILLIS = 5;

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job =
      JobConfig.read(
          "test",
          new JsonObject()
              .put("job", "watched")
              .put(
                  "exchange",
                  JsonObject.of("suspectMillis", 100, "evictMillis", 200, "orphanSeconds", 1)));
  private final AtomicInteger asked = new AtomicInteger();
  private JobEndMonitor watch;
  private MessageConsumer<JsonObject> coordinator;
  private final AtomicInteger drains = new AtomicInteger();
  private volatile boolean stops;
  private volatile boolean member = true;
  private volatile String state = "running";

  @BeforeEach
  void startCoordinator() throws Exception {
    coordinator =
        vertx
            .eventBus()
            .consumer(
                job.addresses().coordinator(),
                message -> {
                  asked.incrementAndGet();
                  message.reply(answer(message.body()));
                });
    watch = monitor(25_000);
    watch.listen().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    Awaitility.await().until(() -> asked.get() > 2);
  }

  private JobEndMonitor monitor(long drainMillis) {
    return monitor(job, drainMillis);
  }

  private JobEndMonitor monitor(JobConfig job, long drainMillis) {
    ClusterView cluster = ClusterView.of(vertx, job, Role.WORKER);
    return new JobEndMonitor(vertx, job, ASK_MILLIS, drainMillis, cluster);
  }

  private JsonObject answer(JsonObject request) {
    JsonObject answer = new JsonObject().put("state", state).put("stops", stops);
    if (request.getString("request").equals("drain")) {
      assertEquals(node(), request.getString("node"));
      drains.incrementAndGet();
      return member ? answer : answer.put("unknown", "no member of it is left");
    }
    return answer;
  }

  private static String node() {
    return "127.0.0.1 pid " + ProcessHandle.current().pid();
  }

  @AfterEach
  void closeVertx() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Test
  void shouldStopAskingWhenTheJobIsOver() {
    vertx.eventBus().publish(job.addresses().control(), new JsonObject().put("stop", "done"));
    Awaitility.await().until(() -> watch.over().isComplete());

    assertTrue(watch.over().succeeded());
    assertSilence();
  }

  @Test
  void shouldStopAskingWhenItIsClosed() {
    watch.close();

    assertSilence();
  }

  /** The signal went to the coordinator's process, too, and the run is being saved. */
  @Test
  void shouldStayUntilItIsReleasedWhenTheCoordinatorStopsAsWell() {
    stops = true;
    watch.askedToEnd();
    int before = asked.get();
    Awaitility.await().until(() -> asked.get() > before + 10);
    assertFalse(watch.over().isComplete());

    vertx.eventBus().publish(job.addresses().control(), new JsonObject().put("stop", "saved"));
    Awaitility.await().until(() -> watch.over().isComplete());

    assertTrue(watch.jobOver());
    assertFalse(watch.leaves().isComplete());
  }

  @Test
  void shouldLeaveWhenItsMemberHasHandedItsPlaceOver() {
    watch.askedToEnd();
    Awaitility.await().until(() -> drains.get() > 10);
    assertFalse(watch.leaves().isComplete(), "the member goes on until a successor is ready");

    member = false;
    Awaitility.await().until(() -> watch.leaves().isComplete());

    assertTrue(watch.over().succeeded());
    assertFalse(watch.jobOver());
    assertSilence();
  }

  /** The coordinator has resumed the run, and its members join it one after the other. */
  @Test
  void shouldStayUntilItsMemberHasJoinedTheResumedRunAndHandedItsPlaceOver() {
    member = false;
    state = "waiting";
    watch.admitted();
    watch.askedToEnd();
    Awaitility.await().until(() -> drains.get() > 30);
    assertFalse(watch.leaves().isComplete(), "its member joins again first");

    member = true;
    state = "running";
    int before = drains.get();
    Awaitility.await().until(() -> drains.get() > before + 2);
    assertFalse(watch.leaves().isComplete(), "the member goes on until a successor is ready");

    member = false;
    Awaitility.await().until(() -> watch.leaves().isComplete());
  }

  @Test
  void shouldLeaveWhenItsMemberStaysOutOfARunningJob() {
    member = false;
    watch.admitted();
    watch.askedToEnd();

    Awaitility.await().until(() -> watch.leaves().isComplete());
  }

  @Test
  void shouldLeaveWhenItsMemberHandsNothingOverInTime() {
    watch.close();
    JobEndMonitor hurried = monitor(100);
    Future<Void> listening = hurried.listen();
    Awaitility.await().until(listening::isComplete);
    long begun = System.nanoTime();
    // Its first question tells it that the run goes on.
    int before = asked.get();
    Awaitility.await().until(() -> asked.get() > before + 4);
    hurried.askedToEnd();

    Awaitility.await().until(() -> hurried.leaves().isComplete());

    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis >= 100, "after %d ms".formatted(millis));
    assertTrue(hurried.over().succeeded());
  }

  /** A user has asked the coordinator, and no signal came. */
  @Test
  void shouldEndAfterItsMemberWhenTheCoordinatorAsks() {
    vertx.eventBus().publish(job.addresses().control(), JsonObject.of("drain", "another pid 1"));
    vertx.eventBus().publish(job.addresses().control(), JsonObject.of("drain", node()));
    Awaitility.await().until(() -> drains.get() > 0);
    member = false;

    Awaitility.await().until(() -> watch.leaves().isComplete());
  }

  @Test
  void shouldLeaveAfterTheEvictionLimitWhenTheCoordinatorIsGone() {
    stops = true;
    coordinator.unregister();
    long begun = System.nanoTime();
    watch.askedToEnd();

    Awaitility.await().until(() -> watch.leaves().isComplete());

    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis >= 200, "after %d ms".formatted(millis));
    assertTrue(watch.over().succeeded());
  }

  /** Its process then closes its models, which gives their memory back. */
  @Test
  @Tag("slow")
  void shouldGiveUpWhenNoCoordinatorHasAnsweredForTheOrphansTime() {
    watch.admitted();
    coordinator.unregister();
    long begun = System.nanoTime();

    Awaitility.await().until(() -> watch.over().isComplete());

    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis >= 900, "after %d ms".formatted(millis));
    assertTrue(assertInstanceOf(CoordinatorLostException.class, watch.over().cause()).silent());
    assertFalse(watch.jobOver());
    assertSilence();
  }

  /** On a busy machine the coordinator may start late, and then admit a member at once. */
  @Test
  @Tag("slow")
  void shouldCountTheSilenceOfTheCoordinatorFromTheAdmission() {
    JobConfig elsewhere =
        JobConfig.read(
            "test",
            new JsonObject().put("job", "late").put("workers", JsonObject.of("waitSeconds", 1)));
    JobEndMonitor late = monitor(elsewhere, 25_000);
    late.listen();
    Awaitility.await()
        .during(Duration.ofMillis(1_300))
        .until(() -> !late.over().isComplete() && !late.leaves().isComplete());
    long begun = System.nanoTime();
    late.admitted();

    Awaitility.await().until(() -> late.over().isComplete());

    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis >= 1_000, "after %d ms".formatted(millis));
    assertEquals(
        "no coordinator of job \"late\" has answered for 1 s; its last word was unknown",
        late.over().cause().getMessage());
  }

  /** Checks that the monitor asks no more; one question may still be in transit. */
  private void assertSilence() {
    int before = asked.get();
    Awaitility.await()
        .during(Duration.ofMillis(40 * ASK_MILLIS))
        .until(() -> asked.get() <= before + 1);
    assertEquals(before, asked.get(), 1);
  }
}
