package io.vertigrad.internal.transport;

import io.vertigrad.job.JobSecret;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Memory that another process owns and this one reads payloads from.
 *
 * <p>Belongs to the event loop of its connection; payloads may be read by any thread until they are
 * freed.
 */
final class PeerSegment {

  private final ByteBuffer memory;
  private final SegmentLayout layout;

  /** A segment over memory that the other process has mapped as well. */
  PeerSegment(ByteBuffer memory, SegmentLayout layout) {
    this.memory = memory;
    this.layout = layout;
  }

  /** The end of the ring of messages from the owner where they are read. */
  MessageRing ownersRing() {
    return new MessageRing(memory, layout.ownersRing());
  }

  /** The end of the ring of messages to the owner where they are written. */
  MessageRing peersRing() {
    return new MessageRing(memory, layout.peersRing());
  }

  /** Proves to the owner, in the memory itself, that this process has mapped it. */
  void prove(JobSecret secret, String name) {
    byte[] nonce = new byte[SegmentLayout.CODE_BYTES];
    memory.get(SegmentLayout.NONCE, nonce);
    memory.put(SegmentLayout.PROOF, code(secret, nonce, name));
  }

  static byte[] code(JobSecret secret, byte[] nonce, String name) {
    return secret.sign(
        "reader of a segment",
        ByteBuffer.wrap(nonce),
        ByteBuffer.wrap(name.getBytes(StandardCharsets.UTF_8)));
  }

  /** A payload, or null where there is none such. */
  ByteBuffer payload(SlotReference at) {
    boolean inside =
        at.slot() >= 0
            && at.slot() < layout.slots()
            && at.length() >= 0
            && at.length() <= SegmentLayout.SLOT_BYTES;
    return inside && layout.written(memory, at.slot()) == at.generation()
        ? memory.slice(layout.payload(at.slot()), at.length())
        : null;
  }

  /** Lets the owner write to the slot again. */
  void free(SlotReference at) {
    layout.freed(memory, at.slot(), at.generation());
  }
}
