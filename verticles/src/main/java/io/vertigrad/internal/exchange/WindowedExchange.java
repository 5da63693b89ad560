package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.transport.BusTransport;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The exchange over a {@link Transport}. It sends one request per partition, limits unanswered
 * requests to a window in bytes, retries with the same identity, and has a deadline.
 *
 * <p>The thread inside {@link #run} encodes the frames, so that event loops stay free. Answers come
 * back to it through an {@link AnswerQueue}. There is no timer per frame beyond the transport's
 * own: the waiting thread checks for overdue requests itself.
 */
public final class WindowedExchange implements PartitionExchange {

  private static final long PREPARE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Transport transport;
  private final Addresses addresses;
  private final ExchangeConfig config;
  private final LongSupplier patience;
  private boolean backups;
  private final AnswerQueue<Reply> answerQueue = new AnswerQueue<>();
  private final TensorMemory answers = new TensorMemory();
  private final Map<Integer, Integer> served = new HashMap<>();
  private volatile Membership membership = Membership.NONE;
  private long preparedNanos = System.nanoTime() - PREPARE_NANOS;

  /** Creates an exchange over the bus; it has no membership yet. */
  public WindowedExchange(EventBus bus, Addresses addresses, ExchangeConfig config) {
    this(new BusTransport(bus), addresses, config, System::nanoTime);
  }

  private WindowedExchange(
      Transport transport, Addresses addresses, ExchangeConfig config, LongSupplier patience) {
    this.transport = transport;
    this.addresses = addresses;
    this.config = config;
    this.patience = patience;
  }

  /** Creates an exchange over the bus, for a reader that pulls only now and then. */
  public static WindowedExchange of(EventBus bus, JobConfig job) {
    return new WindowedExchange(bus, job.addresses(), job.exchange());
  }

  /**
   * Creates a worker's exchange over the job's transport.
   *
   * @param patience monotonic clock in nanoseconds; limits how long a request waits for its answer
   */
  public static WindowedExchange of(Vertx vertx, JobConfig job, LongSupplier patience) {
    return of(vertx, job.addresses(), job.exchange(), patience);
  }

  /**
   * Creates a worker's exchange with other limits than the job's.
   *
   * @param patience monotonic clock in nanoseconds; limits how long a request waits for its answer
   */
  public static WindowedExchange of(
      Vertx vertx, Addresses addresses, ExchangeConfig limits, LongSupplier patience) {
    return new WindowedExchange(Transport.of(vertx, limits), addresses, limits, patience);
  }

  /**
   * Looks for the backups of servers from now on, so that a backup that replaces its server is
   * reached at once. Call it before the first round.
   */
  public WindowedExchange lookingForBackups(boolean wanted) {
    backups = wanted;
    return this;
  }

  /** A backup listens in advance at the address that it takes over when its server is lost. */
  private void prepareForBackups() {
    long now = System.nanoTime();
    if (backups && now - preparedNanos >= PREPARE_NANOS) {
      preparedNanos = now;
      membership
          .servers()
          .forEach(s -> transport.prepare(addresses.shard(s.rank(), s.incarnation() + 1)));
    }
  }

  /** Sets the new membership; requests in flight follow a replaced server. */
  @Override
  public void membershipChanged(Membership now) {
    membership = now;
    answerQueue.wake();
  }

  @Override
  public Ending run(PartitionRound round) {
    try (OpenRound open = begin(round)) {
      return open.finish();
    }
  }

  /** Begins a round. Answers wait until the round is finished, and use the window meanwhile. */
  @Override
  public OpenRound begin(PartitionRound round) {
    prepareForBackups();
    return new InFlightRound(this, config, round);
  }

  @Override
  public void wake() {
    answerQueue.wake();
  }

  @Override
  public int epoch() {
    return membership.epoch();
  }

  /**
   * Returns how long a request waits for an answer: the deadline and a little more. A server whose
   * round has the same deadline answers first, and it can name the missing workers.
   */
  long limitMillis() {
    return config.deadlineMillis() + Math.min(1_000, config.deadlineMillis() / 10);
  }

  /** Returns the clock of {@link #limitMillis()}. */
  LongSupplier patience() {
    return patience;
  }

  AnswerQueue<Reply> answerQueue() {
    return answerQueue;
  }

  /** Returns the incarnation of the server that owns this shard now. */
  Optional<Integer> server(int shard) {
    return membership.server(shard).map(Membership.Member::incarnation);
  }

  /** Returns the address of a shard, or text that says why there is none. */
  String address(int shard) {
    return server(shard)
        .map(incarnation -> addresses.shard(shard, incarnation))
        .orElse("none: no server of that rank in membership epoch " + epoch());
  }

  Membership membership() {
    return membership;
  }

  /**
   * Records the server that a round uses now. Belongs to the thread inside {@link #run}.
   *
   * @return true if an earlier incarnation served the shard before, in this round or an earlier one
   */
  boolean replaces(Membership.Member server) {
    Integer before = served.put(server.rank(), server.incarnation());
    return before != null && before < server.incarnation();
  }

  void send(PendingRequest request, int incarnation) {
    String address = addresses.shard(request.partition().shard(), incarnation);
    transport.request(
        address,
        request.frame(),
        limitMillis() + 1_000,
        (frame, failure) -> {
          if (!request.settled()) {
            answerQueue.put(new Reply(request, borrowed(frame), failure));
          }
        });
  }

  /** Takes back the memory of an answer that is no longer needed. */
  void giveBack(ParameterPartition answer) {
    answers.giveBack(answer.parameters());
  }

  private Frame borrowed(Frame frame) {
    if (frame instanceof ParameterPartition answer) {
      TensorView kept = answers.keep(answer.parameters());
      return kept == answer.parameters() ? answer : answer.with(kept);
    }
    return frame;
  }

  /** The reply to a request: a frame, or the bus's failure. */
  record Reply(PendingRequest request, Frame frame, Throwable failure) {}
}
