package io.vertigrad.internal.security;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Warnings about peers whose connections go wrong again and again: of each peer the first is logged
 * at once, the others are counted and told once a minute. Any thread.
 */
public final class PeerWarnings {

  private static final long MINUTE_NANOS = 60_000_000_000L;

  /** Peers that are told apart; the one heard of longest ago is forgotten for another. */
  private static final int MOST_PEERS = 1_000;

  private final Consumer<String> log;
  private final Map<String, Entry> peers = new LinkedHashMap<>();

  private static final class Entry {
    private final long toldNanos;
    private long untold;

    private Entry(long toldNanos) {
      this.toldNanos = toldNanos;
    }
  }

  /** Takes where the lines go. */
  public PeerWarnings(Consumer<String> log) {
    this.log = log;
  }

  /**
   * Logs a warning, or counts it.
   *
   * @param peer host of whom it is about; its ports differ from connection to connection
   * @param now of {@code System.nanoTime()}
   */
  public synchronized void warn(String peer, String message, long now) {
    Entry known = peers.get(peer);
    if (known != null && now - known.toldNanos < MINUTE_NANOS) {
      known.untold++;
      return;
    }
    peers.remove(peer);
    if (peers.size() == MOST_PEERS) {
      peers.remove(peers.keySet().iterator().next());
    }
    peers.put(peer, new Entry(now));
    log.accept(
        known == null || known.untold == 0
            ? message
            : "%s (and %d more about %s since the last line)"
                .formatted(message, known.untold, peer));
  }
}
