package io.vertigrad.verticles.peer;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.verticles.job.ExchangeConfig;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one worker still has to bring to another: a queue behind a window of unacknowledged bytes.
 *
 * <p>A frame goes out again, the very same, until it is acknowledged or its membership epoch is
 * over. Any thread; frames are encoded by whoever makes room for them, never inside the lock.
 */
final class PeerOutbox {

  private static final Logger LOG = LoggerFactory.getLogger(PeerOutbox.class);
  private static final long SHORTEST_WAIT_MILLIS = 5;

  private final Vertx vertx;
  private final String address;
  private final ExchangeConfig config;
  private final DeliveryOptions delivery;
  private final Deque<PeerPartition> queue = new ArrayDeque<>();
  private long unacknowledged;
  private int epoch;

  PeerOutbox(Vertx vertx, String address, ExchangeConfig config) {
    this.vertx = vertx;
    this.address = address;
    this.config = config;
    this.delivery = new DeliveryOptions().setSendTimeout(config.retryMillis());
  }

  /** Sends now or when there is room. */
  void offer(PeerPartition frame) {
    synchronized (this) {
      queue.add(frame);
    }
    fillWindow();
  }

  /** Lets go of everything of earlier epochs. */
  synchronized void moveTo(int newEpoch) {
    epoch = newEpoch;
    queue.removeIf(this::isOver);
  }

  private void fillWindow() {
    List<PeerPartition> ready = new ArrayList<>();
    synchronized (this) {
      while (!queue.isEmpty() && fits(queue.peek())) {
        unacknowledged += queue.peek().tensor().payloadBytes();
        ready.add(queue.remove());
      }
    }
    ready.forEach(frame -> transmit(frame, SHORTEST_WAIT_MILLIS));
  }

  private boolean fits(PeerPartition frame) {
    int bytes = frame.tensor().payloadBytes();
    return unacknowledged == 0 || unacknowledged + bytes <= config.windowBytes();
  }

  private void transmit(PeerPartition frame, long waitMillis) {
    vertx
        .eventBus()
        .<Frame>request(address, frame, delivery)
        .onComplete(
            (reply, failure) -> {
              if (failure == null && reply.body() == null) {
                settle(frame);
              } else if (failure == null && reply.body() instanceof Refusal refusal) {
                LOG.warn("{} refused a frame: {}", address, refusal.message());
                settle(frame);
              } else {
                repeat(frame, waitMillis);
              }
            });
  }

  private void repeat(PeerPartition frame, long waitMillis) {
    boolean over;
    synchronized (this) {
      over = isOver(frame);
    }
    if (over) {
      settle(frame);
    } else {
      long next = Math.min(2 * waitMillis, config.retryMillis());
      vertx.setTimer(waitMillis, id -> transmit(frame, next));
    }
  }

  private void settle(PeerPartition frame) {
    synchronized (this) {
      unacknowledged -= frame.tensor().payloadBytes();
    }
    fillWindow();
  }

  private boolean isOver(PeerPartition frame) {
    return frame.id().epoch() < epoch;
  }
}
