package io.vertigrad.internal.peer;

import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Vertx;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What one worker still has to bring to all others, by their addresses. Any thread. */
final class PeerOutboxes {

  private final Vertx vertx;
  private final ExchangeConfig config;
  private final TensorMemory memory = new TensorMemory();
  private final Map<String, PeerOutbox> byAddress = new ConcurrentHashMap<>();

  PeerOutboxes(Vertx vertx, ExchangeConfig config) {
    this.vertx = vertx;
    this.config = config;
  }

  /** Memory for tensors that are lent until their frame was acknowledged. */
  TensorMemory memory() {
    return memory;
  }

  /** Sends now or when there is room. */
  void offer(String address, OutboundFrame frame) {
    byAddress
        .computeIfAbsent(address, to -> new PeerOutbox(vertx, to, config, memory))
        .offer(frame);
  }

  /** Lets go of everything of earlier epochs. */
  void moveTo(int epoch) {
    byAddress.values().forEach(outbox -> outbox.moveTo(epoch));
  }
}
