package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Vertx;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The outboxes of one worker for all others, by address. May be called by any thread. */
final class PeerOutboxes {

  private final Vertx vertx;
  private final ExchangeConfig config;
  private final TensorMemory memory = new TensorMemory();
  private final Map<String, PeerOutbox> byAddress = new ConcurrentHashMap<>();
  private volatile int epoch;

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
        .computeIfAbsent(address, to -> new PeerOutbox(vertx, to, config, memory, epoch))
        .offer(frame);
  }

  /** Starts a new epoch and drops the queued frames of earlier ones. */
  void startEpoch(int newEpoch) {
    epoch = newEpoch;
    byAddress.values().forEach(outbox -> outbox.startEpoch(newEpoch));
  }

  /**
   * The frames that one worker still has to send to another: a queue behind a window of
   * unacknowledged bytes.
   *
   * <p>A frame is sent again unchanged until it is acknowledged or its membership epoch is over.
   * May be called by any thread. The thread that makes room for frames encodes them, outside the
   * lock.
   */
  private static final class PeerOutbox {

    private static final Logger LOG = LoggerFactory.getLogger(PeerOutbox.class);
    private static final long MIN_WAIT_MILLIS = 5;

    /** After so many limits of an answer without any, the connection is made again. */
    private static final int RENEW_LIMITS = 2;

    private final Transport transport;
    private final String address;
    private final ExchangeConfig config;
    private final TensorMemory memory;
    private final Deque<OutboundFrame> queue = new ArrayDeque<>();
    private long unacknowledged;
    private long acknowledgedNanos;
    private int epoch;

    /**
     * Creates an empty queue.
     *
     * @param memory memory of the frames' borrowed tensors
     * @param epoch the membership epoch that has started
     */
    PeerOutbox(Vertx vertx, String address, ExchangeConfig config, TensorMemory memory, int epoch) {
      this.epoch = epoch;
      this.memory = memory;
      this.address = address;
      this.config = config;
      this.transport = Transport.of(vertx, config);
    }

    /** Sends a frame now, or when the window has room, unless its epoch is over. */
    void offer(OutboundFrame outbound) {
      synchronized (this) {
        if (isObsolete(outbound)) {
          memory.giveBack(outbound.tensor());
          return;
        }
        queue.add(outbound);
      }
      fillWindow();
    }

    /** Starts a new epoch and drops the queued frames of earlier ones. */
    synchronized void startEpoch(int newEpoch) {
      epoch = newEpoch;
      queue.removeIf(
          outbound -> {
            boolean obsolete = isObsolete(outbound);
            if (obsolete) {
              memory.giveBack(outbound.tensor());
            }
            return obsolete;
          });
    }

    private void fillWindow() {
      List<OutboundFrame> ready = new ArrayList<>();
      synchronized (this) {
        acknowledgedNanos = unacknowledged == 0 ? System.nanoTime() : acknowledgedNanos;
        while (!queue.isEmpty() && fits(queue.peek())) {
          unacknowledged += queue.peek().bytes();
          ready.add(queue.remove());
        }
      }
      ready.forEach(outbound -> transmit(outbound, MIN_WAIT_MILLIS));
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
                  settle(outbound, waitMillis == MIN_WAIT_MILLIS);
                } else if (failure == null && reply instanceof Refusal refusal) {
                  LOG.warn("{} refused a frame: {}", address, refusal.message());
                  settle(outbound, false);
                } else {
                  repeat(outbound, waitMillis, failure);
                }
              });
    }

    private void repeat(OutboundFrame outbound, long waitMillis, Throwable why) {
      boolean obsolete;
      boolean renews;
      synchronized (this) {
        obsolete = isObsolete(outbound);
        long silentNanos = System.nanoTime() - acknowledgedNanos;
        renews = !obsolete && silentNanos > RENEW_LIMITS * config.retryMillis() * 1_000_000;
        acknowledgedNanos = renews ? System.nanoTime() : acknowledgedNanos;
      }
      if (renews) {
        LOG.warn("{}: no frame is acknowledged, connects again: {}", address, String.valueOf(why));
        transport.renew(address);
      }
      if (obsolete) {
        settle(outbound, false);
      } else {
        long next = Math.min(2 * waitMillis, config.retryMillis());
        // A Vert.x timer would end with the verticle on whose thread this happens to run.
        CompletableFuture.delayedExecutor(waitMillis, TimeUnit.MILLISECONDS)
            .execute(() -> transmit(outbound, next));
      }
    }

    /** Reuses the memory only if no second copy of the frame can be in transit. */
    private void settle(OutboundFrame outbound, boolean acknowledgedFirstTime) {
      if (acknowledgedFirstTime) {
        memory.giveBack(outbound.tensor());
      }
      synchronized (this) {
        unacknowledged -= outbound.bytes();
        acknowledgedNanos = System.nanoTime();
      }
      fillWindow();
    }

    private boolean isObsolete(OutboundFrame outbound) {
      return outbound.epoch() < epoch;
    }
  }

  /**
   * A frame to send.
   *
   * @param epoch membership epoch after which nobody wants the frame
   * @param tensor the frame's tensor; a borrowed one comes from the outbox's memory
   */
  record OutboundFrame(Frame frame, int epoch, TensorView tensor) {

    /** Returns the payload length in bytes. */
    int bytes() {
      return tensor.payloadBytes();
    }
  }
}
