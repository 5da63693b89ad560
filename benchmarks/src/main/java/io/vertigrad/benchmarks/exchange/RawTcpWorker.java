package io.vertigrad.benchmarks.exchange;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;

/**
 * The worker of the raw TCP limit: it sends N bytes and receives N bytes, round after round, on one
 * thread. When a case {@linkplain ExchangeCase#sums() sums}, it copies from a gradient and into a
 * model, chunk by chunk.
 */
final class RawTcpWorker {

  private final boolean sums;
  private final int chunk;
  private final ByteBuffer out;
  private final ByteBuffer in;
  private final float[] gradient;
  private final float[] parameters;

  private RawTcpWorker(ExchangeCase exchange) {
    int bytes = (int) exchange.bytes();
    int copied = exchange.sums() ? exchange.parameters() : 0;
    sums = exchange.sums();
    chunk = sums ? RawTcpServer.CHUNK_BYTES : bytes;
    out = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    in = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    gradient = new float[copied];
    parameters = new float[copied];
  }

  static RoundTimes work(ExchangeCase exchange, int port) throws IOException {
    RawTcpWorker worker = new RawTcpWorker(exchange);
    long[] nanos = new long[exchange.rounds() + 1];
    try (SocketChannel server =
        SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))) {
      server.setOption(StandardSocketOptions.TCP_NODELAY, true);
      for (int round = 0; round < exchange.warmRounds(); round++) {
        worker.round(server);
      }
      nanos[0] = System.nanoTime();
      for (int round = 1; round <= exchange.rounds(); round++) {
        worker.round(server);
        nanos[round] = System.nanoTime();
      }
    }
    return new RoundTimes(nanos);
  }

  private void round(SocketChannel server) throws IOException {
    for (int sent = 0; sent < out.capacity(); sent = out.limit()) {
      out.limit(Math.min(sent + chunk, out.capacity())).position(sent);
      if (sums) {
        out.asFloatBuffer().put(gradient, sent / Float.BYTES, out.remaining() / Float.BYTES);
      }
      while (out.hasRemaining()) {
        server.write(out);
      }
    }
    for (int got = 0; got < in.capacity(); got = in.limit()) {
      in.limit(Math.min(got + chunk, in.capacity())).position(got);
      while (in.hasRemaining()) {
        if (server.read(in) < 0) {
          throw new EOFException("the server hung up within a round");
        }
      }
      if (sums) {
        in.position(got);
        in.asFloatBuffer().get(parameters, got / Float.BYTES, in.remaining() / Float.BYTES);
      }
    }
  }
}
