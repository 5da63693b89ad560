package io.vertigrad.internal.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The offsets in a shared segment: two codes, two words per slot, two message rings, then the
 * slots.
 *
 * <p>Each word of a slot has a cache line to itself, because one end writes the first word and the
 * other end writes the second.
 *
 * @param slots number of slots in the segment
 */
record SegmentLayout(int slots) {

  /** Size of a slot in bytes; a payload takes as many consecutive slots as it needs. */
  static final int SLOT_BYTES = 64 << 10;

  /** Size in bytes of the owner's random bytes, and of the peer's code over them. */
  static final int CODE_BYTES = 32;

  /** Offset at which the owner writes random bytes. */
  static final int NONCE = 0;

  /** Offset at which the peer writes its code over them. */
  static final int PROOF = 64;

  /** Most slots of a segment; more would not fit into one mapping. */
  static final int MOST_SLOTS = 8_192;

  private static final int MOST_SLOTS_BY_WINDOW = 512;
  private static final int SLOTS_TO_SPARE = 32;
  private static final int SLOT_STATES_OFFSET = 4_096;
  private static final int LINE_BYTES = 64;
  private static final int PAGE_BYTES = 4_096;
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  SegmentLayout {
    if (slots < 1 || slots > MOST_SLOTS) {
      throw new IllegalArgumentException(
          "a segment of %s slots, expected 1 to %s".formatted(slots, MOST_SLOTS));
    }
  }

  /**
   * Returns the layout of a segment for a full window of unanswered requests, with some slots to
   * spare.
   */
  static SegmentLayout forWindow(int windowBytes) {
    return new SegmentLayout(
        Math.min(MOST_SLOTS_BY_WINDOW, windowBytes / SLOT_BYTES + SLOTS_TO_SPARE));
  }

  /** Returns the size of the whole segment in bytes. */
  long bytes() {
    return slotsOffset() + (long) slots * SLOT_BYTES;
  }

  /** Returns the number of slots that a payload of this length takes. */
  static int slotsOf(int length) {
    return Math.max(1, (length + SLOT_BYTES - 1) / SLOT_BYTES);
  }

  /** Returns the offset of a slot. */
  int slotOffset(int slot) {
    return slotsOffset() + slot * SLOT_BYTES;
  }

  /** Returns the number of the payload that the owner last wrote to a slot. */
  long writtenGeneration(ByteBuffer memory, int slot) {
    return (long) LONGS.getAcquire(memory, SLOT_STATES_OFFSET + 2 * slot * LINE_BYTES);
  }

  void setWrittenGeneration(ByteBuffer memory, int slot, long generation) {
    LONGS.setRelease(memory, SLOT_STATES_OFFSET + 2 * slot * LINE_BYTES, generation);
  }

  /** Returns the number of the last payload in a slot that the peer has finished reading. */
  long freedGeneration(ByteBuffer memory, int slot) {
    return (long) LONGS.getAcquire(memory, SLOT_STATES_OFFSET + (2 * slot + 1) * LINE_BYTES);
  }

  void setFreedGeneration(ByteBuffer memory, int slot, long generation) {
    LONGS.setRelease(memory, SLOT_STATES_OFFSET + (2 * slot + 1) * LINE_BYTES, generation);
  }

  /** Returns the offset of the ring of messages from the segment's owner to its peer. */
  int ownerToPeerRing() {
    return roundUpToPage(SLOT_STATES_OFFSET + 2 * slots * LINE_BYTES);
  }

  /** Returns the offset of the ring of messages from the peer to the owner. */
  int peerToOwnerRing() {
    return ownerToPeerRing() + MessageRing.BYTES;
  }

  private int slotsOffset() {
    return roundUpToPage(peerToOwnerRing() + MessageRing.BYTES);
  }

  private static int roundUpToPage(int end) {
    return (end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
  }
}
