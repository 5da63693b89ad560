package io.vertigrad.internal.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A queue of short messages from one process to another in memory that both have mapped. It has one
 * writer at a time and one reader.
 *
 * <p>A reader that finds the queue empty writes how to wake it before it waits, and then looks once
 * more. A writer that finds this has to wake the reader.
 */
final class MessageRing {

  /** Longest body in bytes: a frame's header and a slot reference. */
  static final int MOST_BODY_BYTES = 112;

  /** A reader that does not wait. */
  static final int AWAKE = 0;

  /** A reader that waits for a message of the stream. */
  static final int BY_STREAM = 1;

  private static final int MOST_PORT = 65_535;
  private static final int ENTRIES = 256;
  private static final int LINE_BYTES = 64;
  private static final int ENTRY_BYTES = 3 * LINE_BYTES;
  private static final int FIRST = 3 * LINE_BYTES;

  /** Size of a ring in bytes. */
  static final int BYTES = FIRST + ENTRIES * ENTRY_BYTES;

  private static final int WRITTEN = 0;
  private static final int READ = LINE_BYTES;

  /** Where a reader writes how to wake it. */
  static final int WAITING = 2 * LINE_BYTES;

  private static final int KIND = 0;
  private static final int LENGTH = 4;
  private static final int NUMBER = 8;
  private static final int STREAM_MESSAGES_BEFORE = 16;
  private static final int BODY = 24;
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final ByteBuffer memory;

  /** Number of entries that this end, the writer or the reader, has processed. */
  private long position;

  /** Creates one end of a ring that nothing has been written to or read from. */
  MessageRing(ByteBuffer segment, int offset) {
    memory = segment.slice(offset, BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * A message in the ring.
   *
   * @param kind code of the message kind, as on a stream
   */
  record Entry(int kind, long number, ByteBuffer body) {}

  /**
   * Writes a message; called by one thread at a time.
   *
   * @param kind code of the message kind, as on a stream
   * @param streamMessagesBefore number of messages that were sent over the stream before this one
   * @return false when there is no room
   */
  boolean write(
      int kind, long number, long streamMessagesBefore, ByteBuffer header, ByteBuffer payload) {
    if (position - (long) LONGS.getAcquire(memory, READ) >= ENTRIES) {
      return false;
    }
    int at = entry(position);
    int length = header.remaining() + payload.remaining();
    memory.putInt(at + KIND, kind).putInt(at + LENGTH, length);
    memory.putLong(at + NUMBER, number).putLong(at + STREAM_MESSAGES_BEFORE, streamMessagesBefore);
    memory.put(at + BODY, header, header.position(), header.remaining());
    memory.put(at + BODY + header.remaining(), payload, payload.position(), payload.remaining());
    LONGS.setVolatile(memory, WRITTEN, ++position);
    return true;
  }

  /**
   * Returns how to wake the reader, which the caller then has to do: {@link #BY_STREAM}, or the
   * port of its {@link Doorbell}. Returns {@link #AWAKE} when the reader does not wait, or is being
   * woken by another call. Called after a write.
   */
  int clearWaiting() {
    long how = (long) LONGS.getVolatile(memory, WAITING);
    // Fails only when the reader has changed it meanwhile.
    while (how != AWAKE && !LONGS.compareAndSet(memory, WAITING, how, (long) AWAKE)) {
      how = (long) LONGS.getVolatile(memory, WAITING);
    }
    // A faulty reader may have written anything.
    return how > MOST_PORT || how < 0 ? BY_STREAM : (int) how;
  }

  /** Returns true when the reader waits. Called after a write. */
  boolean isWaiting() {
    return (long) LONGS.getVolatile(memory, WAITING) != AWAKE;
  }

  /**
   * Says that the reader waits.
   *
   * @param how how to wake it: {@link #BY_STREAM} or a port
   * @return false when a message has arrived in the meantime; the reader then does not wait
   */
  boolean startWaiting(int how) {
    LONGS.setVolatile(memory, WAITING, (long) how);
    if ((long) LONGS.getVolatile(memory, WRITTEN) == position) {
      return true;
    }
    LONGS.setVolatile(memory, WAITING, (long) AWAKE);
    return false;
  }

  /**
   * Says that the reader does not wait any more. A writer may be about to wake it all the same.
   *
   * @param how how the reader would have been woken
   */
  void stopWaiting(int how) {
    LONGS.compareAndSet(memory, WAITING, (long) how, (long) AWAKE);
  }

  /** Returns true when there is a message to {@link #take}. */
  boolean hasNext() {
    return (long) LONGS.getAcquire(memory, WRITTEN) != position;
  }

  /**
   * Returns how many messages of the stream precede the next message of the ring. Call it only when
   * there is a next message.
   */
  long streamMessagesBefore() {
    return memory.getLong(entry(position) + STREAM_MESSAGES_BEFORE);
  }

  /**
   * Removes the next message and returns a copy, so that its entry may be written again. Call it
   * only when there is a next message.
   */
  Entry take() {
    int at = entry(position);
    // A faulty writer may have left a wrong length: it is cut here, and the message's kind is
    // checked later.
    int length = Math.max(0, Math.min(MOST_BODY_BYTES, memory.getInt(at + LENGTH)));
    byte[] body = new byte[length];
    memory.get(at + BODY, body);
    Entry next =
        new Entry(memory.getInt(at + KIND), memory.getLong(at + NUMBER), ByteBuffer.wrap(body));
    LONGS.setRelease(memory, READ, ++position);
    return next;
  }

  private static int entry(long position) {
    return FIRST + (int) (position % ENTRIES) * ENTRY_BYTES;
  }
}
