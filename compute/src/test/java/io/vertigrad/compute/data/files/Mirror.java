package io.vertigrad.compute.data.files;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** An HTTP server on the loopback address that answers as a test configures it, or not at all. */
final class Mirror implements AutoCloseable {

  private static final int PART = 10;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicInteger requests = new AtomicInteger();
  private final CountDownLatch release = new CountDownLatch(1);
  private final HttpServer server;

  Mirror() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.start();
  }

  URI base() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  /** Returns the number of answered requests. */
  int requests() {
    return requests.get();
  }

  void serve(int status, byte[] body) {
    server.createContext("/", exchange -> answer(exchange, status, body));
  }

  /** Serves the files of a folder, under {@code /mirror/}. */
  void serve(Path folder) {
    server.createContext(
        "/mirror/",
        exchange -> {
          String name = Path.of(exchange.getRequestURI().getPath()).getFileName().toString();
          answer(exchange, 200, Files.readAllBytes(folder.resolve(name)));
        });
  }

  /** Redirects requests for {@code from} to {@code to}, which has the body. */
  void redirect(String from, String to, byte[] body) {
    server.createContext(
        from,
        exchange -> {
          exchange.getResponseHeaders().add("Location", to);
          answer(exchange, 302, new byte[0]);
        });
    server.createContext(to, exchange -> answer(exchange, 200, body));
  }

  void neverAnswer() {
    server.createContext("/", exchange -> untilClosed());
  }

  /** Sends ten bytes of a hundred and then nothing more. */
  void stall() {
    server.createContext(
        "/",
        exchange -> {
          sendPart(exchange);
          untilClosed();
        });
  }

  /** Sends ten bytes of a hundred and closes the connection. */
  void hangUp() {
    server.createContext(
        "/",
        exchange -> {
          sendPart(exchange);
          throw new IOException("hang up");
        });
  }

  /** Stops the server: nobody listens at {@link #base()} any more. */
  void stop() {
    server.stop(0);
  }

  @Override
  public void close() {
    release.countDown();
    server.stop(0);
    threads.shutdownNow();
  }

  private void answer(HttpExchange exchange, int status, byte[] body) throws IOException {
    requests.incrementAndGet();
    try (exchange) {
      exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
      exchange.getResponseBody().write(body);
    }
  }

  private static void sendPart(HttpExchange exchange) throws IOException {
    exchange.sendResponseHeaders(200, 10 * PART);
    exchange.getResponseBody().write(new byte[PART]);
    exchange.getResponseBody().flush();
  }

  private void untilClosed() {
    try {
      release.await(20, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
