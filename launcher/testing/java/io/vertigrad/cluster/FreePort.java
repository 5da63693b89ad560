package io.vertigrad.cluster;

import java.io.IOException;
import java.net.ServerSocket;

/** Finds ports for tests. */
public final class FreePort {

  private FreePort() {}

  /** Returns a port that was free a moment ago. */
  public static int find() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
