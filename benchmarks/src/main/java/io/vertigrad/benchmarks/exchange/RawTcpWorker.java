package io.vertigrad.benchmarks.exchange;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The limit's worker: sends N bytes, gets N bytes back, round after round, on one thread. */
final class RawTcpWorker {

  private RawTcpWorker() {}

  static RoundTimes work(ExchangeCase exchange, int port) throws IOException {
    ByteBuffer gradient = ByteBuffer.allocateDirect((int) exchange.bytes());
    ByteBuffer parameters = ByteBuffer.allocateDirect((int) exchange.bytes());
    long[] nanos = new long[exchange.rounds() + 1];
    try (SocketChannel server =
        SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))) {
      server.setOption(StandardSocketOptions.TCP_NODELAY, true);
      for (int round = 0; round < exchange.warmRounds(); round++) {
        round(server, gradient, parameters);
      }
      nanos[0] = System.nanoTime();
      for (int round = 1; round <= exchange.rounds(); round++) {
        round(server, gradient, parameters);
        nanos[round] = System.nanoTime();
      }
    }
    return new RoundTimes(nanos);
  }

  private static void round(SocketChannel server, ByteBuffer gradient, ByteBuffer parameters)
      throws IOException {
    gradient.clear();
    while (gradient.hasRemaining()) {
      server.write(gradient);
    }
    parameters.clear();
    while (parameters.hasRemaining()) {
      if (server.read(parameters) < 0) {
        throw new EOFException("the server hung up within a round");
      }
    }
  }
}
