package io.vertigrad.internal.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Where what lies in a shared segment: two codes, two words per slot, two rings of messages, then
 * the slots.
 *
 * <p>The words of a slot have a cache line each, since one end writes the one and the other end the
 * other.
 *
 * @param slots how many payloads the segment holds
 */
record SegmentLayout(int slots) {

  /** Bytes of a slot; every payload of a frame fits. */
  static final int SLOT_BYTES = 512 << 10;

  /** Bytes of the owner's random number, and of the peer's code over it. */
  static final int CODE_BYTES = 32;

  /** Where the owner writes random bytes. */
  static final int NONCE = 0;

  /** Where the peer writes its code over them. */
  static final int PROOF = 64;

  /** More than fits into one mapping is never asked for. */
  static final int MOST_SLOTS = 1_024;

  private static final int MOST_SLOTS_BY_WINDOW = 64;
  private static final int WORDS = 4_096;
  private static final int LINE_BYTES = 64;
  private static final int PAGE_BYTES = 4_096;
  private static final VarHandle WORD =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  SegmentLayout {
    if (slots < 1 || slots > MOST_SLOTS) {
      throw new IllegalArgumentException(
          "a segment of %d slots, expected 1 to %d".formatted(slots, MOST_SLOTS));
    }
  }

  /** A segment for all that may be unanswered at a time, and a little more. */
  static SegmentLayout forWindow(int windowBytes) {
    return new SegmentLayout(Math.min(MOST_SLOTS_BY_WINDOW, windowBytes / SLOT_BYTES + 4));
  }

  /** Size of the whole segment. */
  long bytes() {
    return first() + (long) slots * SLOT_BYTES;
  }

  /** Where a slot's payload begins. */
  int payload(int slot) {
    return first() + slot * SLOT_BYTES;
  }

  /** The number of the payload that the owner last wrote to a slot. */
  long written(ByteBuffer memory, int slot) {
    return (long) WORD.getAcquire(memory, WORDS + 2 * slot * LINE_BYTES);
  }

  void written(ByteBuffer memory, int slot, long generation) {
    WORD.setRelease(memory, WORDS + 2 * slot * LINE_BYTES, generation);
  }

  /** The number of the payload in a slot that the peer has last read to its end. */
  long freed(ByteBuffer memory, int slot) {
    return (long) WORD.getAcquire(memory, WORDS + (2 * slot + 1) * LINE_BYTES);
  }

  void freed(ByteBuffer memory, int slot, long generation) {
    WORD.setRelease(memory, WORDS + (2 * slot + 1) * LINE_BYTES, generation);
  }

  /** Where the ring of messages from the segment's owner to its peer begins. */
  int ownersRing() {
    return pages(WORDS + 2 * slots * LINE_BYTES);
  }

  /** Where the ring of messages from the peer to the owner begins. */
  int peersRing() {
    return ownersRing() + MessageRing.BYTES;
  }

  private int first() {
    return pages(peersRing() + MessageRing.BYTES);
  }

  private static int pages(int end) {
    return (end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  }
}
