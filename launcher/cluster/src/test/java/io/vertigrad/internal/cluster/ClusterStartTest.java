package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.hazelcast.config.Config;
import com.hazelcast.core.HazelcastInstance;
import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.FreePort;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.shareddata.AsyncMap;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterStartTest {

  /** Number of connections that Hazelcast lets the system hold until it accepts them. */
  private static final int ACCEPT_QUEUE = 100;

  private final List<Vertx> started = new ArrayList<>();

  @TempDir private Path folder;

  @AfterEach
  void stop() throws Exception {
    for (Vertx vertx : started) {
      await(vertx.close());
    }
  }

  @Test
  void shouldRefuseForeignAddressWhenTlsIsOff() {
    assertEquals(
        "cluster.host 192.0.2.1 can be reached from other machines and cluster.certificate,"
            + " cluster.key and cluster.authority are not set; make certificates as"
            + " docs/guide/operations.md says, or accept that anyone on that network can take over"
            + " with --insecure",
        refusal(config("192.0.2.1", List.of(), false)));
  }

  @Test
  void shouldAcceptForeignAddressWhenInsecureWasAskedFor() {
    ClusterStart.check(config("192.0.2.1", List.of(), true));
  }

  /** Others would be told to connect to their own machine. */
  @Test
  void shouldRefuseToAdvertiseEveryAddress() {
    assertEquals(
        "cluster.host 0.0.0.0 is every address of this machine, expected the one that other"
            + " machines reach: set it, or auto",
        refusal(config("0.0.0.0", List.of(), true)));
  }

  @Test
  void shouldExpectAllThreeFilesWhenOneIsGiven() {
    ClusterConfig config =
        new ClusterConfig(
            "127.0.0.1",
            15_701,
            ClusterConfig.MEMBERS,
            List.of(),
            false,
            Optional.of("a.pem"),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            0);

    assertEquals(
        "cluster: certificate is given, expected certificate, key and authority together; see"
            + " docs/guide/operations.md",
        refusal(config));
  }

  @Test
  void shouldNameTheFileWhenItCannotBeRead() {
    Path missing = folder.resolve("node.pem");

    assertEquals(
        "cluster.certificate: %s cannot be read, expected a PEM file; docs/guide/operations.md says how"
                .formatted(missing)
            + " to make one",
        refusal(tls(missing, missing, missing)));
  }

  @Test
  void shouldReadNoCertificateWithoutEnd() {
    Path endless = Path.of("/dev/zero");
    assumeTrue(Files.exists(endless), "needs /dev/zero");

    String refusal =
        assertThrows(
                SettingsException.class, () -> NodeCertificate.of(tls(endless, endless, endless)))
            .getMessage();

    assertTrue(refusal.contains("/dev/zero is no regular file"), refusal);
  }

  @Test
  void shouldNameTheAddressWhenNothingAnswersThere() throws Exception {
    int port = FreePort.find();

    Future<Vertx> start =
        new ClusterStart("test", config("127.0.0.1", List.of("127.0.0.1:" + port), false)).start();

    assertEquals(
        "nothing answers at 127.0.0.1:%d; start the job there first, with ./vertigrad train --listen"
            .formatted(port),
        assertThrows(ExecutionException.class, () -> await(start)).getCause().getMessage());
  }

  @Test
  void shouldRequireClientCertificatesWhenTlsIsConfigured() throws Exception {
    Path file = Files.createFile(folder.resolve("any.pem"));
    VertxOptions options = new VertxOptions();

    new ClusterStart("test", tls(file, file, file)).builder(Vertx.builder(), options);

    EventBusOptions bus = options.getEventBusOptions();
    assertTrue(bus.isSsl());
    assertFalse(bus.isTrustAll());
    assertEquals(ClientAuth.REQUIRED, bus.getClientAuth());
    assertEquals("127.0.0.1", bus.getHost());
  }

  @Test
  @Tag("slow")
  void shouldDeliverAcrossNodesWhenOneJoinsTheOther() throws Exception {
    ClusterStart first = new ClusterStart("test", config("127.0.0.1", List.of(), false));
    Vertx one = started(first);
    ClusterStart second =
        new ClusterStart("test", config("127.0.0.1", List.of(first.joinAddress()), false));
    Vertx two = started(second);
    await(one.eventBus().<String>consumer("echo", m -> m.reply(m.body())).completion());

    Object answer = await(two.eventBus().<String>request("echo", "hello")).body();

    assertEquals("hello", answer);
    int port = JoinAddress.parse(second.joinAddress()).port();
    assertEquals(
        "port 16701 (cluster.port) is taken: this cluster is joined at 127.0.0.1:%d, not at that port"
            .formatted(port),
        second.otherPort().orElseThrow());
    assertTrue(
        PortProbe.hangsUp(PortProbe.busPort(first)), "a client without a proof was listened to");
    assertFalse(
        PortProbe.hangsUp(PortProbe.streamPort(one, two)),
        "without TLS a stream waits for its first message");
  }

  @Test
  @Tag("slow")
  void shouldJoinWhenAConnectionToTheMemberTakesSeconds() throws Exception {
    ConnectionGuard busy = new ConnectionGuard("the port of Hazelcast", secret());
    // The next connection closes the first of these, on the thread that accepts connections.
    busy.add(() -> LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(3)));
    for (int i = 1; i < ConnectionGuard.MOST_UNPROVED; i++) {
      busy.add(() -> {});
    }
    ClusterConfig settings = config("127.0.0.1", List.of(), false);
    HazelcastInstance first = ProvedHazelcast.start(HazelcastNode.config("busy", settings), busy);
    List<SocketChannel> queue = new ArrayList<>();
    try {
      InetSocketAddress address = first.getCluster().getLocalMember().getSocketAddress();
      for (int i = 0; i < 2 * ACCEPT_QUEUE; i++) {
        queue.add(SocketChannel.open());
        queue.get(i).configureBlocking(false);
        queue.get(i).connect(address);
      }
      Config joining = HazelcastNode.config("busy", settings);
      HazelcastNode.require(joining, JoinAddress.parse("127.0.0.1:" + address.getPort()));

      HazelcastInstance second =
          ProvedHazelcast.start(joining, new ConnectionGuard("the port of Hazelcast", secret()));

      assertEquals(2, second.getCluster().getMembers().size());
      second.getLifecycleService().terminate();
    } finally {
      for (SocketChannel each : queue) {
        each.close();
      }
      first.getLifecycleService().terminate();
    }
  }

  @Test
  @Tag("slow")
  void shouldLeaveWithoutHandingOverDataWhenAllNodesBelongToTheJobThatIsOver() throws Exception {
    ClusterStart coordinator = ClusterStart.ofMember(job(List.of()), secret(), true);
    Vertx one = started(coordinator);
    ClusterStart member =
        ClusterStart.ofMember(job(List.of(coordinator.joinAddress())), secret(), false);
    started(member);

    coordinator.jobOver();
    member.jobOver();
    assertFalse(member.coordinatorGone().isComplete(), "it is still there");
    await(one.close());

    await(member.coordinatorGone());
  }

  @Test
  @Tag("slow")
  void shouldMigrateClusterDataToANodeOutsideTheEndedJob() throws Exception {
    ClusterStart coordinator = ClusterStart.ofMember(job(List.of()), secret(), true);
    Vertx one = started(coordinator);
    List<String> join = List.of(coordinator.joinAddress());
    ClusterStart member = ClusterStart.ofMember(job(join), secret(), false);
    Vertx two = started(member);
    Vertx foreign = started(new ClusterStart("vertigrad-ending", config("127.0.0.1", join, false)));
    AsyncMap<String, Integer> map =
        await(foreign.sharedData().<String, Integer>getClusterWideMap("of the user"));
    for (int i = 0; i < 100; i++) {
      await(map.put("key " + i, i));
    }

    coordinator.jobOver();
    member.jobOver();
    await(Future.all(one.close(), two.close()));

    assertEquals(100, await(map.size()), "entries that the job's nodes held are lost");
  }

  @Test
  @Tag("slow")
  void shouldRefuseBareClientWhenTlsIsOn() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    Certificates certificates = new Certificates(folder);
    certificates.authority("authority");
    certificates.node("node", "authority");
    ClusterConfig config =
        tls(
            certificates.file("node.pem"),
            certificates.file("node.key"),
            certificates.file("authority.pem"));
    ClusterStart first = new ClusterStart("test", config);
    Vertx one = started(first);
    ClusterConfig joining = joining(config, first.joinAddress());
    Vertx two = started(new ClusterStart("test", joining));
    await(one.eventBus().<String>consumer("echo", m -> m.reply(m.body())).completion());

    assertEquals("hello", await(two.eventBus().<String>request("echo", "hello")).body());
    assertTrue(
        PortProbe.hangsUp(PortProbe.busPort(first)),
        "a client without a certificate was listened to");
    assertTrue(
        PortProbe.hangsUp(PortProbe.streamPort(one, two)),
        "a stream without a certificate was listened to");
  }

  @Test
  void shouldNameTheKeyWhenItDoesNotFitTheCertificate() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    Certificates certificates = new Certificates(folder);
    certificates.authority("authority");
    certificates.node("node", "authority");
    certificates.authority("stranger");
    Path key = certificates.file("stranger.key");
    ClusterConfig wrongKey =
        tls(certificates.file("node.pem"), key, certificates.file("authority.pem"));
    ClusterConfig wrongAuthority =
        tls(
            certificates.file("node.pem"),
            certificates.file("node.key"),
            certificates.file("stranger.pem"));

    assertEquals(
        "cluster.key: %s does not belong to cluster.certificate".formatted(key),
        assertThrows(SettingsException.class, () -> NodeCertificate.of(wrongKey)).getMessage());
    String authority =
        assertThrows(SettingsException.class, () -> NodeCertificate.of(wrongAuthority))
            .getMessage();
    assertTrue(authority.contains("is not valid, or cluster.authority did not sign it"), authority);
  }

  private Vertx started(ClusterStart start) throws Exception {
    Vertx vertx = await(start.start());
    started.add(vertx);
    return vertx;
  }

  private ClusterConfig config(String host, List<String> members, boolean insecure) {
    return new ClusterConfig(
        host,
        16_701,
        ClusterConfig.MEMBERS,
        members,
        insecure,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        secretFile(),
        0);
  }

  private Optional<String> secretFile() {
    secret();
    return Optional.of(folder.resolve("secret").toString());
  }

  private JobSecret secret() {
    return JobSecret.createOrRead(folder.resolve("secret"));
  }

  private static JobConfig job(List<String> members) {
    JsonObject cluster =
        new JsonObject().put("port", 16_701).put("members", new JsonArray(members));
    return JobConfig.read("test", new JsonObject().put("job", "ending").put("cluster", cluster));
  }

  private ClusterConfig tls(Path certificate, Path key, Path authority) {
    return new ClusterConfig(
        "127.0.0.1",
        16_701,
        ClusterConfig.MEMBERS,
        List.of(),
        false,
        Optional.of(certificate.toString()),
        Optional.of(key.toString()),
        Optional.of(authority.toString()),
        secretFile(),
        0);
  }

  private static ClusterConfig joining(ClusterConfig config, String member) {
    return new ClusterConfig(
        config.host(),
        config.port(),
        ClusterConfig.MEMBERS,
        List.of(member),
        false,
        config.certificate(),
        config.key(),
        config.authority(),
        config.secretFile(),
        config.restarts());
  }

  private static String refusal(ClusterConfig config) {
    return assertThrows(SettingsException.class, () -> new ClusterStart("test", config))
        .getMessage();
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
