package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.job.JobConfig;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.WebSocketClient;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.junit5.VertxExtension;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(VertxExtension.class)
final class BrowserBridgeTest {

  private static final Addresses STORY = new Addresses("story");
  private static final Addresses SNAPSHOTS = new Addresses("snapshots");
  private static final JsonObject SNAPSHOT = new JsonObject().put("request", "snapshot");
  private static final Duration LIMIT = Duration.ofSeconds(15);
  private static final Duration SOON = Duration.ofMillis(2);

  private final List<Object> intruded = new CopyOnWriteArrayList<>();
  private Vertx vertx;
  private WebSocketClient client;
  private int port;

  @BeforeEach
  void deploy(Vertx fresh) throws Exception {
    vertx = fresh;
    client = RawBrowser.client(vertx);
    deploy("story");
    vertx.eventBus().consumer(STORY.metricsRequests(), message -> message.reply(message.body()));
  }

  private DashboardVerticle deploy(String name) throws Exception {
    DashboardVerticle page = new DashboardVerticle();
    JsonObject job =
        new JsonObject().put("job", name).put("dashboard", new JsonObject().put("port", 0));
    DeploymentOptions options =
        new DeploymentOptions().setConfig(JobConfig.read("test", job).json());
    await(vertx.deployVerticle(page, options));
    port = URI.create(page.url()).getPort();
    return page;
  }

  @Test
  void shouldCarryMetricsOutAndRequestsIn() throws Exception {
    RawBrowser browser = open();
    browser.listen(STORY.metrics());
    browser.ask(STORY.metricsRequests(), new JsonObject().put("request", "snapshot"));
    until(() -> browser.received().size() == 1);

    vertx.eventBus().publish(STORY.metrics(), new JsonObject().put("number", 1));
    until(() -> browser.received().size() == 2);

    JsonObject reply = new JsonObject().put("request", "snapshot");
    assertEquals(reply, browser.received().get(0).getJsonObject("body"));
    assertEquals(1, browser.received().get(1).getJsonObject("body").getInteger("number"));
  }

  @Test
  void shouldSendTheEndToEveryBrowserBeforeTheServerCloses() throws Exception {
    Vertx server = Vertx.vertx();
    DashboardVerticle page = new DashboardVerticle();
    JsonObject job =
        new JsonObject().put("job", "story").put("dashboard", new JsonObject().put("port", 0));
    await(
        server.deployVerticle(
            page, new DeploymentOptions().setConfig(JobConfig.read("test", job).json())));
    List<RawBrowser> browsers = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      browsers.add(await(RawBrowser.open(client, URI.create(page.url()).getPort())));
    }
    browsers.forEach(browser -> browser.listen(STORY.metrics()));
    until(
        () -> {
          server.eventBus().publish(STORY.metrics(), delta(1));
          return browsers.stream().noneMatch(browser -> browser.received().isEmpty());
        });

    server.eventBus().publish(STORY.metrics(), delta(2));
    await(server.close());

    until(() -> browsers.stream().allMatch(browser -> newest(browser) == 2));
  }

  /**
   * As when a page has connected again without a web socket, asks for the run's stop, and the run
   * stops at once: nothing is on its way to it between two of its requests.
   */
  @Test
  void shouldWaitForABrowserThatPollsBeforeTheServerCloses() throws Exception {
    Vertx server = Vertx.vertx();
    DashboardVerticle page = new DashboardVerticle();
    JsonObject job =
        new JsonObject().put("job", "story").put("dashboard", new JsonObject().put("port", 0));
    await(
        server.deployVerticle(
            page, new DeploymentOptions().setConfig(JobConfig.read("test", job).json())));
    server.eventBus().consumer(STORY.metricsRequests(), message -> message.reply(message.body()));
    String session = page.url() + "eventbus/000/abcdefgh/";
    assertEquals("o\n", post(session + "xhr", ""));
    JsonObject listen = new JsonObject().put("type", "register").put("address", STORY.metrics());
    JsonObject ask =
        new JsonObject()
            .put("type", "send")
            .put("address", STORY.metricsRequests())
            .put("replyAddress", "me")
            .put("body", SNAPSHOT);
    post(session + "xhr_send", JsonArray.of(listen.encode(), ask.encode()).encode());
    String snapshot = post(session + "xhr", "");
    assertTrue(snapshot.contains("snapshot"), snapshot);

    server.eventBus().publish(STORY.metrics(), delta(1));
    Future<Void> closed = server.close();
    TimeUnit.MILLISECONDS.sleep(200);
    String last = post(session + "xhr", "");
    await(closed);

    assertTrue(last.contains("delta"), last);
  }

  private static String post(String address, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(address))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .timeout(LIMIT)
            .build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  private static int newest(RawBrowser browser) {
    List<JsonObject> received = browser.received();
    return received.get(received.size() - 1).getJsonObject("body").getInteger("number");
  }

  private static JsonObject delta(int number) {
    return new JsonObject()
        .put("kind", "delta")
        .put("number", number)
        .put("timeMillis", number)
        .put("state", new JsonObject())
        .put("members", new JsonArray());
  }

  @Test
  void shouldDeliverEveryDeltaWholeToEveryBrowser() throws Exception {
    List<RawBrowser> browsers = List.of(open(), open(), open());
    browsers.forEach(browser -> browser.listen(STORY.metrics()));
    for (RawBrowser browser : browsers) {
      until(() -> registered(browser));
    }

    for (int number = 1; number <= 20; number++) {
      JsonObject delta = new JsonObject().put("kind", "delta").put("number", number);
      vertx.eventBus().publish(STORY.metrics(), delta.put("timeMillis", 100 + number));
    }

    for (RawBrowser browser : browsers) {
      until(() -> numbers(browser).size() == 20);
      assertEquals(IntStream.rangeClosed(1, 20).boxed().toList(), numbers(browser));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "vertigrad.story.coordinator",
        "vertigrad.story.control",
        "vertigrad.story.shard.0.0",
        "metrics.story",
        "metrics-requests.another"
      })
  void shouldRefuseAllOtherIncomingMessages(String address) throws Exception {
    vertx.eventBus().consumer(address, message -> intruded.add(message.body()));
    RawBrowser browser = open();

    browser.send("send", address, new JsonObject().put("request", "stop"));
    browser.send("publish", address, new JsonObject().put("request", "stop"));

    until(
        () ->
            browser.received().stream().filter(m -> m.getString("type").equals("err")).count()
                == 2);
    assertEquals(List.of(), intruded);
  }

  @Test
  void shouldReplyAtTheReplyAddressWhenAccessIsDenied() throws Exception {
    RawBrowser browser = open();

    browser.ask("vertigrad.story.control", new JsonObject().put("request", "stop"));
    browser.send("publish", "vertigrad.story.events", "hello");
    browser.send("publish", STORY.metricsRequests(), "hello");
    browser.listen("vertigrad.story.control");

    until(() -> browser.received().size() == 4);
    browser.ask(STORY.metricsRequests(), new JsonObject().put("request", "last"));
    until(() -> browser.received().size() >= 5);
    assertEquals(5, browser.received().size(), "one answer to each: " + browser.received());
    List<JsonObject> denied = browser.received().subList(0, 4);
    // "r" is the address at which the sender waits for its answer.
    assertEquals(
        List.of("r", "vertigrad.story.events", STORY.metricsRequests(), "vertigrad.story.control"),
        denied.stream().map(answer -> answer.getString("address")).toList());
    for (JsonObject answer : denied) {
      assertEquals("err", answer.getString("type"), answer::encode);
      assertEquals("access_denied", answer.getString("failureType"), answer::encode);
    }
    assertEquals(
        "a browser may not send to vertigrad.story.control; it may listen to metrics.<job> and send"
            + " to metrics-requests.story",
        denied.get(0).getString("message"));
    assertTrue(denied.get(1).getString("message").contains("publish to"), denied.get(1)::encode);
    assertTrue(denied.get(3).getString("message").contains("listen to"), denied.get(3)::encode);
  }

  @Test
  void shouldNotLetBrowsersTalkToEachOther() throws Exception {
    RawBrowser browser = open();

    browser.send("publish", STORY.metricsRequests(), "hello");

    until(() -> browser.received("err"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"vertigrad.story.control", "vertigrad.story.events", "metrics-requests.story"})
  void shouldRefuseAllOtherOutgoingMessages(String address) throws Exception {
    RawBrowser browser = open();

    browser.listen(address);
    until(() -> browser.received("err"));
    vertx.eventBus().publish(address, new JsonObject().put("secret", true));
    browser.ask(STORY.metricsRequests(), new JsonObject().put("request", "last"));
    until(() -> browser.received().size() >= 2);

    assertFalse(browser.received().toString().contains("secret"), browser.received().toString());
  }

  @Test
  void shouldLimitTheHandlersOfASocket() throws Exception {
    RawBrowser browser = open();

    for (int i = 0; i < 20; i++) {
      browser.listen("metrics.job" + i);
    }

    until(() -> browser.received().toString().contains("max_handlers_reached"));
  }

  @Test
  void shouldCloseABrowserThatFloods() throws Exception {
    RawBrowser browser = open();

    for (int i = 0; i < 2 * BrowserSocket.BURST; i++) {
      browser.ping();
    }

    until(browser::closed);
  }

  @Test
  void shouldCloseABrowserThatSendsALargeFrame() throws Exception {
    RawBrowser browser = open();

    browser.ask(STORY.metricsRequests(), "x".repeat(64 * 1024));

    until(browser::closed);
  }

  @Test
  @Tag("slow")
  void shouldCloseABrowserThatNeverReads() throws Exception {
    RawBrowser browser = open();
    browser.listen(STORY.metrics());
    until(() -> registered(browser));
    browser.stopReading();
    RawBrowser reader = open();
    reader.listen(STORY.metrics());
    until(() -> registered(reader));

    String bulk = "x".repeat(256 * 1024);
    for (int i = 0; i < 100; i++) {
      int count = reader.received().size();
      vertx.eventBus().publish(STORY.metrics(), new JsonObject().put("bulk", bulk));
      until(() -> reader.received().size() > count);
    }

    browser.readOn();
    until(browser::closed);
    assertTrue(browser.received().size() < 100, "it was sent everything");
    assertFalse(reader.closed());
  }

  @Test
  @Tag("slow")
  void shouldRefuseABrowserBeyondTheLimit() throws Exception {
    List<RawBrowser> browsers = new ArrayList<>();
    for (int address = 1; browsers.size() < BrowserBridge.SOCKETS; address++) {
      browsers.addAll(openFrom("127.0.0." + address, BrowserBridge.SOCKETS_PER_ADDRESS));
    }

    RawBrowser surplus = openFrom("127.0.0.100", 1).get(0);

    until(surplus::closed);
    assertTrue(browsers.stream().noneMatch(RawBrowser::closed));
  }

  @Test
  void shouldLimitTheSocketsOfOneAddress() throws Exception {
    List<RawBrowser> many = openFrom("127.0.0.2", BrowserBridge.SOCKETS_PER_ADDRESS);

    RawBrowser surplus = openFrom("127.0.0.2", 1).get(0);
    RawBrowser other = openFrom("127.0.0.3", 1).get(0);
    other.ask(STORY.metricsRequests(), new JsonObject().put("request", "any"));

    until(surplus::closed);
    until(() -> other.received("rec"));
    assertTrue(many.stream().noneMatch(RawBrowser::closed));
  }

  @Test
  void shouldEncodeOneSnapshotForAllBrowsersThatAskInTheSameTick() throws Exception {
    AtomicInteger requests = serveSnapshots("MARK");
    List<RawBrowser> browsers = openFrom("127.0.0.1", 50);

    browsers.forEach(browser -> browser.ask(SNAPSHOTS.metricsRequests(), SNAPSHOT));

    until(() -> browsers.stream().allMatch(browser -> browser.received("rec")));
    assertTrue(requests.get() < 10, "50 browsers caused " + requests + " snapshots");
    for (RawBrowser browser : browsers) {
      JsonObject answer = browser.received().get(0);
      assertEquals("r", answer.getString("address"));
      assertEquals("MARK", answer.getJsonObject("body").getString("history"));
    }
  }

  @Test
  void shouldAnswerWithANewSnapshotAfterEveryDelta() throws Exception {
    AtomicInteger number = new AtomicInteger();
    vertx
        .eventBus()
        .consumer(
            SNAPSHOTS.metricsRequests(),
            asked -> asked.reply(new JsonObject().put("number", number.incrementAndGet())));
    deploy("snapshots");
    RawBrowser browser = open();
    browser.listen(SNAPSHOTS.metrics());
    browser.ask(SNAPSHOTS.metricsRequests(), SNAPSHOT);
    until(() -> browser.received().size() == 1);

    vertx.eventBus().publish(SNAPSHOTS.metrics(), delta(1));
    until(() -> browser.received().size() == 2);
    browser.ask(SNAPSHOTS.metricsRequests(), SNAPSHOT);

    until(() -> browser.received().size() == 3);
    assertEquals(2, browser.received().get(2).getJsonObject("body").getInteger("number"));
  }

  @Test
  void shouldRefuseABrowserThatAsksForASnapshotMoreThanOnceASecond() throws Exception {
    serveSnapshots("MARK");
    RawBrowser browser = open();

    for (int i = 0; i < 8; i++) {
      browser.ask(SNAPSHOTS.metricsRequests(), SNAPSHOT);
    }

    until(() -> browser.received().size() == 8);
    List<String> refusals =
        browser.received().stream()
            .map(answer -> answer.getJsonObject("body").getString("refused"))
            .filter(Objects::nonNull)
            .toList();
    assertTrue(refusals.size() >= 4, browser.received()::toString);
    assertTrue(refusals.get(0).contains("ask again in a second"), refusals::toString);
    assertFalse(browser.closed());
  }

  @Test
  @Tag("slow")
  void shouldBoundPendingBytesOfAllBrowsersThatDoNotRead() throws Exception {
    DashboardVerticle page = deploy("snapshots");
    String bulk = "x".repeat(BrowserSocket.PENDING_BYTES - 1_000);
    List<RawBrowser> browsers = openFrom("127.0.0.1", 24);
    for (RawBrowser browser : browsers) {
      browser.listen(SNAPSHOTS.metrics());
      browser.stopReading();
    }
    RawBrowser reader = openFrom("127.0.0.2", 1).get(0);
    reader.listen(SNAPSHOTS.metrics());
    until(() -> registered(reader, SNAPSHOTS));
    long most = 0;

    for (int i = 0; i < 12; i++) {
      int count = reader.received().size();
      vertx.eventBus().publish(SNAPSHOTS.metrics(), new JsonObject().put("bulk", bulk));
      until(() -> reader.received().size() > count);
      most = Math.max(most, page.pendingBytes());
    }

    assertTrue(most <= BrowserBridge.PENDING_BYTES, most + " bytes were pending");
    assertFalse(reader.closed());
    browsers.forEach(RawBrowser::readOn);
    until(() -> browsers.stream().allMatch(RawBrowser::closed));
    until(() -> page.pendingBytes() == 0);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "x",
        "[]",
        "{}",
        "{\"type\":7}",
        "{\"type\":\"send\"}",
        "{\"type\":\"unknown\",\"address\":\"a\"}",
        "{\"type\":\"unregister\",\"address\":\"metrics.story\"}",
        "{\"type\":\"send\",\"address\":\"metrics-requests.story\",\"body\":7,\"replyAddress\":[]}"
      })
  void shouldCloseABrowserThatFloodsWithAnything(String message) throws Exception {
    RawBrowser browser = open();

    for (int i = 0; i < 2 * BrowserSocket.BURST; i++) {
      browser.text(message);
    }

    until(browser::closed);
    // Half of what it may send before it is closed is answered, and then one message a second.
    assertTrue(browser.received().size() < BrowserSocket.BURST, browser.received()::toString);
  }

  /** Answers and counts snapshot requests for a second job, whose page is the one that is open. */
  private AtomicInteger serveSnapshots(String history) throws Exception {
    AtomicInteger requests = new AtomicInteger();
    vertx
        .eventBus()
        .consumer(
            SNAPSHOTS.metricsRequests(),
            asked -> {
              requests.incrementAndGet();
              asked.reply(new JsonObject().put("history", history));
            });
    deploy("snapshots");
    return requests;
  }

  private List<RawBrowser> openFrom(String localAddress, int count) throws Exception {
    WebSocketClient local = RawBrowser.client(vertx, localAddress);
    List<RawBrowser> browsers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      browsers.add(await(RawBrowser.open(local, port)));
    }
    return browsers;
  }

  /** Publishes until the browser receives a message; registrations are not acknowledged. */
  private boolean registered(RawBrowser browser) {
    return registered(browser, STORY);
  }

  private boolean registered(RawBrowser browser, Addresses job) {
    vertx.eventBus().publish(job.metrics(), new JsonObject());
    return !browser.received().isEmpty();
  }

  private static List<Integer> numbers(RawBrowser browser) {
    return browser.received().stream()
        .map(message -> message.getJsonObject("body"))
        .filter(body -> body.containsKey("number"))
        .map(body -> body.getInteger("number"))
        .toList();
  }

  private RawBrowser open() throws Exception {
    return await(RawBrowser.open(client, port));
  }

  private static void until(Callable<Boolean> condition) {
    Awaitility.await().atMost(LIMIT).pollInterval(SOON).until(condition);
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }
}
