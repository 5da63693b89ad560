package io.vertigrad.benchmarks.exchange;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CyclicBarrier;

/**
 * The server of the raw TCP limit: it receives N bytes from every worker, sends N bytes back and
 * does nothing else. When a case {@linkplain ExchangeCase#sums() sums}, it also keeps a {@link
 * PlainStore}.
 *
 * <p>Each worker has one blocking thread, which receives into one reused buffer of 512 KiB. With a
 * lockstep strategy it answers nobody before every worker has sent.
 */
final class RawTcpServer {

  /** Size of the pieces in which bytes are received and added up. */
  static final int CHUNK_BYTES = 512 << 10;

  private final ExchangeCase exchange;
  private final ServerSocketChannel listener;
  private final CyclicBarrier everyone;
  private final PlainStore store;
  private final ByteBuffer answer;

  private RawTcpServer(ExchangeCase exchange) throws IOException {
    this.exchange = exchange;
    this.store = new PlainStore(exchange.sums() ? exchange.parameters() : 0);
    this.answer = ByteBuffer.allocateDirect((int) exchange.bytes());
    this.everyone = new CyclicBarrier(exchange.workers(), () -> stepInto(answer));
    this.listener =
        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  /**
   * Starts to listen and returns the port; the server ends by itself when its workers close their
   * connections.
   */
  static int start(ExchangeCase exchange) throws IOException {
    RawTcpServer server = new RawTcpServer(exchange);
    daemon("raw tcp listener", server::accept);
    return ((InetSocketAddress) server.listener.getLocalAddress()).getPort();
  }

  private void accept() throws IOException {
    try (ServerSocketChannel accepting = listener) {
      for (int worker = 0; worker < exchange.workers(); worker++) {
        SocketChannel channel = accepting.accept();
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        daemon("raw tcp server " + worker, () -> serve(channel));
      }
    }
  }

  private void serve(SocketChannel channel) throws Exception {
    try (SocketChannel worker = channel) {
      ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK_BYTES);
      ByteBuffer parameters =
          exchange.sums() && !exchange.lockstep()
              ? ByteBuffer.allocateDirect(answer.capacity())
              : answer.duplicate();
      for (int round = 0; round < exchange.rounds() + exchange.warmRounds(); round++) {
        receive(worker, chunk);
        if (exchange.lockstep()) {
          everyone.await();
        } else {
          stepInto(parameters);
        }
        parameters.clear();
        while (parameters.hasRemaining()) {
          worker.write(parameters);
        }
      }
    }
  }

  private void receive(SocketChannel worker, ByteBuffer chunk) throws IOException {
    for (long left = exchange.bytes(); left > 0; left -= chunk.position()) {
      chunk.clear().limit((int) Math.min(left, CHUNK_BYTES));
      do {
        if (worker.read(chunk) < 0) {
          throw new EOFException("a worker hung up with %s bytes of a round left".formatted(left));
        }
      } while (exchange.sums() && chunk.hasRemaining());
      if (exchange.sums()) {
        store.add((int) ((exchange.bytes() - left) / Float.BYTES), chunk.duplicate().flip());
      }
    }
  }

  private void stepInto(ByteBuffer parameters) {
    if (exchange.sums()) {
      store.step();
      store.write(parameters);
    }
  }

  private static void daemon(String name, Task task) {
    Thread thread = new Thread(() -> task.runLogged(name), name);
    thread.setDaemon(true);
    thread.start();
  }

  /** Work that may fail. A failure is printed, and the workers see a closed connection. */
  @FunctionalInterface
  private interface Task {
    void run() throws Exception;

    default void runLogged(String name) {
      try {
        run();
      } catch (Exception e) {
        System.err.println(name + ": " + e);
      }
    }
  }
}
