package io.vertigrad.internal.transport;

import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.job.JobSecret;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A memory segment that this process writes payloads to and one other process reads. A payload
 * takes one or more slots. Any thread may use it.
 *
 * <p>It takes the lowest free slots, because they are probably still in the processor's cache. A
 * slot is free again when the reader has marked it in the segment, or when the exchange that it
 * belonged to has ended.
 */
final class OwnedSegment {

  private final Path file;
  private final ByteBuffer memory;
  private final SegmentLayout layout;
  private final byte[] nonce = RandomBytes.of(SegmentLayout.CODE_BYTES);
  private final long[] generations;
  private final long[] exchanges;

  /** Number of slots of the payload that begins in a slot; 0 if none begins there. */
  private final int[] slotCounts;

  private long lastGeneration;

  /**
   * Creates a segment over new memory and writes the nonce into it.
   *
   * @param memory must be all zero
   */
  OwnedSegment(Path file, ByteBuffer memory, SegmentLayout layout) {
    this.file = file;
    this.memory = memory;
    this.layout = layout;
    this.generations = new long[layout.slots()];
    this.exchanges = new long[layout.slots()];
    this.slotCounts = new int[layout.slots()];
    memory.put(SegmentLayout.NONCE, nonce);
  }

  /** Returns the name of the file in the folder that both processes use. */
  String name() {
    return file.getFileName().toString();
  }

  SegmentLayout layout() {
    return layout;
  }

  /** Returns the writing end of the ring of messages to the peer. */
  MessageRing ownerToPeerRing() {
    return new MessageRing(memory, layout.ownerToPeerRing());
  }

  /** Returns the reading end of the ring of messages from the peer. */
  MessageRing peerToOwnerRing() {
    return new MessageRing(memory, layout.peerToOwnerRing());
  }

  /** Returns true once the peer has written its code over the nonce into this memory. */
  boolean isProved(JobSecret secret) {
    byte[] found = new byte[SegmentLayout.CODE_BYTES];
    memory.get(SegmentLayout.PROOF, found);
    return JobSecret.equal(found, PeerSegment.code(secret, nonce, name()));
  }

  /**
   * Deletes the file's name: nobody else can open it, and nothing is left when both ends are gone.
   */
  void unlink() throws IOException {
    Files.deleteIfExists(file);
  }

  /**
   * Copies a payload to free slots.
   *
   * @param exchange number of the request that it belongs to, not 0
   * @param payload payload of a frame; its position does not change
   * @return where the payload is, or null when there are not enough free slots
   */
  SlotReference write(long exchange, ByteBuffer payload) {
    int slot;
    long generation;
    synchronized (this) {
      slot = freeSlots(SegmentLayout.slotsOf(payload.remaining()));
      if (slot < 0) {
        return null;
      }
      generation = ++lastGeneration;
      generations[slot] = generation;
      exchanges[slot] = exchange;
      slotCounts[slot] = SegmentLayout.slotsOf(payload.remaining());
    }
    int length = payload.remaining();
    memory.put(layout.slotOffset(slot), payload, payload.position(), length);
    layout.setWrittenGeneration(memory, slot, generation);
    return new SlotReference(slot, length, generation);
  }

  /** Frees all slots of an exchange; called when the other end no longer reads them. */
  synchronized void release(long exchange) {
    for (int slot = 0; slot < slotCounts.length; slot += Math.max(1, slotCounts[slot])) {
      if (slotCounts[slot] > 0 && exchanges[slot] == exchange) {
        generations[slot] = 0;
      }
    }
  }

  /** Returns the first of this many consecutive free slots, or -1. */
  private int freeSlots(int count) {
    int free = 0;
    for (int slot = 0; slot < slotCounts.length; ) {
      int length = slotCounts[slot];
      if (length > 0 && isReleased(slot)) {
        slotCounts[slot] = 0;
        length = 0;
      }
      free = length > 0 ? 0 : free + 1;
      slot += Math.max(1, length);
      if (free == count) {
        return slot - count;
      }
    }
    return -1;
  }

  private boolean isReleased(int slot) {
    return generations[slot] == 0 || layout.freedGeneration(memory, slot) == generations[slot];
  }
}
