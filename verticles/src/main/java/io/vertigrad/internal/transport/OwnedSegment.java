package io.vertigrad.internal.transport;

import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.job.JobSecret;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Memory that this process writes payloads to and one other process reads them from: slots of one
 * payload each. Any thread.
 *
 * <p>The lowest free slot is taken, because the processor's cache still has it. A slot is free
 * again when the reader has said so in the segment itself, or when the exchange it belonged to is
 * over.
 */
final class OwnedSegment {

  private final Path file;
  private final ByteBuffer memory;
  private final SegmentLayout layout;
  private final byte[] nonce = RandomBytes.of(SegmentLayout.CODE_BYTES);
  private final long[] generations;
  private final long[] exchanges;

  /** Slots of the payload that begins in a slot; 0 where none begins. */
  private final int[] taken;

  private long lastGeneration;

  /**
   * A segment over new memory, whose nonce it writes.
   *
   * @param memory is all zero
   */
  OwnedSegment(Path file, ByteBuffer memory, SegmentLayout layout) {
    this.file = file;
    this.memory = memory;
    this.layout = layout;
    this.generations = new long[layout.slots()];
    this.exchanges = new long[layout.slots()];
    this.taken = new int[layout.slots()];
    memory.put(SegmentLayout.NONCE, nonce);
  }

  /** Its name in the folder that both processes know. */
  String name() {
    return file.getFileName().toString();
  }

  SegmentLayout layout() {
    return layout;
  }

  /** The end of the ring of messages to the peer where they are written. */
  MessageRing ownersRing() {
    return new MessageRing(memory, layout.ownersRing());
  }

  /** The end of the ring of messages from the peer where they are read. */
  MessageRing peersRing() {
    return new MessageRing(memory, layout.peersRing());
  }

  /** True once the peer has written its code over the nonce to the same memory. */
  boolean isProved(JobSecret secret) {
    byte[] found = new byte[SegmentLayout.CODE_BYTES];
    memory.get(SegmentLayout.PROOF, found);
    return JobSecret.equal(found, PeerSegment.code(secret, nonce, name()));
  }

  /** Takes its name away: nobody else can open it, and nothing is left when both ends are gone. */
  void unlink() throws IOException {
    Files.deleteIfExists(file);
  }

  /**
   * Copies a payload to free slots.
   *
   * @param exchange number of the request that it belongs to, not 0
   * @param payload of a frame; stays where it is
   * @return where it is, or null when there are not enough free slots
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
      taken[slot] = SegmentLayout.slotsOf(payload.remaining());
    }
    int length = payload.remaining();
    memory.put(layout.payload(slot), payload, payload.position(), length);
    layout.written(memory, slot, generation);
    return new SlotReference(slot, length, generation);
  }

  /** The other end is done with whatever belonged to this exchange. */
  synchronized void release(long exchange) {
    for (int slot = 0; slot < taken.length; slot += Math.max(1, taken[slot])) {
      if (taken[slot] > 0 && exchanges[slot] == exchange) {
        generations[slot] = 0;
      }
    }
  }

  /** The first of so many free slots in a row, or -1. */
  private int freeSlots(int count) {
    int free = 0;
    for (int slot = 0; slot < taken.length; ) {
      int length = taken[slot];
      if (length > 0 && isOver(slot)) {
        taken[slot] = 0;
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

  private boolean isOver(int slot) {
    return generations[slot] == 0 || layout.freed(memory, slot) == generations[slot];
  }
}
