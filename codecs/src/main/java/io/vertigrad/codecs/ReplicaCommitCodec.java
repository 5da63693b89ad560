package io.vertigrad.codecs;

import io.vertigrad.codecs.ReplicaCommit.Account;
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
                .mapToInt(a -> Account.BYTES + a.turnedAway().size() * Long.BYTES)
                .sum();
    ByteBuffer payload = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    payload.putLong(frame.samples()).putLong(frame.countedFrom()).putInt(frame.settled().size());
    for (Settled entry : frame.settled()) {
      payload.putInt(entry.worker()).putInt(entry.incarnation()).putLong(entry.step());
    }
    payload.putInt(frame.accounts().size());
    frame.accounts().forEach(account -> write(account, payload));
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.VERSION, frame.version())
        .payload(payload.flip());
  }

  private static void write(Account account, ByteBuffer payload) {
    payload.putInt(account.worker()).putInt(account.incarnation()).putLong(account.next());
    payload.putLong(account.applied()).putLong(account.late()).putLong(account.tooStale());
    payload.putLong(account.refused()).putLong(account.skipped());
    payload.putInt(account.turnedAway().size());
    account.turnedAway().forEach(payload::putLong);
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
    int accountCount = from.payloadCount("accounts", Account.BYTES, ReplicaCommit.MOST_WORKERS);
    List<Account> accounts = new ArrayList<>(accountCount);
    for (int i = 0; i < accountCount; i++) {
      accounts.add(account(from));
    }
    return from.orMalformed(
        () -> new ReplicaCommit(id, layout, version, samples, countedFrom, settled, accounts));
  }

  private static Account account(FrameReader from) {
    int worker = from.payloadInt("worker of an account", 0);
    int incarnation = from.payloadInt("incarnation of an account", 0);
    long[] counts = new long[6];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = from.payloadLong(COUNT, 0);
    }
    int count = from.payloadCount("turned away", Long.BYTES, Account.MOST_TURNED_AWAY);
    List<Long> turnedAway = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      turnedAway.add(from.payloadLong("step turned away", 0));
    }
    return new Account(
        worker,
        incarnation,
        counts[0],
        counts[1],
        counts[2],
        counts[3],
        counts[4],
        counts[5],
        turnedAway);
  }
}
