package io.vertigrad.internal.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Short messages from one process to another in memory that both have mapped: a queue with one
 * writer at a time and one reader.
 *
 * <p>The reader says in a word of its own when it has found the queue empty and is about to wait;
 * who writes then has to wake it, and nobody else. The reader looks once more after it has said so.
 */
final class MessageRing {

  /** Longest body: a frame's header and a reference. */
  static final int MOST_BODY_BYTES = 112;

  private static final int ENTRIES = 256;
  private static final int LINE_BYTES = 64;
  private static final int ENTRY_BYTES = 3 * LINE_BYTES;
  private static final int FIRST = 3 * LINE_BYTES;

  /** Size of a ring. */
  static final int BYTES = FIRST + ENTRIES * ENTRY_BYTES;

  private static final int WRITTEN = 0;
  private static final int READ = LINE_BYTES;
  private static final int WAITING = 2 * LINE_BYTES;
  private static final int KIND = 0;
  private static final int LENGTH = 4;
  private static final int NUMBER = 8;
  private static final int BEHIND = 16;
  private static final int BODY = 24;
  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final ByteBuffer memory;

  /** Of the one end that writes, or of the one that reads: entries it has dealt with. */
  private long position;

  /** A ring of which nothing has been written or read. */
  MessageRing(ByteBuffer segment, int offset) {
    memory = segment.slice(offset, BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * A message.
   *
   * @param kind its code, as on a stream
   */
  record Entry(int kind, long number, ByteBuffer body) {}

  /**
   * Writes a message; one thread at a time.
   *
   * @param kind its code, as on a stream
   * @param behind how many messages went over the stream before it
   * @return false when there is no room
   */
  boolean write(int kind, long number, long behind, ByteBuffer head, ByteBuffer rest) {
    if (position - (long) WORD.getAcquire(memory, READ) >= ENTRIES) {
      return false;
    }
    int at = entry(position);
    int length = head.remaining() + rest.remaining();
    memory.putInt(at + KIND, kind).putInt(at + LENGTH, length);
    memory.putLong(at + NUMBER, number).putLong(at + BEHIND, behind);
    memory.put(at + BODY, head, head.position(), head.remaining());
    memory.put(at + BODY + head.remaining(), rest, rest.position(), rest.remaining());
    WORD.setVolatile(memory, WRITTEN, ++position);
    return true;
  }

  /** True when the reader waits; it is then the caller who has to wake it. After a write. */
  boolean takeWaiting() {
    if ((long) WORD.getVolatile(memory, WAITING) == 0) {
      return false;
    }
    WORD.setVolatile(memory, WAITING, 0L);
    return true;
  }

  /** True when the reader waits. After a write. */
  boolean isWaiting() {
    return (long) WORD.getVolatile(memory, WAITING) != 0;
  }

  /**
   * Says that the reader waits from now on.
   *
   * @return false when a message has come meanwhile; the reader does not wait then
   */
  boolean waits() {
    WORD.setVolatile(memory, WAITING, 1L);
    if ((long) WORD.getVolatile(memory, WRITTEN) == position) {
      return true;
    }
    WORD.setVolatile(memory, WAITING, 0L);
    return false;
  }

  /** True when there is a message to {@link #take}. */
  boolean hasNext() {
    return (long) WORD.getAcquire(memory, WRITTEN) != position;
  }

  /** How many messages of the stream came before the next one of the ring, which there is. */
  long behind() {
    return memory.getLong(entry(position) + BEHIND);
  }

  /** The next message, which there is; its place may be written again. */
  Entry take() {
    int at = entry(position);
    // What a broken writer may have left there is cut, and refused by whoever looks at the kind.
    int length = Math.max(0, Math.min(MOST_BODY_BYTES, memory.getInt(at + LENGTH)));
    byte[] body = new byte[length];
    memory.get(at + BODY, body);
    Entry next =
        new Entry(memory.getInt(at + KIND), memory.getLong(at + NUMBER), ByteBuffer.wrap(body));
    WORD.setRelease(memory, READ, ++position);
    return next;
  }

  private static int entry(long position) {
    return FIRST + (int) (position % ENTRIES) * ENTRY_BYTES;
  }
}
