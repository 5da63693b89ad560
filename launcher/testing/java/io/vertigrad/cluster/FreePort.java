package io.vertigrad.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.BitSet;

/** Finds ports for tests. */
public final class FreePort {

  /** Between the ports of the tests that name their own and those that the system hands out. */
  private static final int FIRST = 20_000;

  private static final int LAST = 32_000;

  /** The join port of a cluster is this much higher than its port. */
  private static final int JOIN = 100;

  /** Members of one run: each takes the next port. */
  private static final int MEMBERS = 10;

  /** Open until this JVM ends, and its locks with it. */
  private static FileChannel taken;

  private static final BitSet MINE = new BitSet();

  private FreePort() {}

  /** Returns a port that was free a moment ago. */
  public static int find() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /**
   * Returns a port for {@code cluster.port}: no other test, of this or of another JVM, is given it,
   * one of the nine above it, or the join ports that belong to them.
   *
   * @throws IllegalStateException when there is none left
   */
  public static synchronized int forCluster() {
    try {
      return look();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int look() throws IOException {
    if (taken == null) {
      Path file = Path.of(System.getProperty("java.io.tmpdir"), "vertigrad-test-ports");
      taken = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }
    for (int hundred = FIRST; hundred < LAST; hundred += 2 * JOIN) {
      for (int port = hundred; port < hundred + JOIN; port += MEMBERS) {
        if (!MINE.get(port) && taken.tryLock(port, 1, false) != null) {
          MINE.set(port);
          if (areFree(port) && areFree(port + JOIN)) {
            return port;
          }
        }
      }
    }
    throw new IllegalStateException("no ports are left for another cluster");
  }

  private static boolean areFree(int first) {
    for (int port = first; port < first + MEMBERS; port++) {
      try (ServerSocket socket = new ServerSocket()) {
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(port));
      } catch (IOException used) {
        return false;
      }
    }
    return true;
  }
}
