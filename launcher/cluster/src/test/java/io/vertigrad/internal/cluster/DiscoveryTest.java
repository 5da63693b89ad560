package io.vertigrad.internal.cluster;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.hazelcast.config.KubernetesConfig;
import com.hazelcast.logging.Logger;
import com.hazelcast.spi.discovery.DiscoveryNode;
import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.FreePort;
import io.vertigrad.cluster.StartedManager;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Starts nodes at several loopback addresses, which find each other. */
class DiscoveryTest {

  private static final String ONE = "127.0.0.1";
  private static final String TWO = "127.0.0.2";

  private final List<Vertx> started = new ArrayList<>();

  @TempDir private Path folder;

  @AfterEach
  void stop() throws Exception {
    await(Future.join(started.stream().map(Vertx::close).toList()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "kubernets",
        "Members",
        "members:a",
        "multicast:1",
        "kubernetes:",
        "dns:",
        "seeds"
      })
  void shouldListTheKindsWhenThereIsNoSuchDiscovery(String text) {
    assertEquals(
        "cluster.discovery is \"%s\", expected members, multicast, kubernetes, kubernetes:SERVICE,"
                .formatted(text)
            + " dns:NAME or seeds:HOST[:PORT],...",
        refusal(text));
  }

  @Test
  void shouldRefuseASeedOfIpv6() {
    assertEquals(
        "join address \"[::1]:15701\": IPv6 is not supported, expected the IPv4 address or the name"
            + " of a machine that has one, such as 10.0.0.5:15701",
        refusal("seeds:a,[::1]:15701"));
  }

  @Test
  void shouldNameTheSeedWhenItsPortIsNone() {
    assertEquals(
        "join address \"b:x\": port is \"x\", expected a number from 1 to 65535",
        refusal("seeds:a, b:x"));
  }

  @Test
  @Tag("slow")
  void shouldFindEachOtherBySeedsWhenTheSecondStartsFirst() throws Exception {
    int port = FreePort.find();
    String seeds = "seeds:%s,%s:%d".formatted(ONE, TWO, port);

    ClusterStart late = start(TWO, port, seeds);
    ClusterStart early = start(ONE, port, seeds);

    assertEquals(1, late.otherNodes());
    assertEquals(1, early.otherNodes());
  }

  /** As many nodes as machines, in one JVM; benchmarks/nodes gives each a process. */
  @Test
  @Tag("slow")
  void shouldConnectTwentyNodesAtTwentyAddresses() throws Exception {
    int port = FreePort.find();
    JobSecret secret = JobSecret.random();
    List<ClusterStart> nodes = new ArrayList<>();
    for (int i = 2; i < 22; i++) {
      JsonObject cluster =
          JsonObject.of(
              "host", "127.0.0." + i, "port", port, "discovery", "seeds:127.0.0.2,127.0.0.3");
      JobConfig job = JobConfig.read("test", JsonObject.of("cluster", cluster));
      nodes.add(joined(ClusterStart.ofMember(job, secret, i == 2)));
    }

    Vertx last = started.get(19);
    await(last.eventBus().<String>consumer("echo", m -> m.reply(m.body())).completion());
    for (Vertx each : started) {
      assertEquals("hello", await(each.eventBus().<String>request("echo", "hello")).body());
    }
    nodes.forEach(node -> assertEquals(19, node.otherNodes()));
    nodes.forEach(ClusterStart::jobOver);
  }

  @Test
  @Tag("slow")
  void shouldJoinAMemberByItsNameAndAdvertiseAnAddress() throws Exception {
    int port = FreePort.find();
    List<String> nodes = new ArrayList<>();

    start("localhost", port, ClusterConfig.MEMBERS);
    ClusterStart second =
        joined(
            new ClusterStart(
                "test", config(TWO, port, ClusterConfig.MEMBERS, "localhost:" + port)));

    second.onNodesChanged(nodes::addAll);
    assertEquals(List.of(ONE + ":" + port, TWO + ":" + port), nodes);
  }

  @Test
  @Tag("slow")
  void shouldFindEachOtherByAName() throws Exception {
    int port = FreePort.find();

    start(ONE, port, "dns:localhost");

    assertEquals(1, start(TWO, port, "dns:localhost").otherNodes());
  }

  @Test
  @Tag("slow")
  void shouldFindEachOtherThroughTheApiOfKubernetes() throws Exception {
    int port = FreePort.find();
    try (KubernetesMock api = new KubernetesMock(ONE, TWO)) {
      start(api, ONE, port);
      ClusterStart second = start(api, TWO, port);

      assertEquals(1, second.otherNodes());
      assertEquals(List.of(), List.copyOf(api.refused));
    }
  }

  @Test
  void shouldSayWhatIsMissingOutsideOfKubernetes() throws Exception {
    assumeFalse(
        Files.exists(Path.of("/var/run/secrets/kubernetes.io")), "needs a machine that is no pod");
    ClusterStart start = new ClusterStart("test", config(ONE, FreePort.find(), "kubernetes"));

    Throwable failed =
        assertThrows(
                ExecutionException.class,
                () -> start.start().toCompletionStage().toCompletableFuture().get(60, SECONDS))
            .getCause();

    String why = failed.getMessage();
    assertTrue(why.contains("/var/run/secrets/kubernetes.io/serviceaccount/"), why);
    assertTrue(why.contains("there is no such file"), why);
    assertTrue(why.endsWith("which only a pod has; elsewhere use members, seeds or dns"), why);
  }

  @Test
  @Tag("slow")
  void shouldFindEachOtherByMulticast() throws Exception {
    int port = FreePort.find();

    start(ONE, port, "multicast");

    assertEquals(1, start(ONE, port, "multicast").otherNodes());
  }

  /** Without the secret a stranger gets no answer, and its answer is not taken. */
  @Test
  void shouldNotFindMembersOfAnotherSecretByMulticast() throws Exception {
    int port = FreePort.find();
    JobSecret secret = JobSecret.random();
    MulticastDiscovery member = multicast(port, secret, "127.0.0.1:1");
    MulticastDiscovery stranger = multicast(port, JobSecret.random(), "127.0.0.1:2");
    try {
      member.start();
      stranger.start();

      assertEquals(List.of(), found(stranger));
      assertEquals(List.of("127.0.0.1:1"), found(multicast(port, secret, "127.0.0.1:3")));
    } finally {
      member.destroy();
      stranger.destroy();
    }
  }

  @Test
  void shouldSayWhyThereIsNoMulticast() {
    MulticastDiscovery nowhere =
        new MulticastDiscovery(
            Logger.getLogger("test"), "192.0.2.77", 5, JobSecret.random(), "192.0.2.77:1");

    assertEquals(
        "cluster.discovery multicast cannot be used at 192.0.2.77: no network interface has this"
            + " address; use kubernetes, dns or seeds",
        assertThrows(SettingsException.class, nowhere::start).getMessage());
  }

  private static MulticastDiscovery multicast(int port, JobSecret secret, String own) {
    return new MulticastDiscovery(Logger.getLogger("test"), ONE, port, secret, own);
  }

  private static List<String> found(MulticastDiscovery asking) {
    return StreamSupport.stream(asking.discoverNodes().spliterator(), false)
        .map(DiscoveryNode::getPrivateAddress)
        .map(address -> address.getHost() + ":" + address.getPort())
        .toList();
  }

  private ClusterStart start(KubernetesMock api, String host, int port) throws Exception {
    ClusterStart start = new ClusterStart("test", config(host, port, "kubernetes:nodes"));
    KubernetesConfig kubernetes =
        StartedManager.of(start).getConfig().getNetworkConfig().getJoin().getKubernetesConfig();
    kubernetes
        .setProperty("kubernetes-master", api.url())
        .setProperty("namespace", KubernetesMock.NAMESPACE)
        .setProperty("api-token", KubernetesMock.TOKEN)
        .setProperty("ca-certificate", "");
    return joined(start);
  }

  private ClusterStart start(String host, int port, String discovery) throws Exception {
    return joined(new ClusterStart("test", config(host, port, discovery)));
  }

  private ClusterStart joined(ClusterStart start) throws Exception {
    started.add(await(start.start()));
    return start;
  }

  private ClusterConfig config(String host, int port, String discovery, String... members) {
    JobSecret.createOrRead(folder.resolve("secret"));
    return new ClusterConfig(
        host,
        port,
        discovery,
        List.of(members),
        false,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.of(folder.resolve("secret").toString()),
        0);
  }

  private static String refusal(String discovery) {
    ClusterConfig config =
        new ClusterConfig(
            ONE,
            1,
            discovery,
            List.of(),
            false,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            0);
    return assertThrows(SettingsException.class, () -> ClusterStart.check(config)).getMessage();
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  /**
   * The part of the API of Kubernetes that the plugin asks: one service, with a pod per address.
   */
  private static final class KubernetesMock implements AutoCloseable {

    static final String NAMESPACE = "training";
    static final String TOKEN = "a token";

    private final Vertx vertx = Vertx.vertx();
    private final HttpServer server;
    private final List<String> addresses;
    private final ConcurrentLinkedQueue<String> refused = new ConcurrentLinkedQueue<>();

    KubernetesMock(String... addresses) throws Exception {
      this.addresses = List.of(addresses);
      server = await(vertx.createHttpServer().requestHandler(this::answer).listen(0, ONE));
    }

    String url() {
      return "http://%s:%d".formatted(ONE, server.actualPort());
    }

    private void answer(HttpServerRequest request) {
      boolean known = ("Bearer " + TOKEN).equals(request.getHeader("Authorization"));
      String slices = "/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices".formatted(NAMESPACE);
      if (known && request.path().equals(slices)) {
        boolean ours = String.valueOf(request.query()).endsWith("kubernetes.io/service-name=nodes");
        request.response().end(slices(ours ? addresses : List.of()).encode());
      } else if (known && request.path().startsWith("/api/v1/n")) {
        // A pod or a node; without a zone.
        request.response().end("{\"metadata\": {}, \"spec\": {\"nodeName\": \"node\"}}");
      } else {
        refused.add(request.method() + " " + request.uri());
        request.response().setStatusCode(known ? 404 : 401).end("{}");
      }
    }

    private static JsonObject slices(List<String> addresses) {
      JsonArray endpoints = new JsonArray();
      addresses.forEach(
          address ->
              endpoints.add(
                  JsonObject.of(
                      "addresses",
                      JsonArray.of(address),
                      "conditions",
                      JsonObject.of("ready", true))));
      return JsonObject.of("items", JsonArray.of(JsonObject.of("endpoints", endpoints)));
    }

    @Override
    public void close() {
      vertx.close();
    }
  }
}
