package io.vertigrad.internal.peer;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.collective.PeerInbox;
import io.vertigrad.internal.collective.PeerInbox.Acceptance;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.exchange.WakeSignal;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
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

  private static final long LOOK_NANOS = 50_000_000;
  private static final long NOTED_NANOS = 50_000;

  private final Vertx vertx;
  private final JobConfig job;
  private final long layout;
  private final SenderIdentity self;
  private final LongSupplier patience;
  private final SpanRecorder track;
  private final BooleanSupplier stop;
  private final PeerFrames line;
  private final PeerErrors trouble;
  private final PeerInbox inbox = new PeerInbox();
  private final WakeSignal bell = new WakeSignal();
  private final PeerOutboxes outboxes;
  private final TrafficCounters traffic = new TrafficCounters();
  private volatile Membership newest = Membership.NONE;
  private Membership adopted = Membership.NONE;
  private volatile ReceiveCallback delivery;
  private Future<Transport.Listening> listening;

  /**
   * Creates a connection that is not open.
   *
   * @param layout hash of the parameter layout
   * @param patience monotonic clock in nanoseconds; limits how long it waits for a message
   * @param track records the waits for other workers
   * @param stop returns true when this incarnation has to end
   */
  public WorkerPeers(
      Vertx vertx,
      JobConfig job,
      long layout,
      SenderIdentity self,
      LongSupplier patience,
      SpanRecorder track,
      BooleanSupplier stop,
      PeerFrames line) {
    this.line = line;
    this.vertx = vertx;
    this.job = job;
    this.layout = layout;
    this.self = self;
    this.patience = patience;
    this.track = track;
    this.stop = stop;
    this.outboxes = new PeerOutboxes(vertx, job.exchange());
    this.trouble = new PeerErrors(line, self, layout);
  }

  /** Starts listening. Completes when others can send. */
  public Future<Void> open() {
    String address = line.address(job.addresses(), self.rank(), self.incarnation());
    listening = Transport.borrow(vertx, address, this::hear);
    return listening.mapEmpty();
  }

  /** Stops listening and drops frames that were not delivered. */
  public Future<Void> close() {
    outboxes.moveTo(Integer.MAX_VALUE);
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
    bell.ring();
  }

  /** Returns true if the newest group contains this worker and was not adopted yet. */
  public boolean regrouped() {
    return !current() && newest.hasWorker(self.rank(), self.incarnation());
  }

  /** Returns true if there is no newer group than the adopted one. */
  public boolean current() {
    return newest.epoch() == adopted.epoch();
  }

  /** Waits at most about 50 ms for a change. */
  public void pause() {
    bell.await(() -> false, LOOK_NANOS);
  }

  /** Returns the bytes sent to and received from each worker so far. */
  public TrafficCounters traffic() {
    return traffic;
  }

  @Override
  public PeerGroup adopt() {
    // Read once: between a caller's look at regrouped() and here, this worker may have been
    // evicted.
    Membership now = newest;
    if (!now.hasWorker(self.rank(), self.incarnation())) {
      throw new GroupChangedException(
          "worker %d is not in membership epoch %d".formatted(self.rank(), now.epoch()));
    }
    adopted = now;
    inbox.adopt(adopted.epoch());
    outboxes.moveTo(adopted.epoch());
    List<Integer> ranks = adopted.workers().stream().map(Membership.Member::rank).toList();
    return new PeerGroup(adopted.epoch(), ranks, self.rank());
  }

  @Override
  public void send(int rank, Tag tag, TensorView tensor) {
    Frame frame =
        line.frame(self.exchange(adopted.epoch(), tag.round(), tag.piece()), layout, tag, tensor);
    traffic.sent(rank, tensor);
    outboxes.offer(
        line.address(job.addresses(), rank, incarnation(rank)),
        new OutboundFrame(frame, adopted.epoch(), tensor));
  }

  @Override
  public void send(int rank, Tag tag, DataType type, FloatBuffer values) {
    send(rank, tag, outboxes.memory().copyOf(type, values));
  }

  @Override
  public void sendSum(int rank, Tag tag, DataType type, FloatBuffer own, TensorView tensor) {
    send(rank, tag, outboxes.memory().sumOf(type, own, tensor));
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
    long asked = track.now();
    delivery = new ReceiveCallback(tags, taker);
    try {
      for (Tag here : inbox.expect(rank, tags)) {
        delivery.take(here, inbox.take(rank, here).orElseThrow());
      }
      await(rank, delivery);
    } finally {
      delivery.end();
      inbox.expectNothing();
    }
    long ended = track.now();
    if (ended - asked > NOTED_NANOS) {
      track.span("wait for " + line.name(rank), asked, ended, tags.iterator().next().round());
    }
  }

  private void await(int rank, ReceiveCallback open) {
    long heard = patience.getAsLong();
    int missing = open.missing();
    while (!isOver(open)) {
      bell.await(open::isOver, LOOK_NANOS);
      long limitMillis = job.exchange().deadlineMillis();
      if (open.missing() < missing) {
        missing = open.missing();
        heard = patience.getAsLong();
      } else if (patience.getAsLong() - heard > limitMillis * 1_000_000) {
        throw trouble.unanswered(
            rank, incarnation(rank), open.next(), adopted.epoch(), limitMillis);
      }
    }
  }

  private boolean isOver(ReceiveCallback open) {
    if (stop.getAsBoolean() || newest.epoch() > adopted.epoch()) {
      throw new GroupChangedException("membership epoch " + newest.epoch());
    }
    return open.isOver();
  }

  @Override
  public Optional<Tensor> poll(int rank, Tag tag) {
    return inbox.take(rank, tag);
  }

  @Override
  public long arrivedNanos() {
    return inbox.arrivedNanos();
  }

  /** Handles a frame. The future's result is null if the frame is acknowledged. */
  private Future<Frame> hear(Frame message) {
    PeerFrames.Opened frame = line.open(message).orElse(null);
    if (frame == null) {
      return Future.succeededFuture(trouble.ofAnotherKind(message));
    }
    if (frame.id().job() != self.job() || frame.layout() != layout) {
      return Future.succeededFuture(trouble.foreign(frame));
    }
    int from = frame.id().worker();
    Acceptance acceptance =
        inbox.accept(from, frame.id().epoch(), frame.tag(), frame.tensor(), System.nanoTime());
    if (acceptance != Acceptance.DROPPED) {
      traffic.received(from, frame.tensor());
    }
    if (acceptance == Acceptance.STORED
        || acceptance == Acceptance.EXPECTED && delivery.take(frame.tag(), frame.tensor())) {
      wake();
    }
    return Future.succeededFuture();
  }

  private int incarnation(int rank) {
    return adopted
        .worker(rank)
        .orElseThrow(() -> new IllegalArgumentException("no worker " + rank + " in " + adopted))
        .incarnation();
  }
}
