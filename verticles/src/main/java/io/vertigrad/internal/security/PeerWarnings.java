package io.vertigrad.internal.security;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Limits warnings about peers whose connections fail again and again: the first warning about a
 * peer is logged at once, later ones are counted and reported at most once a minute. Any thread may
 * use it.
 */
public final class PeerWarnings {

  private static final long MINUTE_NANOS = 60_000_000_000L;

  /**
   * Most peers that are tracked; after that the one with the oldest logged warning is forgotten.
   */
  private static final int MOST_PEERS = 1_000;

  private final Consumer<String> log;
  private final Map<String, Entry> peers = new LinkedHashMap<>();

  private static final class Entry {
    private final long loggedNanos;
    private long suppressed;

    private Entry(long loggedNanos) {
      this.loggedNanos = loggedNanos;
    }
  }

  /** Creates warnings that are logged to this consumer. */
  public PeerWarnings(Consumer<String> log) {
    this.log = log;
  }

  /**
   * Logs a warning, or counts it.
   *
   * @param peer host that the warning is about; its ports differ from connection to connection
   * @param now time of {@code System.nanoTime()}
   */
  public synchronized void warn(String peer, String message, long now) {
    Entry known = peers.get(peer);
    if (known != null && now - known.loggedNanos < MINUTE_NANOS) {
      known.suppressed++;
      return;
    }
    peers.remove(peer);
    if (peers.size() == MOST_PEERS) {
      peers.remove(peers.keySet().iterator().next());
    }
    peers.put(peer, new Entry(now));
    log.accept(
        known == null || known.suppressed == 0
            ? message
            : "%s (and %s more about %s since the last line)"
                .formatted(message, known.suppressed, peer));
  }
}
