package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.Config;
import com.hazelcast.config.TcpIpConfig;
import com.hazelcast.core.Hazelcast;
import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.StartedManager;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.impl.CodecManager;
import io.vertx.core.eventbus.impl.clustered.ClusteredMessage;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.math.BigInteger;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests what processes that do not belong to the job can do to it on this machine. */
@Tag("slow")
class ForgedMessagesTest {

  private static final int TRIES = 100;
  private static final String STOP_REFUSED =
      "a message to vertigrad.forged.coordinator is refused: ";
  private static final Frame FRAME =
      new PeerPartition(new ExchangeId(1, 2, 3, 4, 5, 6), 7, 0, Tensor.ofFloats(1, 2));

  private final List<Vertx> started = new ArrayList<>();
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicInteger words = new AtomicInteger();
  private final AtomicInteger frames = new AtomicInteger();
  private final AtomicReference<Message<JsonObject>> received = new AtomicReference<>();

  @TempDir private Path folder;
  private JobSecret secret;
  private JobConfig job;
  private ClusterStart start;
  private Vertx vertx;

  @BeforeEach
  void coordinate() throws Exception {
    secret = JobSecret.createOrRead(folder.resolve("secret"));
    job = job(List.of(), new JsonObject());
    start = ClusterStart.ofMember(job, secret, true);
    vertx = started(start);
    listen(vertx);
  }

  @AfterEach
  void stop() throws Exception {
    for (Vertx each : started) {
      await(each.close());
    }
  }

  @Test
  void shouldRefuseEveryForgedMessageOfANodeThatKnowsTheClusterButNotTheSecret() throws Exception {
    Vertx insider = insider();
    JobSecret other = JobSecret.random();

    for (int i = 0; i < TRIES; i++) {
      assertEquals(
          STOP_REFUSED + "it carries no proof of the job's secret (cluster.secretFile)",
          refusal(insider, request("stop"), new DeliveryOptions()));
      insider.eventBus().publish(control(), new JsonObject().put("stop", "forged"));
      String code = java.util.Base64.getEncoder().encodeToString(other.sign("guess"));
      String proof = "someone:" + i + ":" + System.currentTimeMillis() + ":" + code;
      assertEquals(
          STOP_REFUSED + "its sender has another secret (cluster.secretFile)",
          refusal(
              insider,
              request("pause"),
              new DeliveryOptions().addHeader("vertigrad-proof", proof)));
      assertThrows(
          ExecutionException.class,
          () -> await(Transport.onBus(insider.eventBus()).request(gradients(), FRAME, 5_000)));
    }

    assertEquals(0, requests.get(), "requests that were listened to");
    assertEquals(0, words.get(), "published words that were listened to");
    assertEquals(0, frames.get(), "gradients that were listened to");
  }

  @Test
  void shouldRefuseEveryForgedMessageFromASocket() throws Exception {
    int port = PortProbe.busPort(start);
    await(vertx.eventBus().consumer("of-the-user", m -> words.incrementAndGet()).completion());
    for (int i = 0; i < TRIES; i++) {
      try (Socket socket = new Socket("127.0.0.1", port)) {
        socket.setSoTimeout(5_000);
        socket.getOutputStream().write(wire(coordinator(), request("stop"), true));
        socket.getOutputStream().write(wire(control(), new JsonObject().put("stop", "x"), false));
        socket.getOutputStream().write(wire("of-the-user", new JsonObject(), true));
        socket.getOutputStream().flush();
        assertTrue(isClosed(socket), "the connection should be closed");
      } catch (IOException reset) {
        // The connection was closed while this end was still writing.
      }
    }

    assertEquals(0, requests.get());
    assertEquals(0, words.get());
  }

  @Test
  void shouldRefuseASerialisedNumberWithAForgedProofWithoutReadingIt() throws Exception {
    String forged = "someone:0:" + System.currentTimeMillis() + ":" + "A".repeat(43) + "=";
    // Converting this number to decimal digits takes 15 s.
    BigInteger number = BigInteger.ONE.shiftLeft(8 << 20);
    Vertx insider = insider();
    Vertx member = member();

    long begun = System.nanoTime();
    insider
        .eventBus()
        .send(coordinator(), number, new DeliveryOptions().addHeader("vertigrad-proof", forged));
    assertEquals(
        STOP_REFUSED + "it carries no proof of the job's secret (cluster.secretFile)",
        refusal(insider, request("stop"), new DeliveryOptions()));
    assertEquals("stop", ask(member, "stop"));

    long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun);
    assertTrue(seconds < 10, "the event loop was blocked for " + seconds + " s");
    assertEquals(1, requests.get());
  }

  @Test
  void shouldReadNoSerialisedObjectEvenOfAMember() throws Exception {
    Vertx member = member();
    AtomicInteger read = new AtomicInteger();
    await(vertx.eventBus().consumer(metrics(), m -> read.incrementAndGet()).completion());

    ExecutionException refused =
        assertThrows(
            ExecutionException.class,
            () -> await(member.eventBus().request(metrics(), BigInteger.TEN)));

    assertEquals(
        "a message to metrics.forged is refused: it carries no proof of the job's secret"
            + " (cluster.secretFile)",
        refused.getCause().getMessage());
    assertEquals(0, read.get());
  }

  @Test
  void shouldRefuseForgedMetricsAndPassOnThoseOfAMember() throws Exception {
    List<Object> read = new CopyOnWriteArrayList<>();
    await(vertx.eventBus().consumer(metrics(), message -> read.add(message.body())).completion());
    JsonObject delta = new JsonObject().put("number", 1);

    Vertx insider = insider();
    insider.eventBus().publish(metrics(), "forged");
    insider.eventBus().publish(metrics(), FRAME);
    ExecutionException refused =
        assertThrows(
            ExecutionException.class,
            () -> await(insider.eventBus().request(metrics(), new JsonObject())));
    member().eventBus().publish(metrics(), delta);

    assertTrue(refused.getCause().getMessage().contains("carries no proof"));
    Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> read.contains(delta));
    assertEquals(List.of(delta), read);
  }

  @Test
  void shouldAcceptProvedMessagesOnce() throws Exception {
    Vertx member = member();
    assertEquals("stop", ask(member, "stop"));
    member.eventBus().publish(control(), new JsonObject().put("stop", "the end"));
    ExchangeConfig config = job.exchange();
    assertEquals(FRAME, await(Transport.of(member, config).request(gradients(), FRAME, 5_000)));
    assertEquals(
        FRAME, await(Transport.onBus(member.eventBus()).request(gradients(), FRAME, 5_000)));
    assertEquals(
        FRAME, await(Transport.onBus(vertx.eventBus()).request(gradients(), FRAME, 5_000)));
    assertEquals(3, frames.get());

    Message<JsonObject> recorded = received.get();
    DeliveryOptions again = new DeliveryOptions().setHeaders(copy(recorded.headers()));
    Vertx insider = insider();
    for (int i = 0; i < TRIES; i++) {
      assertEquals(
          STOP_REFUSED + "it is a copy of one that was here before",
          refusal(insider, recorded.body(), again));
    }
    assertEquals(1, requests.get());
  }

  @Test
  void shouldRefuseARecordedMessageInTheSameJobStartedAgain() throws Exception {
    assertEquals("stop", ask(member(), "stop"));
    Message<JsonObject> recorded = received.get();
    for (Vertx each : started) {
      await(each.close());
    }
    started.clear();

    start = ClusterStart.ofMember(job, secret, true);
    vertx = started(start);
    listen(vertx);

    assertEquals(
        STOP_REFUSED
            + "its sender has not answered for 15 s: it has ended, or this is a copy of an old"
            + " message",
        refusal(
            insider(),
            recorded.body(),
            new DeliveryOptions().setHeaders(copy(recorded.headers()))));
    assertEquals(1, requests.get());
  }

  @Test
  void shouldRefuseARecordedMessageOfALivingSenderWhenTheReceiverIsNew() throws Exception {
    assertEquals("stop", ask(member(), "stop"));
    Message<JsonObject> recorded = received.get();
    DeliveryOptions again = new DeliveryOptions().setHeaders(copy(recorded.headers()));
    listen(member());
    Vertx insider = insider();

    // Requests go to both consumers by turns.
    Set<String> refusals = new TreeSet<>();
    for (int i = 0; i < TRIES; i++) {
      refusals.add(refusal(insider, recorded.body(), again));
    }

    assertEquals(
        Set.of(
            STOP_REFUSED + "it is a copy of one that was here before",
            STOP_REFUSED + "it was sent before this process began to listen"),
        refusals);
    assertEquals(1, requests.get());
  }

  @Test
  void shouldDeliverInOrderWhenMessagesComeBeforeTheirSenderIsKnown() throws Exception {
    List<Object> read = new CopyOnWriteArrayList<>();
    await(vertx.eventBus().consumer(metrics(), message -> read.add(message.body())).completion());
    List<Object> expected = new ArrayList<>();

    Vertx member = member();
    for (int i = 0; i < TRIES; i++) {
      JsonObject next = new JsonObject().put("number", i);
      expected.add(next);
      member.eventBus().publish(metrics(), next);
    }

    Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> read.size() == TRIES);
    assertEquals(expected, read);
  }

  @Test
  void shouldRefuseAStreamBeforeThereIsMemoryForAFrame() throws Exception {
    DeliveryOptions where = new DeliveryOptions().addHeader("vertigrad-stream", "");
    int port =
        await(member().eventBus().<JsonObject>request(gradients(), null, where))
            .body()
            .getInteger("port");
    byte[] address = gradients().getBytes();
    ByteBuffer open =
        ByteBuffer.allocate(16 + 32 + address.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(32 + address.length)
            .putInt(0)
            .put("VGSTRM03".getBytes())
            .put(new byte[32])
            .put(address);
    byte[] request =
        ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putInt(500_000).putInt(1).array();
    byte[] proof =
        ByteBuffer.allocate(48).order(ByteOrder.LITTLE_ENDIAN).putInt(32).putInt(7).array();
    for (int i = 0; i < TRIES; i++) {
      for (byte[] next : List.of(request, proof)) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
          socket.setSoTimeout(5_000);
          socket.getOutputStream().write(open.array());
          assertEquals(16 + 64, socket.getInputStream().readNBytes(16 + 64).length);
          socket.getOutputStream().write(next);
          assertTrue(isClosed(socket), "the stream should be closed");
        }
      }
    }
    assertEquals(0, frames.get());
  }

  @Test
  void shouldRefuseHazelcastThatKnowsOnlyTheJobsName() throws Exception {
    assertNobodyGetsIn();
  }

  @Test
  void shouldRefuseUnprovedHazelcastWhenTlsIsOn() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    await(vertx.close());
    started.clear();
    Certificates certificates = new Certificates(folder);
    certificates.authority("authority");
    certificates.node("node", "authority");
    JsonObject tls =
        new JsonObject()
            .put("certificate", certificates.file("node.pem").toString())
            .put("key", certificates.file("node.key").toString())
            .put("authority", certificates.file("authority.pem").toString());
    start = ClusterStart.ofMember(job(List.of(), tls), secret, true);
    vertx = started(start);

    assertNobodyGetsIn();
  }

  private void assertNobodyGetsIn() {
    ClientConfig client = new ClientConfig().setClusterName("vertigrad-forged");
    client.getNetworkConfig().addAddress(start.joinAddress());
    client
        .getConnectionStrategyConfig()
        .getConnectionRetryConfig()
        .setClusterConnectTimeoutMillis(1_000);
    assertThrows(
        IllegalStateException.class, () -> HazelcastClient.newHazelcastClient(client).shutdown());

    Config stranger = new Config().setClusterName("vertigrad-forged");
    stranger.setProperty("hazelcast.max.join.seconds", "4");
    stranger.getNetworkConfig().setPort(16_801).getJoin().getMulticastConfig().setEnabled(false);
    stranger.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
    TcpIpConfig addresses = stranger.getNetworkConfig().getJoin().getTcpIpConfig();
    addresses.setEnabled(true).addMember(start.joinAddress());
    // Otherwise it would wait ten seconds more for the job's consent to a cluster of its own.
    addresses.setRequiredMember(start.joinAddress());
    assertThrows(
        IllegalStateException.class,
        () -> Hazelcast.newHazelcastInstance(stranger).getLifecycleService().terminate());
    assertEquals(
        1, StartedManager.of(start).getHazelcastInstance().getCluster().getMembers().size());
  }

  private void listen(Vertx here) throws Exception {
    FrameCodecs.register(here.eventBus());
    await(
        here.eventBus()
            .<JsonObject>consumer(
                coordinator(),
                message -> {
                  requests.incrementAndGet();
                  received.set(message);
                  message.reply(message.body());
                })
            .completion());
    await(here.eventBus().consumer(control(), message -> words.incrementAndGet()).completion());
    await(
        Transport.listen(
            here,
            gradients(),
            frame -> {
              frames.incrementAndGet();
              return Future.succeededFuture(frame);
            }));
  }

  /** Returns a node of the same cluster whose messages carry no proof of the job's secret. */
  private Vertx insider() throws Exception {
    JsonObject cluster = JsonObject.of("secretFile", folder.resolve("secret").toString());
    JobConfig joining = job(List.of(start.joinAddress()), cluster);
    Vertx insider = started(new ClusterStart("vertigrad-forged", joining.cluster()));
    FrameCodecs.register(insider.eventBus());
    return insider;
  }

  private Vertx member() throws Exception {
    JobConfig joining = job(List.of(start.joinAddress()), new JsonObject());
    Vertx member = started(ClusterStart.ofMember(joining, secret, false));
    FrameCodecs.register(member.eventBus());
    return member;
  }

  private Vertx started(ClusterStart starting) throws Exception {
    Vertx made = await(starting.start());
    started.add(0, made);
    return made;
  }

  private String ask(Vertx from, String name) throws Exception {
    return await(from.eventBus().<JsonObject>request(coordinator(), request(name)))
        .body()
        .getString("request");
  }

  private String refusal(Vertx from, JsonObject body, DeliveryOptions options) {
    ExecutionException refused =
        assertThrows(
            ExecutionException.class,
            () -> await(from.eventBus().request(coordinator(), body, options)));
    int code = ((ReplyException) refused.getCause()).failureCode();
    assertTrue(code == 403 || code == 409, "failed otherwise: " + refused.getCause());
    return refused.getCause().getMessage();
  }

  private static byte[] wire(String address, JsonObject body, boolean send) {
    MultiMap headers = MultiMap.caseInsensitiveMultiMap();
    Buffer bytes =
        new ClusteredMessage<>(
                "nobody",
                address,
                headers,
                body,
                CodecManager.JSON_OBJECT_MESSAGE_CODEC,
                send,
                null)
            .encodeToWire();
    return bytes.getBytes();
  }

  private static MultiMap copy(MultiMap headers) {
    return MultiMap.caseInsensitiveMultiMap().addAll(headers);
  }

  private static boolean isClosed(Socket socket) {
    try {
      return socket.getInputStream().read() < 0;
    } catch (java.net.SocketTimeoutException open) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  private static JsonObject request(String name) {
    return new JsonObject().put("request", name);
  }

  private String coordinator() {
    return job.addresses().coordinator();
  }

  private String control() {
    return job.addresses().control();
  }

  private String metrics() {
    return job.addresses().metrics();
  }

  private String gradients() {
    return job.addresses().shard(0, 0);
  }

  private static JobConfig job(List<String> members, JsonObject cluster) {
    JsonObject all = cluster.copy().put("port", 16_721).put("members", new JsonArray(members));
    return JobConfig.read("test", new JsonObject().put("job", "forged").put("cluster", all));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
