package io.vertigrad.internal.transport;

import io.netty.channel.EventLoop;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * The doorbell of an event loop that reads one connection's ring. Where datagrams do not arrive,
 * messages wait until the next {@link #check}, and after a few of them the stream wakes the loop.
 *
 * <p>Runs on that event loop.
 */
final class LoopDoorbell implements AutoCloseable {

  private static final int MOST_MISSED = 3;

  private final Doorbell doorbell;
  private final RingConnection rings;
  private final BooleanSupplier read;
  private boolean rung;

  /**
   * Number of times since the doorbell rang that a message was found which nobody had announced.
   */
  private int missed;

  /**
   * Creates a doorbell that is not answered yet.
   *
   * @param read reads the ring; returns whether there was anything
   */
  LoopDoorbell(Doorbell doorbell, RingConnection rings, BooleanSupplier read) {
    this.doorbell = doorbell;
    this.rings = rings;
    this.read = read;
  }

  /** Answers from now on. The other end rings once this end has heard its own ring. */
  void answerOn(EventLoop loop) {
    doorbell.answerOn(loop, this::onRing);
  }

  private void onRing() {
    rung = true;
    missed = 0;
    rings.wakeAt(doorbell.port());
    read.getAsBoolean();
  }

  /**
   * Reads what was not announced because a datagram was lost; called about once a second. A thread
   * that has taken over looks for itself.
   */
  void check() {
    if (!rings.isTakenOver() && read.getAsBoolean() && !rung && ++missed >= MOST_MISSED) {
      rings.wakeAt(MessageRing.BY_STREAM);
      read.getAsBoolean();
    }
    rung = false;
  }

  @Override
  public void close() throws IOException {
    doorbell.close();
  }
}
