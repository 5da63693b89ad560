package io.vertigrad.internal.peer;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.peer.PeerInbox.Acceptance;
import io.vertigrad.internal.peer.PeerOutboxes.OutboundFrame;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.FloatBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * The connection of one incarnation of a worker to its peers, over a {@link Transport}.
 *
 * <p>{@link #membershipChanged} may be called by any thread, everything else by the worker's
 * thread.
 */
public final class WorkerPeers implements Peers {

  private static final long POLL_NANOS = 50_000_000;
  private static final long MIN_SPAN_NANOS = 50_000;

  private final Vertx vertx;
  private final JobConfig job;
  private final long layout;
  private final SenderIdentity self;
  private final LongSupplier waitClock;
  private final SpanRecorder timeline;
  private final BooleanSupplier stop;
  private final PeerFrames frames;
  private final PeerInbox inbox = new PeerInbox();
  private final WakeSignal wakeSignal = new WakeSignal();
  private final PeerOutboxes outboxes;
  private final TrafficCounters traffic = new TrafficCounters();
  private volatile Membership newest = Membership.NONE;
  private Membership adopted = Membership.NONE;
  private volatile ReceiveCallback callback;
  private Future<Transport.Listening> listening;

  /**
   * Creates a connection that is not open.
   *
   * @param layout hash of the parameter layout
   * @param waitClock monotonic clock in nanoseconds; limits how long it waits for a message
   * @param timeline records the waits for other workers
   * @param stop returns true when this incarnation has to end
   */
  public WorkerPeers(
      Vertx vertx,
      JobConfig job,
      long layout,
      SenderIdentity self,
      LongSupplier waitClock,
      SpanRecorder timeline,
      BooleanSupplier stop,
      PeerFrames frames) {
    this.frames = frames;
    this.vertx = vertx;
    this.job = job;
    this.layout = layout;
    this.self = self;
    this.waitClock = waitClock;
    this.timeline = timeline;
    this.stop = stop;
    this.outboxes = new PeerOutboxes(vertx, job.exchange());
  }

  /** Starts listening. Completes when others can send. */
  public Future<Void> open() {
    String address = frames.address(job.addresses(), self.rank(), self.incarnation());
    listening = Transport.borrow(vertx, address, this::handle);
    return listening.mapEmpty();
  }

  /** Stops listening and drops frames that were not delivered or not taken. */
  public Future<Void> close() {
    outboxes.startEpoch(Integer.MAX_VALUE);
    inbox.adopt(Integer.MAX_VALUE);
    return listening == null
        ? Future.succeededFuture()
        : listening.compose(Transport.Listening::close);
  }

  /** Sets the new membership of the job. */
  public void membershipChanged(Membership now) {
    if (now.epoch() > newest.epoch()) {
      newest = now;
      wake();
    }
  }

  /** Wakes a waiting thread, so that it checks whether it has to stop. */
  public void wake() {
    wakeSignal.wake();
  }

  /** Returns true if the newest group contains this worker and was not adopted yet. */
  public boolean hasNewGroup() {
    return !current() && newest.hasWorker(self.rank(), self.incarnation());
  }

  /** Returns true if there is no newer group than the adopted one. */
  public boolean current() {
    return newest.epoch() == adopted.epoch();
  }

  /** Waits at most about 50 ms for a change. */
  public void awaitChange() {
    wakeSignal.await(() -> false, POLL_NANOS);
  }

  /** Returns the bytes sent to and received from each worker so far. */
  public TrafficCounters traffic() {
    return traffic;
  }

  @Override
  public PeerGroup adopt() {
    // Read once: between a caller's look at hasNewGroup() and here, this worker may have been
    // evicted.
    Membership now = newest;
    if (!now.hasWorker(self.rank(), self.incarnation())) {
      throw new GroupChangedException(
          "worker %s is not in membership epoch %s".formatted(self.rank(), now.epoch()));
    }
    adopted = now;
    inbox.adopt(adopted.epoch());
    outboxes.startEpoch(adopted.epoch());
    List<Integer> ranks = adopted.workers().stream().map(Membership.Member::rank).toList();
    return new PeerGroup(adopted.epoch(), ranks, self.rank());
  }

  @Override
  public void send(int rank, Tag tag, TensorView tensor) {
    Frame frame =
        frames.frame(self.exchange(adopted.epoch(), tag.round(), tag.piece()), layout, tag, tensor);
    traffic.sent(rank, tensor);
    outboxes.offer(
        frames.address(job.addresses(), rank, incarnation(rank)),
        new OutboundFrame(frame, adopted.epoch(), tensor));
  }

  @Override
  public void send(int rank, Tag tag, DataType type, FloatBuffer values) {
    send(rank, tag, unclaimed(outboxes.memory().copyOf(type, values)));
  }

  @Override
  public void sendSum(int rank, Tag tag, DataType type, FloatBuffer own, TensorView tensor) {
    send(rank, tag, unclaimed(outboxes.memory().sumOf(type, own, tensor)));
  }

  /**
   * A frame may be repeated or its worker may end: only the first acknowledgement gives it back.
   */
  private static TensorView unclaimed(TensorView tensor) {
    TensorMemory.leave(tensor);
    return tensor;
  }

  @Override
  public Tensor receive(int rank, Tag tag) {
    Tensor[] received = new Tensor[1];
    receive(rank, List.of(tag), (came, tensor) -> received[0] = tensor.retain());
    return received[0];
  }

  @Override
  public void receive(int rank, Collection<Tag> tags, BiConsumer<Tag, TensorView> taker) {
    if (tags.isEmpty()) {
      return;
    }
    long begun = timeline.now();
    callback = new ReceiveCallback(tags, taker);
    try {
      for (Tag here : inbox.expect(rank, tags)) {
        TensorView stored = inbox.take(rank, here).orElseThrow();
        callback.take(here, stored);
        inbox.giveBack(stored);
      }
      await(rank, callback);
    } finally {
      callback.end();
      inbox.expectNothing();
    }
    long ended = timeline.now();
    if (ended - begun > MIN_SPAN_NANOS) {
      timeline.span("wait for " + frames.name(rank), begun, ended, tags.iterator().next().round());
    }
  }

  private void await(int rank, ReceiveCallback open) {
    long lastMessageNanos = waitClock.getAsLong();
    int pending = open.pending();
    while (!isEnded(open)) {
      wakeSignal.await(open::isEnded, POLL_NANOS);
      long limitMillis = job.exchange().deadlineMillis();
      if (open.pending() < pending) {
        pending = open.pending();
        lastMessageNanos = waitClock.getAsLong();
      } else if (waitClock.getAsLong() - lastMessageNanos > limitMillis * 1_000_000) {
        throw unanswered(rank, open.next(), limitMillis);
      }
    }
  }

  private boolean isEnded(ReceiveCallback open) {
    if (stop.getAsBoolean() || newest.epoch() > adopted.epoch()) {
      throw new GroupChangedException("membership epoch " + newest.epoch());
    }
    return open.isEnded();
  }

  /** Returns the error for a peer that sent nothing within the limit. */
  private UnansweredException unanswered(int rank, Tag tag, long limitMillis) {
    return new UnansweredException(
        ("%s (incarnation %s): nothing from %s (incarnation %s) for %s ms: %s of membership epoch"
                + " %s. See that worker's log, or raise exchange.deadlineMillis")
            .formatted(
                frames.name(self.rank()),
                self.incarnation(),
                frames.name(rank),
                incarnation(rank),
                limitMillis,
                frames.describe(tag),
                adopted.epoch()));
  }

  @Override
  public Optional<Tensor> poll(int rank, Tag tag) {
    return inbox
        .take(rank, tag)
        .map(
            stored -> {
              Tensor tensor = stored.retain();
              inbox.giveBack(stored);
              return tensor;
            });
  }

  @Override
  public long arrivedNanos() {
    return inbox.arrivedNanos();
  }

  /** Handles a frame. The future's result is null if the frame is acknowledged. */
  private Future<Frame> handle(Frame message) {
    PeerFrames.Opened frame = frames.open(message).orElse(null);
    if (frame == null) {
      return Future.succeededFuture(malformed(message));
    }
    if (frame.id().job() != self.job() || frame.layout() != layout) {
      return Future.succeededFuture(wrongLayout(frame));
    }
    int from = frame.id().worker();
    Acceptance acceptance =
        inbox.accept(from, frame.id().epoch(), frame.tag(), frame.tensor(), System.nanoTime());
    if (acceptance != Acceptance.DROPPED) {
      traffic.received(from, frame.tensor());
    }
    if (acceptance == Acceptance.STORED
        || acceptance == Acceptance.EXPECTED && callback.take(frame.tag(), frame.tensor())) {
      wake();
    }
    return Future.succeededFuture();
  }

  /** Returns the reply to a frame that was damaged in transit or is not a peer's frame. */
  private static Malformed malformed(Frame found) {
    return found instanceof Malformed malformed
        ? malformed
        : new Malformed("kind", 0, found.getClass().getSimpleName(), "a peer's frame");
  }

  private Refusal wrongLayout(PeerFrames.Opened frame) {
    return new Refusal(
        frame.id(),
        Refusal.Reason.WRONG_LAYOUT,
        "%s: found a piece of layout %016x from %s, expected %016x; use the same job file"
            .formatted(
                frames.name(self.rank()),
                frame.layout(),
                frames.name(frame.id().worker()),
                layout));
  }

  private int incarnation(int rank) {
    return adopted
        .worker(rank)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no worker %s in membership epoch %s".formatted(rank, adopted.epoch())))
        .incarnation();
  }
}
