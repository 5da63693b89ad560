package io.vertigrad.benchmarks.allreduce;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * The limit for the ring: it moves the ring's bytes over raw TCP. It sends a chunk to the right and
 * receives one from the left at the same time, 2 (N - 1) times a round. One thread that never
 * sleeps does that. It adds and checks nothing.
 */
final class RawRing implements AutoCloseable {

  private final ServerSocketChannel listener;

  RawRing() throws IOException {
    listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  int port() throws IOException {
    return ((InetSocketAddress) listener.getLocalAddress()).getPort();
  }

  /** Runs all rounds; returns the milliseconds of each counted one. */
  double[] work(AllReduceCase sum, int right) throws IOException {
    InetSocketAddress next = new InetSocketAddress(InetAddress.getLoopbackAddress(), right);
    try (SocketChannel out = SocketChannel.open(next);
        SocketChannel in = listener.accept()) {
      out.setOption(StandardSocketOptions.TCP_NODELAY, true);
      out.configureBlocking(false);
      in.configureBlocking(false);
      int bytes = Math.max(1, sum.elements() / sum.workers()) * Float.BYTES;
      ByteBuffer sent = ByteBuffer.allocateDirect(bytes);
      ByteBuffer received = ByteBuffer.allocateDirect(bytes);
      double[] millis = new double[sum.rounds()];
      for (int round = -sum.warmRounds(); round < sum.rounds(); round++) {
        long begun = System.nanoTime();
        for (int phase = 0; phase < 2 * (sum.workers() - 1); phase++) {
          swap(out, sent.clear(), in, received.clear());
        }
        if (round >= 0) {
          millis[round] = (System.nanoTime() - begun) / 1e6;
        }
      }
      return millis;
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }

  private static void swap(
      SocketChannel out, ByteBuffer sent, SocketChannel in, ByteBuffer received)
      throws IOException {
    while (sent.hasRemaining() || received.hasRemaining()) {
      int moved = sent.hasRemaining() ? out.write(sent) : 0;
      int came = received.hasRemaining() ? in.read(received) : 0;
      if (came < 0) {
        throw new EOFException("the left neighbour hung up within a round");
      }
      if (moved + came == 0) {
        Thread.yield();
      }
    }
  }
}
