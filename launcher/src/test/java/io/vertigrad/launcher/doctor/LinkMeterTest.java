package io.vertigrad.launcher.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LinkMeterTest {

  private static final InetAddress HERE = InetAddress.getLoopbackAddress();
  private static final Duration LIMIT = Duration.ofSeconds(50);

  private final LinkMeter meter = meter(Duration.ofSeconds(20));
  private final List<String> refused = new CopyOnWriteArrayList<>();

  @Test
  void shouldMeasureBothDirectionsOnceWhenAServerWaits() throws Exception {
    try (ServerSocket port = open()) {
      CompletableFuture<InetAddress> served = serve(port);

      LinkMeter.Speed speed = meter.measure("here", address(port));

      assertEquals(HERE, served.get(20, TimeUnit.SECONDS));
      assertTrue(speed.roundTripMillis() > 0, speed::toString);
      assertTrue(speed.toMegabits() > 1 && speed.fromMegabits() > 1, speed::toString);
      assertEquals(List.of(), refused);
    }
  }

  @Test
  void shouldRefuseAClientThatSpeaksSomethingElseAndServeTheNext() throws Exception {
    try (ServerSocket port = open()) {
      CompletableFuture<InetAddress> served = serve(port);
      try (Socket browser = new Socket(HERE, port.getLocalPort())) {
        browser.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.UTF_8));
        assertEquals(0, bytesUntilTheEnd(browser), "nothing is sent before the client's hello");
      }
      new Socket(HERE, port.getLocalPort()).close();

      meter.measure("here", address(port));

      served.get(20, TimeUnit.SECONDS);
      assertEquals(
          List.of(
              "127.0.0.1: something else than 'vertigrad doctor --link' talks there",
              "127.0.0.1: it closed the connection, or took over a minute"),
          refused);
    }
  }

  @Test
  void shouldServeBlocksOnlyOnceWhenTheClientLeavesThen() throws Exception {
    try (ServerSocket port = open()) {
      CompletableFuture<InetAddress> served = serve(port);
      try (Socket client = new Socket(HERE, port.getLocalPort())) {
        DataOutputStream out = new DataOutputStream(client.getOutputStream());
        DataInputStream in = new DataInputStream(client.getInputStream());
        byte[] hello = "vertigrad link 1\r\n\r\n".getBytes(StandardCharsets.UTF_8);
        out.write(hello);
        in.readFully(new byte[hello.length]);
        out.write(new byte[50]);
        in.readFully(new byte[50]);
        for (int block = 0; block < 2; block++) {
          out.write(1);
          out.write(new byte[1 << 16]);
        }
        out.write(0);
        assertTrue(in.readDouble() > 0, "the rate of what the server received");
      }

      assertThrows(ExecutionException.class, () -> served.get(20, TimeUnit.SECONDS));
      assertEquals(List.of(), refused);
    }
  }

  @Test
  void shouldRefuseASilentClientAfterAWhile() throws Exception {
    try (ServerSocket port = open();
        Socket silent = new Socket(HERE, port.getLocalPort())) {
      LinkMeter impatient = meter(Duration.ofMillis(1));
      CompletableFuture<InetAddress> served =
          CompletableFuture.supplyAsync(() -> serve(impatient, port, Duration.ofSeconds(1)));

      assertThrows(Exception.class, () -> served.get(20, TimeUnit.SECONDS));
      assertTrue(silent.isConnected());
      assertEquals(List.of("127.0.0.1: it did not answer within 0.001 s"), refused);
    }
  }

  @Test
  void shouldEndWhenNobodyHasMeasuredInTime() throws Exception {
    try (ServerSocket port = open()) {
      assertThrows(
          SocketTimeoutException.class,
          () -> meter.serve(port, Duration.ofMillis(2), refused::add));
    }
  }

  @Test
  void shouldSayThatAnHttpServerTalksThere() throws Exception {
    HttpServer http = HttpServer.create(new InetSocketAddress(HERE, 0), 0);
    http.start();
    try {
      String message = refusal(http.getAddress());

      assertTrue(
          message.equals("there: something else than 'vertigrad doctor --link-server' talks there")
              || message.equals("there: it closed the connection, or took over a minute"),
          message);
    } finally {
      http.stop(0);
    }
  }

  @Test
  void shouldSayThatThePeerHasClosed() throws Exception {
    try (ServerSocket port = open()) {
      CompletableFuture<Void> closing =
          CompletableFuture.runAsync(
              () -> {
                try {
                  port.accept().close();
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });

      assertEquals(
          "there: it closed the connection, or took over a minute", refusal(address(port)));
      closing.get(20, TimeUnit.SECONDS);
    }
  }

  @Test
  void shouldSayThatNobodyListens() throws Exception {
    InetSocketAddress free;
    try (ServerSocket port = open()) {
      free = address(port);
    }

    assertEquals("there: nobody listens there (Connection refused)", refusal(free));
    assertEquals(
        "there: the host is not known here",
        refusal(InetSocketAddress.createUnresolved("no.such.host", 1)));
  }

  private String refusal(InetSocketAddress there) {
    return assertThrows(IOException.class, () -> meter.measure("there", there)).getMessage();
  }

  private static LinkMeter meter(Duration readLimit) {
    return new LinkMeter(System::nanoTime, Duration.ofMillis(20), readLimit);
  }

  private static ServerSocket open() throws IOException {
    return new ServerSocket(0, 1, HERE);
  }

  private static InetSocketAddress address(ServerSocket port) {
    return new InetSocketAddress(HERE, port.getLocalPort());
  }

  private CompletableFuture<InetAddress> serve(ServerSocket port) {
    return CompletableFuture.supplyAsync(() -> serve(meter, port, LIMIT));
  }

  private InetAddress serve(LinkMeter server, ServerSocket port, Duration limit) {
    try {
      return server.serve(port, limit, refused::add);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A connection that was closed with bytes unread may also be reset. */
  private static int bytesUntilTheEnd(Socket socket) {
    try {
      return socket.getInputStream().readAllBytes().length;
    } catch (IOException reset) {
      return 0;
    }
  }
}
