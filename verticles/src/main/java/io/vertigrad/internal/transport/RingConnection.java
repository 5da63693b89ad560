package io.vertigrad.internal.transport;

import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Short messages between the two ends of a stream through the rings in the sender's segment, in one
 * order with those that go over the stream.
 *
 * <p>Each message in a ring tells how many went over the stream before it, and waits for them; one
 * of the stream waits for those that were in the ring before it. So whoever writes may take either
 * way at any time. A message in a ring costs no call of the system unless its reader waits, who is
 * then woken by a message of the stream.
 *
 * <p>{@link #post} and {@link #overStream} may be called by any thread, everything else by the
 * connection's event loop.
 */
final class RingConnection {

  private static final int MOST_AT_ONCE = 64;

  /** Acknowledgements that nobody waits for, before their reader is woken. */
  private static final int MOST_UNTOLD = 4;

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final Line line;
  private final Consumer<StreamMessage> messages;
  private final Object order = new Object();
  private final boolean lends;
  private volatile MessageRing out;
  private volatile boolean ordered;
  private MessageRing in;
  private long sentOverStream;
  private long readOfStream;
  private int untold;
  private boolean remindsLater;
  private boolean paused;
  private boolean over;

  /** The stream. */
  interface Line {

    /** Has the other end read its ring. */
    void wake();

    /** Does something on the connection's event loop. */
    void run(Runnable task);

    /** Likewise in a millisecond. */
    void runLater(Runnable task);
  }

  /**
   * Nothing goes through rings until {@link #use}.
   *
   * @param messages takes what comes through the ring
   * @param lends whether frames' tensors may be lent
   */
  RingConnection(Line line, Consumer<StreamMessage> messages, boolean lends) {
    this.lends = lends;
    this.line = line;
    this.messages = messages;
  }

  /**
   * There may be rings later, so messages of the stream are counted from now on; before the first
   * request.
   */
  void count() {
    ordered = true;
  }

  /** From now on messages go to one ring, and come from another. */
  void use(MessageRing out, MessageRing in) {
    this.in = in;
    this.out = out;
    read();
  }

  /**
   * Sends a message through the ring.
   *
   * @param urgent false for one that its reader need not be woken for at once
   * @return false when there is no ring, no room, or the message is too long
   */
  boolean post(Kind kind, long number, ByteBuffer head, ByteBuffer rest, boolean urgent) {
    MessageRing ring = out;
    if (ring == null || head.remaining() + rest.remaining() > MessageRing.MOST_BODY_BYTES) {
      return false;
    }
    boolean wake;
    boolean later = false;
    synchronized (order) {
      if (!ring.write(kind.ordinal(), number, sentOverStream, head, rest)) {
        return false;
      }
      untold = urgent ? 0 : untold + 1;
      wake = (urgent || untold >= MOST_UNTOLD) && ring.takeWaiting();
      if (wake) {
        untold = 0;
      } else if (!urgent && !remindsLater && ring.isWaiting()) {
        later = true;
        remindsLater = true;
      }
    }
    if (wake) {
      line.wake();
    } else if (later) {
      line.runLater(this::remind);
    }
    return true;
  }

  /** Likewise a message without body. */
  boolean post(Kind kind, long number, boolean urgent) {
    return post(kind, number, NOTHING, NOTHING, urgent);
  }

  /**
   * Sends a message over the stream, in order with those in the ring, and returns what that does.
   */
  <T> T overStream(Supplier<T> write) {
    if (!ordered) {
      return write.get();
    }
    synchronized (order) {
      sentOverStream++;
      return write.get();
    }
  }

  /** Deals with a message of the stream, after those of the ring that were before it. */
  void readOfStream(Runnable take) {
    // All of them, even while it is paused: at most as many as the ring holds.
    while (in != null && in.hasNext() && in.behind() <= readOfStream && !over) {
      deal(in.take());
    }
    readOfStream++;
    try {
      take.run();
    } finally {
      read();
    }
  }

  /** Reads nothing for a while. */
  void pause() {
    paused = true;
  }

  /** Goes on after {@link #pause}. */
  void resume() {
    paused = false;
    read();
  }

  /** Reads nothing any more. */
  void close() {
    over = true;
  }

  /** Deals with what is in the ring; then waits to be woken. */
  void read() {
    if (in == null) {
      return;
    }
    for (int left = MOST_AT_ONCE; ; left--) {
      while (!in.hasNext()) {
        if (over || in.waits()) {
          return;
        }
      }
      if (over || paused || in.behind() > readOfStream) {
        // What ends the pause, or the message of the stream, has this go on.
        return;
      }
      if (left == 0) {
        line.run(this::read);
        return;
      }
      deal(in.take());
    }
  }

  private void deal(MessageRing.Entry next) {
    boolean dealtWith = false;
    try {
      messages.accept(message(next));
      dealtWith = true;
    } finally {
      if (!dealtWith) {
        line.run(this::read);
      }
    }
  }

  private StreamMessage message(MessageRing.Entry entry) {
    return new StreamMessage(StreamMessage.kind(entry.kind()), entry.number(), entry.body(), lends);
  }

  private void remind() {
    MessageRing ring = out;
    boolean wake;
    synchronized (order) {
      remindsLater = false;
      wake = untold > 0 && ring.takeWaiting();
      untold = 0;
    }
    if (wake && !over) {
      line.wake();
    }
  }
}
