package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.TensorView;
import java.util.Map;
import java.util.TreeMap;

/**
 * Payload bytes that one member has sent and received, per partner. A partner is a shard's server
 * in a job with servers, otherwise another worker. Retries and duplicates are not counted. May be
 * called by any thread.
 *
 * <p>The first {@value #NAMED} partners are counted one by one. All others share the count of
 * {@link #OTHERS}, so that a report stays small in a complete graph of many workers.
 */
public final class TrafficCounters {

  /** Number of partners that are counted one by one, in each direction. */
  public static final int NAMED = 16;

  /** Stands for all partners beyond the first {@value #NAMED}. */
  public static final int OTHERS = -1;

  private final Map<Integer, Long> sent = new TreeMap<>();
  private final Map<Integer, Long> received = new TreeMap<>();
  private long saved;

  /** Counts a tensor sent to a partner. */
  public synchronized void sent(int partner, TensorView tensor) {
    count(sent, partner, tensor.payloadBytes());
    saved += tensor.savedBytes();
  }

  /** Counts a tensor received from a partner. */
  public synchronized void received(int partner, TensorView tensor) {
    count(received, partner, tensor.payloadBytes());
  }

  /** Adds the counts of another instance, which nobody may change meanwhile. */
  public synchronized void add(TrafficCounters other) {
    other.sentTo().forEach((partner, bytes) -> count(sent, partner, bytes));
    other.receivedFrom().forEach((partner, bytes) -> count(received, partner, bytes));
    saved += other.bytesSaved();
  }

  public synchronized Map<Integer, Long> sentTo() {
    return Map.copyOf(sent);
  }

  public synchronized Map<Integer, Long> receivedFrom() {
    return Map.copyOf(received);
  }

  public long bytesSent() {
    return sum(sentTo());
  }

  /** Returns how many more bytes float32 would have sent. */
  public synchronized long bytesSaved() {
    return saved;
  }

  public long bytesReceived() {
    return sum(receivedFrom());
  }

  private static void count(Map<Integer, Long> totals, int partner, long bytes) {
    boolean named = totals.containsKey(partner) || named(totals) < NAMED;
    totals.merge(named ? partner : OTHERS, bytes, Long::sum);
  }

  private static int named(Map<Integer, Long> totals) {
    return totals.size() - (totals.containsKey(OTHERS) ? 1 : 0);
  }

  private static long sum(Map<Integer, Long> totals) {
    return totals.values().stream().mapToLong(Long::longValue).sum();
  }
}
