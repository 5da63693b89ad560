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
 * reader waits; the writer's thread then rings the reader's {@link Doorbell}, or a message of the
 * stream wakes it.
 *
 * <p>The connection's event loop reads, except while a thread {@linkplain #takeOver has taken over}
 * because it waits for answers. So nobody has to pass them on to it.
 *
 * <p>Any thread may call {@link #post} and {@link #sendOverStream}, and one at a time the methods
 * between {@link #takeOver} and {@link #handBack}; only the connection's event loop calls the other
 * methods.
 */
final class RingConnection {

  private static final int MOST_AT_ONCE = 64;

  /** Number of acknowledgements that nobody waits for, after which their reader is woken. */
  private static final int MAX_UNANNOUNCED = 4;

  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final Channel channel;
  private final Consumer<StreamMessage> messageHandler;
  private final Object order = new Object();

  /** Held while messages are received, so that one thread at a time does. */
  private final Object reading = new Object();

  private final boolean lends;
  private volatile MessageRing outgoing;
  private volatile boolean counting;
  private MessageRing incoming;
  private long sentOverStream;
  private long streamMessagesRead;
  private int unannounced;
  private boolean wakeScheduled;
  private int loopPort = MessageRing.BY_STREAM;

  /** Port of the thread that reads instead of the event loop; {@link MessageRing#AWAKE} if none. */
  private int threadPort = MessageRing.AWAKE;

  private volatile boolean paused;
  private volatile boolean closed;

  /** The stream between the two ends. */
  interface Channel {

    /**
     * Asks the other end to read its ring.
     *
     * @param port {@link MessageRing#BY_STREAM}, or the port of its doorbell
     */
    void wake(int port);

    /** Runs a task on the connection's event loop. */
    void run(Runnable task);

    /** Runs a task on the connection's event loop in a millisecond. */
    void runLater(Runnable task);
  }

  /**
   * Creates a connection that uses no ring until {@link #use}.
   *
   * @param messageHandler receives what arrives through the ring
   * @param lends whether frames' tensors may be lent
   */
  RingConnection(Channel channel, Consumer<StreamMessage> messageHandler, boolean lends) {
    this.lends = lends;
    this.channel = channel;
    this.messageHandler = messageHandler;
  }

  /**
   * Starts to count messages of the stream, because there may be rings later; called before the
   * first request.
   */
  void count() {
    counting = true;
  }

  /** Starts to send messages through one ring and to receive them from another. */
  void use(MessageRing outgoing, MessageRing incoming) {
    synchronized (reading) {
      this.incoming = incoming;
    }
    this.outgoing = outgoing;
    read();
  }

  /** Has the other end wake this event loop at a port of its own from now on. */
  void wakeAt(int port) {
    synchronized (reading) {
      loopPort = port;
    }
  }

  /**
   * Makes the calling thread the one that receives messages, until {@link #handBack}. It is awake,
   * and must {@link #read} before it waits.
   *
   * @param port at which the thread waits
   * @return false when there is no ring, or another thread has taken over
   */
  boolean takeOver(int port) {
    synchronized (reading) {
      if (incoming == null || closed || threadPort != MessageRing.AWAKE) {
        return false;
      }
      incoming.stopWaiting(loopPort);
      threadPort = port;
      return true;
    }
  }

  /** Returns whether a thread receives messages instead of the event loop. */
  boolean isTakenOver() {
    synchronized (reading) {
      return threadPort != MessageRing.AWAKE;
    }
  }

  /** Lets the event loop receive messages again; called by the thread that has taken over. */
  void handBack() {
    synchronized (reading) {
      incoming.stopWaiting(threadPort);
      threadPort = MessageRing.AWAKE;
      read();
    }
  }

  /**
   * Sends a message through the ring.
   *
   * @param urgent false for a message whose reader need not be woken at once
   * @return false when there is no ring, no room, or the message is too long
   */
  boolean post(Kind kind, long number, ByteBuffer header, ByteBuffer payload, boolean urgent) {
    MessageRing ring = outgoing;
    if (ring == null || header.remaining() + payload.remaining() > MessageRing.MOST_BODY_BYTES) {
      return false;
    }
    int wake;
    boolean later = false;
    synchronized (order) {
      if (!ring.write(kind.ordinal(), number, sentOverStream, header, payload)) {
        return false;
      }
      unannounced = urgent ? 0 : unannounced + 1;
      wake = urgent || unannounced >= MAX_UNANNOUNCED ? ring.clearWaiting() : MessageRing.AWAKE;
      if (wake != MessageRing.AWAKE) {
        unannounced = 0;
      } else if (!urgent && !wakeScheduled && ring.isWaiting()) {
        later = true;
        wakeScheduled = true;
      }
    }
    if (wake != MessageRing.AWAKE) {
      channel.wake(wake);
    } else if (later) {
      channel.runLater(this::wakeIfNeeded);
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
  <T> T sendOverStream(Supplier<T> write) {
    if (!counting) {
      return write.get();
    }
    synchronized (order) {
      sentOverStream++;
      return write.get();
    }
  }

  /** Handles a message of the stream, after the messages of the ring that precede it. */
  void onStreamMessage(Runnable take) {
    synchronized (reading) {
      // Handles all of them, even while the ring is paused: at most as many as the ring holds.
      while (incoming != null
          && incoming.hasNext()
          && incoming.streamMessagesBefore() <= streamMessagesRead
          && !closed) {
        deliver(incoming.take());
      }
      streamMessagesRead++;
      try {
        take.run();
      } finally {
        read();
      }
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
    closed = true;
  }

  /**
   * Handles the messages in the ring, then waits to be woken. Called by the event loop, and by a
   * thread that has taken over.
   *
   * @return whether there were any
   */
  boolean read() {
    synchronized (reading) {
      if (incoming == null) {
        return false;
      }
      for (int left = MOST_AT_ONCE; ; left--) {
        while (!incoming.hasNext()) {
          if (closed || incoming.startWaiting(port())) {
            return left < MOST_AT_ONCE;
          }
        }
        if (closed || paused || incoming.streamMessagesBefore() > streamMessagesRead) {
          // The end of the pause, or the missing message of the stream, continues the reading.
          return left < MOST_AT_ONCE;
        }
        if (left == 0) {
          channel.run(this::read);
          return true;
        }
        deliver(incoming.take());
      }
    }
  }

  /** Returns where the reader waits. */
  private int port() {
    return threadPort == MessageRing.AWAKE ? loopPort : threadPort;
  }

  private void deliver(MessageRing.Entry next) {
    boolean delivered = false;
    try {
      messageHandler.accept(message(next));
      delivered = true;
    } finally {
      if (!delivered) {
        channel.run(this::read);
      }
    }
  }

  private StreamMessage message(MessageRing.Entry entry) {
    return new StreamMessage(StreamMessage.kind(entry.kind()), entry.number(), entry.body(), lends);
  }

  private void wakeIfNeeded() {
    MessageRing ring = outgoing;
    int wake;
    synchronized (order) {
      wakeScheduled = false;
      wake = unannounced > 0 ? ring.clearWaiting() : MessageRing.AWAKE;
      unannounced = 0;
    }
    if (wake != MessageRing.AWAKE && !closed) {
      channel.wake(wake);
    }
  }
}
