package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests what a client without the secret can make a node do when it reaches one of the node's
 * ports.
 */
@Tag("slow")
class PortAttackTest {

  /** What a connection may make this node allocate before it has proved the secret, on average. */
  private static final long MOST_BYTES = 64 << 10;

  /** Connections in turn, so that what the node's own threads allocate meanwhile counts little. */
  private static final int ATTEMPTS = 200;

  private static final int[] ANNOUNCED = {Integer.MAX_VALUE - 7, 256 << 20, 1 << 20};
  private static final int CONNECTIONS = 200;

  private final List<Vertx> started = new ArrayList<>();
  @TempDir private Path folder;
  private JobSecret secret;
  private ClusterStart node;

  @BeforeEach
  void start() throws Exception {
    secret = JobSecret.createOrRead(folder.resolve("secret"));
    node = ClusterStart.ofMember(job(List.of(), new JsonObject()), secret, true);
    started(node);
  }

  @AfterEach
  void stop() throws Exception {
    for (Vertx each : started) {
      await(each.close());
    }
  }

  @Test
  void shouldAllocateNothingWhenAStrangerAnnouncesAHazelcastPacket() throws Exception {
    for (int announced : ANNOUNCED) {
      assertAllocatesLittle(hazelcastPort(), packet(announced));
    }
    assertStillLetsNodesIn();
  }

  @Test
  void shouldAllocateNothingWhenAStrangerAnnouncesAnEventBusMessage() throws Exception {
    for (int announced : ANNOUNCED) {
      assertAllocatesLittle(PortProbe.busPort(node), message(announced));
    }
    assertStillLetsNodesIn();
  }

  @Test
  void shouldAllocateNothingForAStrangerWhenTlsIsOn() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    stop();
    started.clear();
    Certificates certificates = new Certificates(folder);
    certificates.authority("authority");
    certificates.node("node", "authority");
    JsonObject tls =
        new JsonObject()
            .put("certificate", certificates.file("node.pem").toString())
            .put("key", certificates.file("node.key").toString())
            .put("authority", certificates.file("authority.pem").toString());
    node = ClusterStart.ofMember(job(List.of(), tls), secret, true);
    started(node);

    for (int announced : ANNOUNCED) {
      assertAllocatesLittle(hazelcastPort(), packet(announced));
      assertAllocatesLittle(PortProbe.busPort(node), message(announced));
    }
    assertAllocatesLittle(PortProbe.busPort(node), clientHello());

    Vertx member =
        started(ClusterStart.ofMember(job(List.of(node.joinAddress()), tls), secret, false));
    assertEchoes(member);
  }

  @Test
  void shouldAdmitANodeWhileStrangersHoldConnections() throws Exception {
    List<Socket> held = new ArrayList<>();
    try {
      for (int i = 0; i < CONNECTIONS; i++) {
        held.add(new Socket(InetAddress.getLoopbackAddress(), hazelcastPort()));
        held.add(new Socket(InetAddress.getLoopbackAddress(), PortProbe.busPort(node)));
      }

      assertStillLetsNodesIn();
      Awaitility.await()
          .atMost(Duration.ofSeconds(ConnectionGuard.SECONDS + 10L))
          .until(() -> held.stream().allMatch(PortAttackTest::isClosed));
    } finally {
      for (Socket each : held) {
        each.close();
      }
    }
  }

  @Test
  void shouldReportToANodeThatItHasAnotherSecret() throws Exception {
    JobConfig joining = job(List.of(node.joinAddress()), new JsonObject());
    ClusterStart other = ClusterStart.ofMember(joining, JobSecret.random(), false);

    ExecutionException refused = assertThrows(ExecutionException.class, () -> await(other.start()));

    assertTrue(((JoinException) refused.getCause()).refused());
    assertEquals(
        "this node is not let into cluster vertigrad-attacked: the port of Hazelcast at"
            + " /%s: it has another secret (cluster.secretFile)".formatted(node.joinAddress()),
        refused.getCause().getMessage());
  }

  /** Hazelcast's protocol, then the header of a packet: version, flags, partition, size. */
  private static byte[] packet(int announced) {
    return ByteBuffer.allocate(14)
        .put("HZC".getBytes(StandardCharsets.US_ASCII))
        .put((byte) 4)
        .putShort((short) 0)
        .putInt(-1)
        .putInt(announced)
        .array();
  }

  /** The length of a message of the event bus, and its first bytes. */
  private static byte[] message(int announced) {
    return ByteBuffer.allocate(24).putInt(announced).array();
  }

  /** The headers of a TLS record of 16 KiB and of a client's greeting of 16 MiB within it. */
  private static byte[] clientHello() {
    return new byte[] {22, 3, 1, 0x40, 0, 1, (byte) 0xff, (byte) 0xff, (byte) 0xff, 3, 3, 0, 0};
  }

  private void assertAllocatesLittle(int port, byte[] bytes) throws Exception {
    long before = allocatedByOthers();
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.setSoTimeout(5_000);
        OutputStream out = socket.getOutputStream();
        out.write(bytes);
        out.flush();
        assertTrue(hangsUp(socket), "the connection should be closed");
      }
    }
    long cost = (allocatedByOthers() - before) / ATTEMPTS;
    assertTrue(cost <= MOST_BYTES, cost + " bytes allocated for each connection");
  }

  private static long allocatedByOthers() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long own = Thread.currentThread().getId();
    return Arrays.stream(threads.getAllThreadIds())
        .filter(id -> id != own)
        .map(threads::getThreadAllocatedBytes)
        .filter(bytes -> bytes > 0)
        .sum();
  }

  private void assertStillLetsNodesIn() throws Exception {
    JobConfig joining = job(List.of(node.joinAddress()), new JsonObject());
    assertEchoes(started(ClusterStart.ofMember(joining, secret, false)));
  }

  private void assertEchoes(Vertx member) throws Exception {
    Vertx first = started.get(started.size() - 1);
    await(first.eventBus().<String>consumer("echo", m -> m.reply(m.body())).completion());
    assertEquals("hello", await(member.eventBus().<String>request("echo", "hello")).body());
  }

  private int hazelcastPort() {
    return JoinAddress.parse(node.joinAddress()).port();
  }

  private static boolean hangsUp(Socket socket) {
    try {
      while (socket.getInputStream().read() >= 0) {
        Thread.onSpinWait();
      }
      return true;
    } catch (SocketTimeoutException open) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  private static boolean isClosed(Socket socket) {
    try {
      socket.setSoTimeout(1);
      return hangsUp(socket);
    } catch (IOException closed) {
      return true;
    }
  }

  private static JobConfig job(List<String> members, JsonObject cluster) {
    JsonObject all = cluster.copy().put("port", 16_741).put("members", new JsonArray(members));
    return JobConfig.read("test", new JsonObject().put("job", "attacked").put("cluster", all));
  }

  private Vertx started(ClusterStart starting) throws Exception {
    Vertx made = await(starting.start());
    started.add(0, made);
    return made;
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
