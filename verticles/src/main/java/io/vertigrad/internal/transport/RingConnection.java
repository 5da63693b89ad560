package io.vertigrad.internal.transport;

import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Short messages between the two ends of a stream, through the rings in the sender's segment and in
 * one order with messages that go over the stream.
 *
 * <p>Each message in a ring carries the number of messages that went over the stream before it, and
 * waits for them. A message of the stream waits for those that were in the ring before it. So a
 * writer may use either path at any time. A message in a ring costs no system call unless its
 * reader waits; a message of the stream then wakes the reader.
 *
 * <p>Any thread may call {@link #post} and {@link #overStream}; only the connection's event loop
 * calls the other methods.
 */
final class RingConnection {

  private static final int MOST_AT_ONCE = 64;

  /** Number of acknowledgements that nobody waits for, after which their reader is woken. */
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

  /** The stream between the two ends. */
  interface Line {

    /** Asks the other end to read its ring. */
    void wake();

    /** Runs a task on the connection's event loop. */
    void run(Runnable task);

    /** Runs a task on the connection's event loop in a millisecond. */
    void runLater(Runnable task);
  }

  /**
   * Creates a connection that uses no ring until {@link #use}.
   *
   * @param messages receives what arrives through the ring
   * @param lends whether frames' tensors may be lent
   */
  RingConnection(Line line, Consumer<StreamMessage> messages, boolean lends) {
    this.lends = lends;
    this.line = line;
    this.messages = messages;
  }

  /**
   * Starts to count messages of the stream, because there may be rings later; called before the
   * first request.
   */
  void count() {
    ordered = true;
  }

  /** Starts to send messages through one ring and to receive them from another. */
  void use(MessageRing out, MessageRing in) {
    this.in = in;
    this.out = out;
    read();
  }

  /**
   * Sends a message through the ring.
   *
   * @param urgent false for a message whose reader need not be woken at once
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

  /** Sends a message without a body through the ring. */
  boolean post(Kind kind, long number, boolean urgent) {
    return post(kind, number, NOTHING, NOTHING, urgent);
  }

  /**
   * Sends a message over the stream, in order with those in the ring, and returns the result of
   * {@code write}.
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

  /** Handles a message of the stream, after the messages of the ring that precede it. */
  void readOfStream(Runnable take) {
    // Handles all of them, even while the ring is paused: at most as many as the ring holds.
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

  /** Stops reading the ring until {@link #resume}. */
  void pause() {
    paused = true;
  }

  /** Continues after {@link #pause}. */
  void resume() {
    paused = false;
    read();
  }

  /** Stops reading for good. */
  void close() {
    over = true;
  }

  /** Handles the messages in the ring, then waits to be woken. */
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
        // The end of the pause, or the missing message of the stream, continues the reading.
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
