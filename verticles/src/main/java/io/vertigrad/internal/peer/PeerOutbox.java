package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Vertx;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The frames that one worker still has to send to another: a queue behind a window of
 * unacknowledged bytes.
 *
 * <p>A frame is sent again unchanged until it is acknowledged or its membership epoch is over. May
 * be called by any thread. The thread that makes room for frames encodes them, outside the lock.
 */
final class PeerOutbox {

  private static final Logger LOG = LoggerFactory.getLogger(PeerOutbox.class);
  private static final long SHORTEST_WAIT_MILLIS = 5;

  private final Vertx vertx;
  private final Transport transport;
  private final String address;
  private final ExchangeConfig config;
  private final TensorMemory memory;
  private final Deque<OutboundFrame> queue = new ArrayDeque<>();
  private long unacknowledged;
  private int epoch;

  /**
   * Creates an empty queue.
   *
   * @param memory memory of the frames' borrowed tensors
   */
  PeerOutbox(Vertx vertx, String address, ExchangeConfig config, TensorMemory memory) {
    this.vertx = vertx;
    this.memory = memory;
    this.address = address;
    this.config = config;
    this.transport = Transport.of(vertx, config);
  }

  /** Sends a frame now, or when the window has room. */
  void offer(OutboundFrame outbound) {
    synchronized (this) {
      queue.add(outbound);
    }
    fillWindow();
  }

  /** Starts a new epoch and drops the queued frames of earlier ones. */
  synchronized void moveTo(int newEpoch) {
    epoch = newEpoch;
    queue.removeIf(this::isOver);
  }

  private void fillWindow() {
    List<OutboundFrame> ready = new ArrayList<>();
    synchronized (this) {
      while (!queue.isEmpty() && fits(queue.peek())) {
        unacknowledged += queue.peek().bytes();
        ready.add(queue.remove());
      }
    }
    ready.forEach(outbound -> transmit(outbound, SHORTEST_WAIT_MILLIS));
  }

  private boolean fits(OutboundFrame outbound) {
    return unacknowledged == 0 || unacknowledged + outbound.bytes() <= config.windowBytes();
  }

  private void transmit(OutboundFrame outbound, long waitMillis) {
    transport
        .request(address, outbound.frame(), config.retryMillis())
        .onComplete(
            (reply, failure) -> {
              if (failure == null && reply == null) {
                settle(outbound, waitMillis == SHORTEST_WAIT_MILLIS);
              } else if (failure == null && reply instanceof Refusal refusal) {
                LOG.warn("{} refused a frame: {}", address, refusal.message());
                settle(outbound, false);
              } else {
                repeat(outbound, waitMillis);
              }
            });
  }

  private void repeat(OutboundFrame outbound, long waitMillis) {
    boolean over;
    synchronized (this) {
      over = isOver(outbound);
    }
    if (over) {
      settle(outbound, false);
    } else {
      long next = Math.min(2 * waitMillis, config.retryMillis());
      vertx.setTimer(waitMillis, id -> transmit(outbound, next));
    }
  }

  /** Reuses the memory only if no second copy of the frame can be in transit. */
  private void settle(OutboundFrame outbound, boolean atOnce) {
    if (atOnce) {
      memory.giveBack(outbound.tensor());
    }
    synchronized (this) {
      unacknowledged -= outbound.bytes();
    }
    fillWindow();
  }

  private boolean isOver(OutboundFrame outbound) {
    return outbound.epoch() < epoch;
  }
}
