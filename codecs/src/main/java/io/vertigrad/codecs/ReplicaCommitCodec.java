package io.vertigrad.codecs;

import io.vertigrad.codecs.ReplicaCommit.Settled;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** {@link ReplicaCommit} as a frame of kind 9; the payload is the samples and what is settled. */
final class ReplicaCommitCodec extends FrameCodec<ReplicaCommit> {

  ReplicaCommitCodec() {
    super(9, ReplicaCommit.class, "commit");
  }

  @Override
  void write(ReplicaCommit frame, FrameWriter to) {
    int bytes = Long.BYTES + Integer.BYTES + frame.settled().size() * Settled.BYTES;
    ByteBuffer payload = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    payload.putLong(frame.samples()).putInt(frame.settled().size());
    for (Settled entry : frame.settled()) {
      payload.putInt(entry.worker()).putInt(entry.incarnation()).putLong(entry.step());
    }
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.VERSION, frame.version())
        .payload(payload.flip());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    long version = from.atLeast(HeaderField.VERSION, 0);
    long samples = from.payloadLong("samples behind it", 0);
    int count = from.payloadCount("settled", Settled.BYTES);
    List<Settled> settled = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      settled.add(
          new Settled(
              from.payloadInt("settled worker", 0),
              from.payloadInt("settled incarnation", 0),
              from.payloadLong("settled step", 0)));
    }
    return from.orMalformed(() -> new ReplicaCommit(id, layout, version, samples, settled));
  }
}
