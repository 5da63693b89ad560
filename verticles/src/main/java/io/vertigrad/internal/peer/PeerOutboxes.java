package io.vertigrad.internal.peer;

import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Vertx;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The outboxes of one worker for all others, by address. May be called by any thread. */
final class PeerOutboxes {

  private final Vertx vertx;
  private final ExchangeConfig config;
  private final TensorMemory memory = new TensorMemory();
  private final Map<String, PeerOutbox> byAddress = new ConcurrentHashMap<>();

  PeerOutboxes(Vertx vertx, ExchangeConfig config) {
    this.vertx = vertx;
    this.config = config;
  }

  /** Returns the memory for tensors that are borrowed until their frame is acknowledged. */
  TensorMemory memory() {
    return memory;
  }

  /** Sends a frame now, or when the window has room. */
  void offer(String address, OutboundFrame frame) {
    byAddress
        .computeIfAbsent(address, to -> new PeerOutbox(vertx, to, config, memory))
        .offer(frame);
  }

  /** Starts a new epoch and drops the queued frames of earlier ones. */
  void moveTo(int epoch) {
    byAddress.values().forEach(outbox -> outbox.moveTo(epoch));
  }
}
