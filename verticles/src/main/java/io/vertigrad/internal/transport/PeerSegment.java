package io.vertigrad.internal.transport;

import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.job.JobSecret;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * A memory segment that another process owns and this one reads payloads from.
 *
 * <p>Used on the event loop of its connection; any thread may read a payload until it is freed.
 */
final class PeerSegment {

  private final ByteBuffer memory;
  private final SegmentLayout layout;

  /** Creates a segment over memory that the other process has mapped as well. */
  PeerSegment(ByteBuffer memory, SegmentLayout layout) {
    this.memory = memory;
    this.layout = layout;
  }

  /** Returns the reading end of the ring of messages from the owner. */
  MessageRing ownerToPeerRing() {
    return new MessageRing(memory, layout.ownerToPeerRing());
  }

  /** Returns the writing end of the ring of messages to the owner. */
  MessageRing peerToOwnerRing() {
    return new MessageRing(memory, layout.peerToOwnerRing());
  }

  /** Writes a code into the memory, which proves to the owner that this process has mapped it. */
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

  /** Returns a payload, or null if it is not in the segment. */
  ByteBuffer payload(SlotReference at) {
    boolean inside =
        at.slot() >= 0
            && at.length() >= 0
            && at.length() <= FrameLimits.MAX_PAYLOAD_BYTES
            && at.slot() <= layout.slots() - SegmentLayout.slotsOf(at.length());
    return inside && layout.writtenGeneration(memory, at.slot()) == at.generation()
        ? memory.slice(layout.slotOffset(at.slot()), at.length())
        : null;
  }

  /** Lets the owner write to the payload's slots again. */
  void free(SlotReference at) {
    layout.setFreedGeneration(memory, at.slot(), at.generation());
  }
}
