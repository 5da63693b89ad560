package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.WebSocket;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.http.WebSocketClientOptions;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/**
 * Checks that a run continues with limited memory while many browsers watch it and ask for
 * snapshots. Also checks that a program in Node can watch it. The browsers run in this JVM, and
 * both tests watch one run.
 */
@Tag("slow")
@TestInstance(Lifecycle.PER_CLASS)
final class DashboardLoadTest {

  private static final int SOCKETS = 200;
  private static final int SOCKETS_PER_ADDRESS = 64;
  private static final long ASK_MILLIS = 200;
  private static final int ROUNDS = 3;
  private static final long ROUND_MILLIS = 3_000;
  private static final long LIMIT_SECONDS = 60;
  private static final long HEAP_GROWTH = 64 << 20;
  private static final int FRAME_BYTES = 16 << 20;

  private final Vertx vertx = Vertx.vertx();
  private final AtomicLong samples = new AtomicLong();
  private final AtomicLong messages = new AtomicLong();
  private final List<WebSocketClient> clients = new ArrayList<>();
  private CoordinatorVerticle coordinator;
  private URI page;

  @BeforeAll
  void train() {
    page = startTraining();
    Awaitility.await().atMost(Duration.ofSeconds(LIMIT_SECONDS)).until(() -> samples.get() > 0);
  }

  @AfterAll
  void close() {
    Await.result(coordinator.stop("the test is over"), LIMIT_SECONDS, "stopping");
    Await.result(vertx.close(), LIMIT_SECONDS, "closing");
  }

  @Test
  void shouldKeepMemoryBoundedWhenTwoHundredBrowsersWatch() {
    long heap = 0;
    for (int round = 0; round < ROUNDS; round++) {
      List<WebSocket> watchers = watch(page);
      long asking = vertx.setPeriodic(ASK_MILLIS, timer -> watchers.forEach(this::askForSnapshot));
      trainOn();
      heap = round == 0 ? usedHeap() : heap;
      long grown = usedHeap() - heap;
      assertTrue(grown < HEAP_GROWTH, "the heap grew by " + grown + " bytes");
      vertx.cancelTimer(asking);
      leave(watchers);
    }

    assertTrue(messages.get() > SOCKETS, "they heard " + messages);
  }

  @Test
  void shouldSendASnapshotAndDeltasToANodeProgram() throws Exception {
    NodeWatch node = NodeWatch.of(page.toString(), 4);

    assertEquals(0, node.exit(), node::toString);
    assertEquals(5, node.lines().size(), node::toString);
    long number = found("snapshot (\\d+) of watched: running, 4 members", node.lines().get(0));
    for (String line : node.lines().subList(1, 5)) {
      assertEquals(++number, found("delta (\\d+): running, .*", line));
    }
    String versions = "delta .*, version (\\d+), \\d+ samples/s";
    assertTrue(
        found(versions, node.lines().get(4)) > found(versions, node.lines().get(1)),
        node::toString);
  }

  private static long found(String pattern, String line) {
    Matcher matcher = Pattern.compile(pattern).matcher(line);
    assertTrue(matcher.matches(), line);
    return Long.parseLong(matcher.group(1));
  }

  private URI startTraining() {
    JsonObject json =
        new JsonObject()
            .put("job", "watched")
            .put("steps", 10_000_000)
            .put(
                "data", new JsonObject().put("name", "paced").put("millis", 2).put("until", "none"))
            .put("dashboard", new JsonObject().put("port", 0));
    JobConfig job = JobConfig.read("test", json);
    StrategyProviders.configure(job.strategy(), getClass().getClassLoader());
    Addresses addresses = job.addresses();
    FrameCodecs.register(vertx.eventBus());
    vertx.eventBus().<JsonObject>consumer(addresses.events(), event -> count(event.body()));
    coordinator = new CoordinatorVerticle();
    DeploymentOptions options = new DeploymentOptions().setConfig(job.json());
    Await.result(vertx.deployVerticle(coordinator, options), LIMIT_SECONDS, "the coordinator");
    String url =
        Await.result(
            Dashboard.start(vertx, job, new MetricsVerticle()), LIMIT_SECONDS, "the dashboard");
    Await.result(LocalMembers.of(job).deploy(vertx, job), LIMIT_SECONDS, "the members");
    for (int address = 1; address <= 1 + SOCKETS / SOCKETS_PER_ADDRESS; address++) {
      clients.add(
          vertx.createWebSocketClient(
              new WebSocketClientOptions()
                  .setMaxConnections(SOCKETS_PER_ADDRESS)
                  .setMaxFrameSize(FRAME_BYTES)
                  .setLocalAddress("127.0.0." + address)));
    }
    return URI.create(url);
  }

  private void count(JsonObject event) {
    if (event.getString("type").equals("serverProgress")) {
      samples.set(event.getLong("samples"));
    }
  }

  private List<WebSocket> watch(URI page) {
    List<WebSocket> watchers = new ArrayList<>();
    for (int i = 0; i <= SOCKETS; i++) {
      WebSocketClient client = clients.get(i / SOCKETS_PER_ADDRESS);
      WebSocket socket =
          Await.result(
              client.connect(page.getPort(), page.getHost(), "/eventbus/websocket"),
              LIMIT_SECONDS,
              "a socket");
      socket.handler(message -> messages.incrementAndGet());
      socket.writeTextMessage("{\"type\":\"register\",\"address\":\"metrics.watched\"}");
      if (i == SOCKETS) {
        socket.pause();
      }
      watchers.add(socket);
    }
    return watchers;
  }

  /** Closes sockets and waits until they are closed, so that the next ones find their places. */
  private void leave(List<WebSocket> watchers) {
    List<Future<Void>> closed = new ArrayList<>();
    for (WebSocket socket : watchers) {
      Promise<Void> isClosed = Promise.promise();
      socket.closeHandler(isClosed::tryComplete);
      socket.resume();
      socket.close();
      closed.add(isClosed.future());
    }
    Await.result(Future.join(closed), LIMIT_SECONDS, "closing the sockets");
  }

  private void askForSnapshot(WebSocket socket) {
    JsonObject request =
        new JsonObject()
            .put("type", "send")
            .put("address", "metrics-requests.watched")
            .put("replyAddress", "watcher")
            .put("body", new JsonObject().put("request", "snapshot"));
    socket.writeTextMessage(request.encode());
  }

  /**
   * Checks that training continues. {@code benchmarks/run watching} measures its speed, which a
   * shared machine cannot.
   */
  private void trainOn() {
    long before = samples.get();
    Awaitility.await()
        .pollDelay(Duration.ofMillis(ROUND_MILLIS))
        .atMost(Duration.ofSeconds(LIMIT_SECONDS))
        .until(() -> samples.get() > before);
  }

  private static long usedHeap() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
