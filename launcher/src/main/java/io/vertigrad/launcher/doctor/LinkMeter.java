package io.vertigrad.launcher.doctor;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Timer;
import java.util.TimerTask;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Measures the link between two machines over one TCP connection, with a protocol of its own: both
 * ends say hello, the client's bytes come back one by one, the client sends blocks for a while,
 * then the server does. Whoever receives blocks measures.
 *
 * <p>The server takes one client at a time and ends after one measurement, also if it fails once
 * the server sends blocks. Before the client's hello it sends nothing, and in all its blocks {@link
 * #MOST_BYTES} at most.
 */
final class LinkMeter {

  /** Blocks end after this many bytes in each direction, whatever the time. */
  static final long MOST_BYTES = 2L << 30;

  /** Blocks of a direction. */
  private static final Duration SENDING = Duration.ofMillis(1_500);

  /** How long the receiver does not count: the connection is still finding the link's rate. */
  private static final Duration STARTING = Duration.ofMillis(300);

  private static final Duration CONNECT_LIMIT = Duration.ofSeconds(10);
  private static final Duration READ_LIMIT = Duration.ofSeconds(10);
  private static final Duration MEASUREMENT_LIMIT = Duration.ofSeconds(60);

  /** Its empty line makes an HTTP server answer at once. */
  private static final byte[] HELLO =
      "vertigrad link 1\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private static final int ECHOES = 50;
  private static final int BLOCK = 1 << 16;
  private static final int MORE = 1;
  private static final int END = 0;
  private static final double BITS_PER_BYTE = 8;

  private final LongSupplier nanoClock;
  private final Duration sending;
  private final Duration readLimit;

  /** Whether this end has served blocks: it does so once, whatever the client does then. */
  private boolean sentBlocks;

  LinkMeter() {
    this(System::nanoTime, SENDING, READ_LIMIT);
  }

  /**
   * Creates a meter.
   *
   * @param nanoClock a monotonic clock
   * @param sending how long each end sends blocks
   * @param readLimit longest wait for a byte of the other end
   */
  LinkMeter(LongSupplier nanoClock, Duration sending, Duration readLimit) {
    this.nanoClock = nanoClock;
    this.sending = sending;
    this.readLimit = readLimit;
  }

  /**
   * A measured link.
   *
   * @param roundTripMillis median time until a byte came back, in ms
   * @param toMegabits rate to the server, in Mbit/s of payload
   * @param fromMegabits rate from the server, in Mbit/s of payload
   */
  record Speed(double roundTripMillis, double toMegabits, double fromMegabits) {

    /** Returns the rate of the slower direction, in Mbit/s. */
    double leastMegabits() {
      return Math.min(toMegabits, fromMegabits);
    }
  }

  /**
   * Measures the link to a server, for at most a minute. Blocks.
   *
   * @param where {@code host:port} as the user has named it
   * @throws IOException saying in one line what was found and what to do
   */
  Speed measure(String where, InetSocketAddress server) throws IOException {
    if (server.isUnresolved()) {
      throw new IOException(where + ": the host is not known here");
    }
    try (Socket socket = new Socket()) {
      socket.connect(server, (int) CONNECT_LIMIT.toMillis());
      return limited(socket, where, this::measure);
    } catch (ConnectException | SocketTimeoutException e) {
      throw new IOException(where + ": nobody listens there (" + e.getMessage() + ")", e);
    } catch (SocketException e) {
      throw new IOException(where + ": " + e.getMessage(), e);
    }
  }

  /**
   * Serves one measurement. Clients that speak something else are refused, and the next may come.
   * Blocks.
   *
   * @param port a bound socket
   * @param limit longest wait for a measurement
   * @param refused takes a line for each client that was refused
   * @return the client that has measured
   * @throws SocketTimeoutException when nobody has measured in time
   * @throws IOException when a client left while the server sent blocks
   */
  InetAddress serve(ServerSocket port, Duration limit, Consumer<String> refused)
      throws IOException {
    long end = nanoClock.getAsLong() + limit.toNanos();
    while (true) {
      long left = (end - nanoClock.getAsLong()) / 1_000_000;
      if (left <= 0) {
        throw new SocketTimeoutException("time is up");
      }
      port.setSoTimeout((int) left);
      try (Socket client = port.accept()) {
        String who = client.getInetAddress().getHostAddress();
        try {
          limited(client, who, this::serve);
          return client.getInetAddress();
        } catch (IOException e) {
          if (sentBlocks) {
            throw e;
          }
          refused.accept(e.getMessage());
        }
      }
    }
  }

  @FunctionalInterface
  private interface Talk<R> {
    R with(DataInputStream in, DataOutputStream out) throws IOException;
  }

  /** Talks to the other end; closes the connection when it takes too long. */
  private <R> R limited(Socket socket, String who, Talk<R> talk) throws IOException {
    Timer timer = new Timer("link limit", true);
    try {
      timer.schedule(closing(socket), MEASUREMENT_LIMIT.toMillis());
      socket.setTcpNoDelay(true);
      socket.setSoTimeout((int) readLimit.toMillis());
      DataInputStream in = new DataInputStream(socket.getInputStream());
      return talk.with(
          in, new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), BLOCK + 1)));
    } catch (SocketTimeoutException e) {
      String found = "it did not answer within %s s".formatted(readLimit.toMillis() / 1e3);
      throw new IOException(who + ": " + found, e);
    } catch (EOFException | SocketException e) {
      String found = "it closed the connection, or took over a minute";
      throw new IOException(who + ": " + found, e);
    } catch (IOException e) {
      throw new IOException(who + ": " + e.getMessage(), e);
    } finally {
      timer.cancel();
    }
  }

  private static TimerTask closing(Socket socket) {
    return new TimerTask() {
      @Override
      public void run() {
        try {
          socket.close();
        } catch (IOException closed) {
          // Then nobody waits for it any more.
        }
      }
    };
  }

  private Speed measure(DataInputStream in, DataOutputStream out) throws IOException {
    out.write(HELLO);
    out.flush();
    expectHello(in, "vertigrad doctor --link-server");
    double[] millis = new double[ECHOES];
    for (int i = 0; i < ECHOES; i++) {
      long start = nanoClock.getAsLong();
      out.write(i);
      out.flush();
      in.readByte();
      millis[i] = (nanoClock.getAsLong() - start) * 1e-6;
    }
    Arrays.sort(millis);
    send(out);
    double to = in.readDouble();
    double from = receive(in);
    out.writeByte(END);
    out.flush();
    if (!(to > 0 && Double.isFinite(to))) {
      throw new IOException("it reported %s Mbit/s, expected more than 0".formatted(to));
    }
    return new Speed(millis[ECHOES / 2], to, from);
  }

  private Void serve(DataInputStream in, DataOutputStream out) throws IOException {
    expectHello(in, "vertigrad doctor --link");
    out.write(HELLO);
    out.flush();
    for (int i = 0; i < ECHOES; i++) {
      out.write(in.readByte());
      out.flush();
    }
    out.writeDouble(receive(in));
    sentBlocks = true;
    send(out);
    in.readByte();
    return null;
  }

  private static void expectHello(DataInputStream in, String expected) throws IOException {
    byte[] hello = new byte[HELLO.length];
    for (int i = 0; i < hello.length; i++) {
      hello[i] = in.readByte();
      if (hello[i] != HELLO[i]) {
        throw new IOException("something else than '%s' talks there".formatted(expected));
      }
    }
  }

  private void send(DataOutputStream out) throws IOException {
    byte[] block = new byte[BLOCK];
    long end = nanoClock.getAsLong() + sending.toNanos();
    for (long sent = 0; sent < MOST_BYTES && nanoClock.getAsLong() < end; sent += BLOCK) {
      out.writeByte(MORE);
      out.write(block);
    }
    out.writeByte(END);
    out.flush();
  }

  /** Receives blocks and returns their rate in Mbit/s, without those of the first 0.3 s. */
  private double receive(DataInputStream in) throws IOException {
    byte[] block = new byte[BLOCK];
    long blocks = 0;
    long counted = 0;
    long first = 0;
    long from = 0;
    long last = 0;
    for (int next = in.readByte(); next == MORE; next = in.readByte()) {
      in.readFully(block);
      last = nanoClock.getAsLong();
      if (blocks == 0) {
        first = last;
        from = last;
      } else if (from - first < STARTING.toNanos()) {
        from = last;
      } else {
        counted++;
      }
      blocks++;
      if (blocks * BLOCK > MOST_BYTES) {
        throw new IOException("it sent more than %s bytes".formatted(MOST_BYTES));
      }
    }
    // All blocks came within the start: then only the first one is left out.
    return counted > 0 ? rate(counted, last - from) : rate(blocks - 1, last - first);
  }

  private static double rate(long blocks, long nanos) throws IOException {
    if (blocks < 1 || nanos <= 0) {
      throw new IOException("too few bytes arrived to measure a rate");
    }
    return blocks * BLOCK * BITS_PER_BYTE * 1e3 / nanos;
  }
}
