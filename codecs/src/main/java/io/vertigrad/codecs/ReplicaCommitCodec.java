package io.vertigrad.codecs;

import io.vertigrad.codecs.ReplicaCommit.Settled;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** {@link ReplicaCommit} as a frame of kind 9; the payload holds the samples and the two lists. */
final class ReplicaCommitCodec extends FrameCodec<ReplicaCommit> {

  private static final String COUNT = "a count of an account";

  ReplicaCommitCodec() {
    super(9, ReplicaCommit.class, "commit");
  }

  @Override
  void write(ReplicaCommit frame, FrameWriter to) {
    int bytes =
        2 * (Long.BYTES + Integer.BYTES)
            + frame.settled().size() * Settled.BYTES
            + frame.accounts().stream()
                .mapToInt(entry -> LedgerEntry.BYTES + entry.refusedSteps().size() * Long.BYTES)
                .sum();
    ByteBuffer payload = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    payload.putLong(frame.samples()).putLong(frame.countedFrom()).putInt(frame.settled().size());
    for (Settled entry : frame.settled()) {
      payload.putInt(entry.worker()).putInt(entry.incarnation()).putLong(entry.step());
    }
    payload.putInt(frame.accounts().size());
    frame.accounts().forEach(entry -> write(entry, payload));
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.VERSION, frame.version())
        .payload(payload.flip());
  }

  private static void write(LedgerEntry entry, ByteBuffer payload) {
    UpdateCounts counts = entry.counts();
    payload.putInt(entry.rank()).putInt(entry.incarnation()).putLong(entry.next());
    payload.putLong(counts.applied()).putLong(counts.late()).putLong(counts.tooStale());
    payload.putLong(counts.refused()).putLong(counts.skipped());
    payload.putInt(entry.refusedSteps().size());
    entry.refusedSteps().forEach(payload::putLong);
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    long version = from.atLeast(HeaderField.VERSION, 0);
    long samples = from.payloadLong("samples behind it", 0);
    long countedFrom = from.payloadLong("counted from", 0);
    int count = from.payloadCount("settled", Settled.BYTES, ReplicaCommit.MOST_WORKERS);
    List<Settled> settled = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      settled.add(
          new Settled(
              from.payloadInt("settled worker", 0),
              from.payloadInt("settled incarnation", 0),
              from.payloadLong("settled step", 0)));
    }
    int accountCount = from.payloadCount("accounts", LedgerEntry.BYTES, ReplicaCommit.MOST_WORKERS);
    List<LedgerEntry> accounts = new ArrayList<>(accountCount);
    for (int i = 0; i < accountCount; i++) {
      accounts.add(account(from));
    }
    return from.orMalformed(
        () -> new ReplicaCommit(id, layout, version, samples, countedFrom, settled, accounts));
  }

  private static LedgerEntry account(FrameReader from) {
    int rank = from.payloadInt("worker of an account", 0);
    int incarnation = from.payloadInt("incarnation of an account", 0);
    long next = from.payloadLong(COUNT, 0);
    UpdateCounts counts =
        new UpdateCounts(
            from.payloadLong(COUNT, 0),
            from.payloadLong(COUNT, 0),
            from.payloadLong(COUNT, 0),
            from.payloadLong(COUNT, 0),
            from.payloadLong(COUNT, 0));
    int count = from.payloadCount("turned away", Long.BYTES, LedgerEntry.MOST_REFUSED_STEPS);
    List<Long> refusedSteps = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      refusedSteps.add(from.payloadLong("step turned away", 0));
    }
    return new LedgerEntry(rank, incarnation, next, counts, refusedSteps);
  }
}
