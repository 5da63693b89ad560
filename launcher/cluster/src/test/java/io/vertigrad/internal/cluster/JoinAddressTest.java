package io.vertigrad.internal.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JoinAddressTest {

  @ParameterizedTest
  @CsvSource({
    "10.0.0.5, 10.0.0.5, 15701",
    "10.0.0.5:4000, 10.0.0.5, 4000",
    "train.example.org:15702, train.example.org, 15702"
  })
  void shouldSplitHostAndPortWhenWritten(String text, String host, int port) {
    assertEquals(new JoinAddress(host, port), JoinAddress.parse(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"::1", "[::1]", "[::1]:4000", "fe80::1%eth0", "[::1"})
  void shouldRefuseIpv6(String text) {
    assertEquals(
        "join address \"%s\": IPv6 is not supported, expected the IPv4 address or the name of a"
                .formatted(text)
            + " machine that has one, such as 10.0.0.5:15701",
        refusal(text));
  }

  @Test
  void shouldExpectANumberWhenPortIsNone() {
    assertEquals(
        "join address \"host:http\": port is \"http\", expected a number from 1 to 65535",
        refusal("host:http"));
    assertEquals(
        "join address \"host:70000\": port is \"70000\", expected a number from 1 to 65535",
        refusal("host:70000"));
  }

  @Test
  void shouldExpectAHostWhenThereIsNone() {
    assertEquals(
        "join address \":4000\": expected HOST or HOST:PORT, such as 10.0.0.5:15701",
        refusal(":4000"));
  }

  @Test
  void shouldWaitForANameThatIsUnknownForNow() {
    JoinAddress stopped = new JoinAddress("stopped.invalid", 4_000);

    assertThrows(SettingsException.class, stopped::answers);
    assertFalse(JoinAddress.answerWithin(List.of(stopped), 1));
    assertEquals(
        Optional.of(
            "nothing answers there yet (no machine of the name stopped.invalid with an IPv4"
                + " address is known here)"),
        JoinAddress.silence(List.of(stopped)));
  }

  @Test
  void shouldTakeAMemberThatAnswersWhenTheNameOfAnotherIsUnknown() throws IOException {
    try (ServerSocket node = listening()) {
      String there = address(node).toString();
      ClusterConfig both = members("stopped.invalid:4000", there);

      assertEquals(Optional.of(address(node)), JoinAddress.firstAnswering(both));
      assertTrue(
          JoinAddress.answerWithin(both.members().stream().map(JoinAddress::parse).toList(), 1));
    }
  }

  @Test
  void shouldNameWhatIsUnknownWhenNoMemberAnswers() throws IOException {
    ServerSocket closed = listening();
    closed.close();
    String there = address(closed).toString();

    String why =
        assertThrows(
                SettingsException.class,
                () -> JoinAddress.firstAnswering(members("stopped.invalid:4000", there)))
            .getMessage();

    assertEquals(
        ("nothing answers at stopped.invalid:4000, %s (no machine of the name stopped.invalid with"
                + " an IPv4 address is known here); start the job there first, with ./vertigrad"
                + " train --listen")
            .formatted(there),
        why);
  }

  private static ClusterConfig members(String... members) {
    JsonObject cluster = new JsonObject().put("members", new JsonArray(List.of(members)));
    return JobConfig.read("test", new JsonObject().put("cluster", cluster)).cluster();
  }

  /** A node of another job, then a program that is no node. */
  @Test
  void shouldRecogniseANodeBySecretWhenSomethingElseHasItsPort() throws Exception {
    JobSecret own = JobSecret.random();

    assertTrue(asNode(own, own));
    assertFalse(asNode(own, JobSecret.random()));
    try (ServerSocket web = listening()) {
      answer(web, socket -> socket.getOutputStream().write("HTTP/1.1 400 no\r\n".getBytes(UTF_8)));
      assertFalse(address(web).isNodeOf(own));
    }
  }

  /** Returns whether a node with the second secret looks like one with the first. */
  private static boolean asNode(JobSecret expected, JobSecret found) throws IOException {
    try (ServerSocket node = listening()) {
      Handshake accepting = new ConnectionGuard(ConnectionGuard.HAZELCAST, found).accepting();
      answer(
          node,
          socket -> {
            for (byte[] reply = {}; reply.length == 0; ) {
              reply = accepting.take(socket.getInputStream().readNBytes(accepting.expectedBytes()));
              socket.getOutputStream().write(reply);
            }
          });
      return address(node).isNodeOf(expected);
    }
  }

  private static ServerSocket listening() throws IOException {
    return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  private static JoinAddress address(ServerSocket server) {
    return new JoinAddress("127.0.0.1", server.getLocalPort());
  }

  private interface Conversation {
    void hold(Socket socket) throws IOException;
  }

  /** Accepts one connection, on a thread that ends with it. */
  private static void answer(ServerSocket server, Conversation conversation) {
    Thread thread =
        new Thread(
            () -> {
              try (Socket socket = server.accept()) {
                conversation.hold(socket);
              } catch (IOException closed) {
                // The other end has heard enough.
              }
            });
    thread.setDaemon(true);
    thread.start();
  }

  private static String refusal(String text) {
    return assertThrows(SettingsException.class, () -> JoinAddress.parse(text)).getMessage();
  }
}
