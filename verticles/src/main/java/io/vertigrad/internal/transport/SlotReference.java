package io.vertigrad.internal.transport;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Says where in the sender's segment the payload of a frame is.
 *
 * @param slot index of the first slot
 * @param length payload length in bytes
 * @param generation number of the payload, counted by the owner over all slots of the segment
 */
record SlotReference(int slot, int length, long generation) {

  static final int BYTES = 16;

  static SlotReference read(ByteBuffer bytes) {
    ByteBuffer fields = bytes.slice().order(ByteOrder.LITTLE_ENDIAN);
    return new SlotReference(
        fields.getInt(0), fields.getInt(Integer.BYTES), fields.getLong(Long.BYTES));
  }

  ByteBuffer bytes() {
    return ByteBuffer.allocate(BYTES)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(slot)
        .putInt(length)
        .putLong(generation)
        .flip();
  }
}
