package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.FreePort;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class JoinPointTest {

  private static final JobSecret SECRET = JobSecret.random();

  private final Vertx vertx = Vertx.vertx();
  private final List<String> reported = new CopyOnWriteArrayList<>();
  private final Optional<String> anyJob = Optional.empty();

  @TempDir private Path folder;
  private Certificates certificates;
  private JoinPort port;

  @BeforeEach
  void prepare() {
    certificates = new Certificates(folder);
  }

  @AfterEach
  void close() {
    if (port != null) {
      port.close();
    }
    vertx.close();
  }

  @Test
  void shouldSendTheJobFileToANodeThatProvesTheSecret() {
    open(new JsonObject());

    JoinOffer offer = ask(SECRET, new JsonObject(), Optional.of("offered")).orElseThrow();

    assertEquals("127.0.0.1:16901", offer.cluster());
    assertEquals("127.0.0.1", offer.localHost());
    assertEquals("offered", offer.job().getString("job"));
    assertEquals(List.of(), reported);
  }

  @Test
  @Tag("slow")
  void shouldReportAnotherSecretAtBothEnds() {
    open(new JsonObject());

    for (int i = 0; i < 100; i++) {
      assertRefused(
          "the job at 127.0.0.1:%d has another secret: copy the file secret of its run's folder here"
                  .formatted(port.port())
              + " and give it with --secret",
          JobSecret.random(),
          new JsonObject(),
          anyJob);
    }

    assertReported("a node at 127.0.0.1 was refused: it has another secret");
  }

  @Test
  void shouldReportAnotherJobAtBothEnds() {
    open(new JsonObject());

    assertRefused(
        "refused at 127.0.0.1:%d: the job there is \"offered\", this node's job file is of job"
                .formatted(port.port())
            + " \"another\"",
        SECRET,
        new JsonObject(),
        Optional.of("another"));

    assertReported(
        "a node at 127.0.0.1 was refused: its job file is of job \"another\", this job is"
            + " \"offered\"");
  }

  @Test
  @Tag("slow")
  void shouldReportACertificateErrorAtBothEnds() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    certificates.authority("authority");
    certificates.node("node", "authority");
    certificates.node("other", "authority");
    certificates.expired("old", "authority");
    certificates.authority("stranger");
    certificates.node("foreign", "stranger");
    open(tls("node", "authority"));

    ask(SECRET, tls("other", "authority"), anyJob).orElseThrow();
    String there = "the job at 127.0.0.1:" + port.port();
    String none =
        assertThrows(JoinException.class, () -> ask(SECRET, new JsonObject(), anyJob)).getMessage();
    String old =
        assertThrows(JoinException.class, () -> ask(SECRET, tls("old", "authority"), anyJob))
            .getMessage();
    String foreign =
        assertThrows(JoinException.class, () -> ask(SECRET, tls("foreign", "authority"), anyJob))
            .getMessage();
    String distrusting =
        assertThrows(JoinException.class, () -> ask(SECRET, tls("foreign", "stranger"), anyJob))
            .getMessage();

    assertTrue(none.startsWith(there + " demands certificates, and this node has none"), none);
    assertTrue(
        old.startsWith(there + " does not accept this node's certificate (cluster.certificate): ")
            && old.contains("/old.pem is valid from "),
        old);
    assertTrue(foreign.startsWith(there + " does not accept this node's certificate"), foreign);
    assertTrue(
        distrusting.startsWith(
            "this node does not accept the certificate of %s (cluster.authority): unable"
                .formatted(there)),
        distrusting);
    assertReported(
        "a node at 127.0.0.1 was refused: it has no certificate, and this job demands one");
  }

  @Test
  @Tag("slow")
  void shouldGiveTheDatesOfACertificateThatHasExpired() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    certificates.authority("authority");
    certificates.node("node", "authority");
    certificates.expired("old", "authority");
    open(tls("old", "authority"));

    String asked =
        assertThrows(JoinException.class, () -> ask(SECRET, tls("node", "authority"), anyJob))
            .getMessage();
    String started =
        assertThrows(
                SettingsException.class,
                () ->
                    ClusterStart.check(
                        JobConfig.read(
                                "test", new JsonObject().put("cluster", tls("old", "authority")))
                            .cluster()))
            .getMessage();

    assertTrue(asked.contains("(cluster.authority): it has expired (NotAfter: "), asked);
    assertTrue(
        started.matches(
            "cluster.certificate: \\S+/old.pem is valid from \\S+Z until \\S+Z, and this machine's"
                + " clock says \\S+Z: make a new one, or set the clock"),
        started);
  }

  @Test
  void shouldReportACertificateThatTheJobDoesNotHave() throws Exception {
    assumeTrue(Files.isExecutable(Path.of("/usr/bin/openssl")), "needs openssl");
    certificates.authority("authority");
    certificates.node("node", "authority");
    open(new JsonObject());

    String refused =
        assertThrows(JoinException.class, () -> ask(SECRET, tls("node", "authority"), anyJob))
            .getMessage();

    assertTrue(
        refused.startsWith("this node has a certificate (cluster.certificate), and"), refused);
    assertReported("a node at 127.0.0.1 was refused: it has a certificate, and this job uses none");
  }

  @Test
  void shouldNotMistakeAnotherProgramForAJob() throws Exception {
    try (ServerSocket other = new ServerSocket(0)) {
      Thread server = new Thread(() -> hangUp(other));
      server.start();
      JoinAddress there = new JoinAddress("127.0.0.1", other.getLocalPort());
      assertEquals(
          Optional.empty(),
          JoinPoint.ask(there, config(new JsonObject()).cluster(), vertx, SECRET, anyJob));
    }
    JoinAddress nobody = new JoinAddress("127.0.0.1", FreePort.find());
    assertTrue(
        assertThrows(
                SettingsException.class,
                () ->
                    JoinPoint.ask(
                        nobody, config(new JsonObject()).cluster(), vertx, SECRET, anyJob))
            .getMessage()
            .startsWith("nothing answers at " + nobody));
  }

  @Test
  void shouldServeOthersWhenSomeConnectionsAreSilentOrInvalid() throws Exception {
    open(new JsonObject());
    Socket[] silent = new Socket[8];
    for (int i = 0; i < silent.length; i++) {
      silent[i] = new Socket("127.0.0.1", port.port());
    }
    try (Socket nonsense = new Socket("127.0.0.1", port.port())) {
      OutputStream out = nonsense.getOutputStream();
      out.write(1);
      out.write(new byte[64]);
      out.write(new byte[] {127, -1, -1, -1});
      InputStream in = nonsense.getInputStream();
      assertEquals(8 + 1 + 32, in.readAllBytes().length, "nothing but greeting and random bytes");
    }

    ask(SECRET, new JsonObject(), anyJob).orElseThrow();

    assertReported(
        "a node at 127.0.0.1 was refused: it did not speak as a node does: found a message of"
            + " 2147483647 bytes, expected 0 to 4096");
    for (Socket each : silent) {
      each.close();
    }
  }

  @Test
  @Tag("slow")
  void shouldSendTheJobFileWhileSilentConnectionsFillThePort() throws Exception {
    open(new JsonObject());
    List<Socket> silent = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      silent.add(new Socket("127.0.0.1", port.port()));
    }

    JoinOffer offer = ask(SECRET, new JsonObject(), Optional.of("offered")).orElseThrow();

    assertEquals("offered", offer.job().getString("job"));
    assertReported(
        "a node at 127.0.0.1 was refused: 64 connections are open, and its was the oldest");
    for (Socket each : silent) {
      each.close();
    }
  }

  @Test
  @Tag("slow")
  void shouldReportClosedConnectionsWhenNoneSucceeds() throws Exception {
    AtomicInteger accepted = new AtomicInteger();
    try (ServerSocket full = new ServerSocket(0)) {
      new Thread(() -> closeEach(full, accepted)).start();
      JoinAddress there = new JoinAddress("127.0.0.1", full.getLocalPort());

      JoinException refused =
          assertThrows(
              JoinException.class,
              () ->
                  JoinPoint.ask(there, config(new JsonObject()).cluster(), vertx, SECRET, anyJob));

      assertTrue(
          refused.getMessage().startsWith(there + " gave no job file over any of 5 connections"),
          refused.getMessage());
      assertEquals(5, accepted.get());
    }
  }

  private static void closeEach(ServerSocket server, AtomicInteger accepted) {
    try {
      while (!server.isClosed()) {
        Socket socket = server.accept();
        accepted.incrementAndGet();
        socket.close();
      }
    } catch (IOException closed) {
      // The test is over.
    }
  }

  private static void hangUp(ServerSocket server) {
    try (Socket socket = server.accept()) {
      socket.getOutputStream().write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes());
    } catch (IOException closed) {
      // The test is over.
    }
  }

  private void open(JsonObject cluster) {
    JobConfig job = config(cluster);
    port =
        JoinPoint.open(job.cluster(), job.json(), vertx, "127.0.0.1:16901", SECRET, reported::add);
  }

  private Optional<JoinOffer> ask(JobSecret secret, JsonObject cluster, Optional<String> job) {
    return JoinPoint.ask(
        new JoinAddress("127.0.0.1", port.port()), config(cluster).cluster(), vertx, secret, job);
  }

  private void assertRefused(
      String message, JobSecret secret, JsonObject cluster, Optional<String> job) {
    JoinException refused = assertThrows(JoinException.class, () -> ask(secret, cluster, job));
    assertEquals(message, refused.getMessage());
    assertTrue(refused.refused());
  }

  /** Checks that the first of many refusals is reported at once; the others are only counted. */
  private void assertReported(String line) {
    Awaitility.await().atMost(Duration.ofSeconds(10)).until(() -> !reported.isEmpty());
    assertEquals(List.of(line), reported);
  }

  private JsonObject tls(String node, String authority) {
    return new JsonObject()
        .put("certificate", folder.resolve(node + ".pem").toString())
        .put("key", folder.resolve(node + ".key").toString())
        .put("authority", folder.resolve(authority + ".pem").toString());
  }

  private static JobConfig config(JsonObject cluster) {
    return JobConfig.read(
        "test", new JsonObject().put("job", "offered").put("cluster", cluster.copy()));
  }
}
