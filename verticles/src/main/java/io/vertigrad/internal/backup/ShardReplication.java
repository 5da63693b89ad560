package io.vertigrad.internal.backup;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.codecs.LedgerEntry;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.ReplicaCommit;
import io.vertigrad.codecs.ReplicaCommit.Settled;
import io.vertigrad.codecs.ReplicaTensor;
import io.vertigrad.codecs.ReplicaTensor.Part;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.ShardListener;
import io.vertigrad.internal.shard.StoredPartition;
import io.vertigrad.internal.transport.Transport;
import io.vertx.core.Completable;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.nio.FloatBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Keeps a backup of one shard: sends it a copy and then every change, and holds answers with
 * parameters back until the backup has those parameters.
 *
 * <p>A change is the reduced gradient of an optimizer step, once per round and not once per worker,
 * together with the updates that were counted. The backup steps its own optimizer to the same bits.
 * Without a backup nothing is held back. After a backup has failed, answers stay held back until
 * {@link #detach}, because the coordinator must know first that this backup is incomplete.
 *
 * <p>A plain object of the shard's thread. Memory: what is on its way to the backup, at most one
 * update of each partition beyond the window, because workers wait for their answers.
 */
public final class ShardReplication implements ShardListener {

  /** Limit of bytes on their way to the backup without an answer. */
  private static final long WINDOW_BYTES = 16 << 20;

  /** Size assumed for a commit; its real size depends on how many workers it names. */
  private static final long COMMIT_BYTES = 1_024;

  private final long job;
  private final int shard;
  private final int incarnation;
  private final long layout;
  private final SortedMap<Integer, Replicated> partitions = new TreeMap<>();
  private final Deque<Outgoing> outbox = new ArrayDeque<>();
  private Link link;
  private Consumer<String> onFailure;
  private Runnable pendingAttach;
  private boolean failed;
  private boolean connected;
  private long unansweredBytes;
  private long nextRecord;

  /** Sends records to one backup. */
  @FunctionalInterface
  public interface Link {

    /**
     * Sends a record.
     *
     * @param answered called once, on the shard's thread, with null when the backup has the record,
     *     with a refusal, or with a failure
     */
    void send(Frame record, Completable<Frame> answered);

    /**
     * Returns a link over the job's transport without any traffic yet; call it on the shard's event
     * loop.
     *
     * @param limitMillis silence after which the backup counts as failed
     */
    static Link over(Transport transport, String address, long limitMillis) {
      Context context = Vertx.currentContext();
      return (record, answered) ->
          transport.request(
              address,
              record,
              limitMillis,
              (answer, failure) -> {
                if (Vertx.currentContext() == context) {
                  answered.complete(answer, failure);
                } else {
                  context.runOnContext(go -> answered.complete(answer, failure));
                }
              });
    }
  }

  private record Outgoing(long bytes, Supplier<Frame> record, Runnable acknowledged) {}

  private record HeldAnswer(long commit, Frame answer, Promise<Frame> promise) {}

  /**
   * Creates the replication of a shard that has no backup yet.
   *
   * @param job hash of the job's name
   * @param shard the shard
   * @param incarnation of its server
   * @param layout hash of the parameter layout
   */
  public ShardReplication(long job, int shard, int incarnation, long layout) {
    this.job = job;
    this.shard = shard;
    this.incarnation = incarnation;
    this.layout = layout;
  }

  @Override
  public void follow(StoredPartition stored, DuplicateWindow window, PartitionLedger ledger) {
    Replicated partition = new Replicated(stored, window, ledger);
    partitions.put(stored.partition().index(), partition);
    stored.onChange(partition);
    window.onSettled(partition::settled);
    ledger.onChange(partition::counted);
  }

  /**
   * Starts to replicate with a copy of all partitions, now or, if workers move in rounds, after the
   * open round. No answer then shows parameters that the backup does not have.
   *
   * @param from the shard that this replication follows
   * @param to the backup
   * @param onFailure called once with the reason when the backup has failed; answers are held back
   *     from then until {@link #detach}
   * @return completes when the backup has the copy
   */
  public Future<Void> attach(Shard from, Link to, Consumer<String> onFailure) {
    Promise<Void> attached = Promise.promise();
    pendingAttach = () -> start(to, onFailure).onComplete(attached);
    committed(from);
    return attached.future();
  }

  private Future<Void> start(Link to, Consumer<String> onFailure) {
    if (link != null) {
      return Future.failedFuture("shard %d has a backup already".formatted(shard));
    }
    this.link = to;
    this.onFailure = onFailure;
    failed = false;
    connected = false;
    unansweredBytes = 0;
    nextRecord = 0;
    Promise<Void> copied = Promise.promise();
    List<Replicated> all = List.copyOf(partitions.values());
    for (int i = 0; i < all.size(); i++) {
      all.get(i).copy(i == all.size() - 1 ? copied::tryComplete : () -> {});
    }
    if (all.isEmpty()) {
      copied.complete();
    }
    sendQueued();
    return copied.future();
  }

  /** Continues without a backup and releases the answers that were held back. */
  public void detach() {
    pendingAttach = null;
    link = null;
    outbox.clear();
    partitions.values().forEach(Replicated::releaseAll);
  }

  /** Holds an answer back until the backup has the parameters in it. */
  @Override
  public Future<Frame> answering(int partition, Future<Frame> answer) {
    if (link == null && answer.isComplete()) {
      return answer;
    }
    Promise<Frame> promise = Promise.promise();
    answer.onComplete(
        (frame, defect) -> {
          if (link != null && frame instanceof ParameterPartition) {
            partitions.get(partition).holdBack(frame, promise);
          } else {
            promise.complete(frame, defect);
          }
        });
    return promise.future();
  }

  /** Sends the changes since the last commit, and the copy for a backup that waits for it. */
  @Override
  public void committed(Shard from) {
    if (link != null && !failed) {
      partitions.values().forEach(Replicated::commit);
      sendQueued();
    }
    if (pendingAttach != null && (!from.movesInRounds() || from.isAligned())) {
      Runnable attach = pendingAttach;
      pendingAttach = null;
      attach.run();
    }
  }

  /** Ends every wait with a refusal. */
  @Override
  public void closed(String reason) {
    pendingAttach = null;
    link = null;
    outbox.clear();
    partitions.values().forEach(partition -> partition.refuseAll(reason));
  }

  private void sendQueued() {
    while (!failed && link != null && !outbox.isEmpty() && fits(outbox.peek())) {
      Outgoing sending = outbox.remove();
      unansweredBytes += sending.bytes();
      Link over = link;
      over.send(
          sending.record().get(),
          (refusal, failure) -> {
            if (over == link && !failed) {
              answered(sending, refusal, failure);
            }
          });
    }
  }

  /**
   * Returns whether a record may be sent now. The first record goes alone, because the connection
   * may not be open until it is answered.
   */
  private boolean fits(Outgoing outgoing) {
    return unansweredBytes == 0 || connected && unansweredBytes + outgoing.bytes() <= WINDOW_BYTES;
  }

  private void answered(Outgoing sent, Frame refusal, Throwable failure) {
    if (failure != null || refusal != null) {
      failed = true;
      outbox.clear();
      onFailure.accept(
          failure != null
              ? String.valueOf(failure.getMessage())
              : refusal instanceof Refusal answer ? answer.message() : refusal.toString());
      return;
    }
    connected = true;
    unansweredBytes -= sent.bytes();
    sent.acknowledged().run();
    sendQueued();
  }

  private void enqueue(long bytes, Supplier<Frame> record, Runnable acknowledged) {
    outbox.add(new Outgoing(bytes, record, acknowledged));
  }

  private ExchangeId id(int partition) {
    return new ExchangeId(job, shard, incarnation, 0, nextRecord++, partition);
  }

  /** One partition and the changes that its backup lacks. */
  private final class Replicated implements StoredPartition.ChangeListener {

    private final StoredPartition stored;
    private final DuplicateWindow window;
    private final int index;
    private final PartitionLedger ledger;
    private final Map<Integer, Settled> settled = new TreeMap<>();
    private final Set<Integer> counted = new TreeSet<>();
    private final Deque<HeldAnswer> heldAnswers = new ArrayDeque<>();
    private boolean changed;
    private boolean stepped;
    private long committed;
    private long acknowledged;

    Replicated(StoredPartition stored, DuplicateWindow window, PartitionLedger ledger) {
      this.ledger = ledger;
      this.stored = stored;
      this.window = window;
      this.index = stored.partition().index();
    }

    @Override
    public void stepping(float[] gradient, long version) {
      if (link == null || failed) {
        return;
      }
      if (stepped) {
        commit();
      }
      Tensor copy = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(gradient));
      ExchangeId id = id(index);
      enqueue(
          copy.payloadBytes(),
          () -> new ReplicaTensor(id, layout, version, Part.GRADIENT, 0, copy),
          () -> {});
      stepped = true;
      changed = true;
    }

    @Override
    public void skipped() {
      changed = true;
    }

    void settled(DuplicateWindow.Entry entry) {
      if (link != null && !failed) {
        settled.put(entry.worker(), settledOf(entry));
        changed = true;
      }
    }

    void counted(int rank) {
      if (link != null && !failed) {
        counted.add(rank);
        changed = true;
      }
    }

    private static Settled settledOf(DuplicateWindow.Entry entry) {
      return new Settled(entry.worker(), entry.incarnation(), entry.step());
    }

    private void clearChanges() {
      settled.clear();
      counted.clear();
      changed = false;
      stepped = false;
    }

    void commit() {
      if (changed) {
        List<Settled> updates = List.copyOf(settled.values());
        List<LedgerEntry> accounts = counted.stream().map(ledger::entry).toList();
        clearChanges();
        commit(stored.version(), stored.samples(), updates, accounts, () -> {});
      }
    }

    /** Sends a commit, in several frames if it names more workers than one frame holds. */
    private void commit(
        long version,
        long samples,
        List<Settled> updates,
        List<LedgerEntry> accounts,
        Runnable copied) {
      long number = ++committed;
      long from = ledger.firstVersion();
      int most = ReplicaCommit.MOST_WORKERS;
      int frames = Math.max(1, (Math.max(updates.size(), accounts.size()) + most - 1) / most);
      for (int i = 0; i < frames; i++) {
        List<Settled> some = slice(updates, i * most, most);
        List<LedgerEntry> others = slice(accounts, i * most, most);
        ExchangeId id = id(index);
        boolean last = i == frames - 1;
        enqueue(
            COMMIT_BYTES,
            () -> new ReplicaCommit(id, layout, version, samples, from, some, others),
            () -> {
              if (last) {
                release(number);
                copied.run();
              }
            });
      }
    }

    private static <T> List<T> slice(List<T> all, int first, int most) {
      return first >= all.size()
          ? List.of()
          : all.subList(first, Math.min(all.size(), first + most));
    }

    void copy(Runnable copied) {
      clearChanges();
      PartitionSnapshot now = stored.snapshot(window.entries());
      pieces(now, Part.PARAMETERS, now.parameters());
      pieces(now, Part.STATE, now.state());
      commit(
          now.version(),
          now.samples(),
          now.window().stream().map(Replicated::settledOf).toList(),
          ledger.snapshot().entries(),
          copied);
    }

    private void pieces(PartitionSnapshot now, Part part, float[] values) {
      for (int first = 0; first < values.length; first += FrameLimits.MAX_ELEMENTS) {
        int length = Math.min(FrameLimits.MAX_ELEMENTS, values.length - first);
        FloatBuffer piece = FloatBuffer.wrap(values, first, length);
        long begins = first;
        ExchangeId id = id(index);
        enqueue(
            (long) length * Float.BYTES,
            () ->
                new ReplicaTensor(
                    id,
                    layout,
                    now.version(),
                    part,
                    begins,
                    Tensor.copyOf(DataType.FLOAT32, piece)),
            () -> {});
      }
    }

    void holdBack(Frame answer, Promise<Frame> promise) {
      long commit = changed ? committed + 1 : committed;
      if (!failed && commit <= acknowledged) {
        promise.complete(answer);
      } else {
        heldAnswers.add(new HeldAnswer(commit, answer, promise));
      }
    }

    private void release(long commit) {
      acknowledged = commit;
      while (!heldAnswers.isEmpty() && heldAnswers.peek().commit() <= commit) {
        HeldAnswer next = heldAnswers.remove();
        next.promise().complete(next.answer());
      }
    }

    void releaseAll() {
      clearChanges();
      release(Long.MAX_VALUE);
      acknowledged = committed;
    }

    void refuseAll(String reason) {
      while (!heldAnswers.isEmpty()) {
        HeldAnswer next = heldAnswers.remove();
        ExchangeId id = ((ParameterPartition) next.answer()).id();
        next.promise().complete(new Refusal(id, Reason.UNAVAILABLE, reason));
      }
    }
  }
}
