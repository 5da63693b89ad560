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
 * The exchange over a {@link Transport}: request and reply per partition, a window in bytes,
 * retries with the same identity, a deadline.
 *
 * <p>Frames are encoded by the thread inside {@link #run}, which is not an event loop, so that
 * event loops stay free; answers come back to it through a {@link AnswerQueue}. Nothing here sets a
 * timer per frame beyond the transport's own: the waiting thread looks for overdue requests itself.
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

  /** Carries rounds to the shards under these addresses over the bus; knows nobody yet. */
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

  /** The exchange of one who only reads now and then: over the bus. */
  public static WindowedExchange of(EventBus bus, JobConfig job) {
    return new WindowedExchange(bus, job.addresses(), job.exchange());
  }

  /**
   * The exchange of a worker, by the job's transport.
   *
   * @param patience monotonic nanoseconds that limit how long a request waits for its answer
   */
  public static WindowedExchange of(Vertx vertx, JobConfig job, LongSupplier patience) {
    return of(vertx, job.addresses(), job.exchange(), patience);
  }

  /**
   * The same with other limits than the job's.
   *
   * @param patience monotonic nanoseconds that limit how long a request waits for its answer
   */
  public static WindowedExchange of(
      Vertx vertx, Addresses addresses, ExchangeConfig limits, LongSupplier patience) {
    return new WindowedExchange(Transport.of(vertx, limits), addresses, limits, patience);
  }

  /**
   * From now on looks for the backups of servers, so that one that goes on for its server is
   * reached at once. Before the first round.
   */
  public WindowedExchange lookingForBackups(boolean wanted) {
    backups = wanted;
    return this;
  }

  /** A backup listens beforehand where it goes on when its server is lost. */
  private void prepareForBackups() {
    long now = System.nanoTime();
    if (backups && now - preparedNanos >= PREPARE_NANOS) {
      preparedNanos = now;
      membership
          .servers()
          .forEach(s -> transport.prepare(addresses.shard(s.rank(), s.incarnation() + 1)));
    }
  }

  /** Tells where the shards are from now on; requests in flight follow a server that moved. */
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

  /** Answers that come before the round is finished wait, and fill the window meanwhile. */
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
   * How long a request waits for an answer: the deadline and a little more, because a server whose
   * round has the same deadline knows better who is missing.
   */
  long limitMillis() {
    return config.deadlineMillis() + Math.min(1_000, config.deadlineMillis() / 10);
  }

  /** The clock of {@link #limitMillis()}. */
  LongSupplier patience() {
    return patience;
  }

  AnswerQueue<Reply> answerQueue() {
    return answerQueue;
  }

  /** The incarnation of the server that owns this shard now. */
  Optional<Integer> server(int shard) {
    return membership.server(shard).map(Membership.Member::incarnation);
  }

  /** The address of a shard, or words that say why there is none. */
  String address(int shard) {
    return server(shard)
        .map(incarnation -> addresses.shard(shard, incarnation))
        .orElse("none: no server of that rank in membership epoch " + epoch());
  }

  Membership membership() {
    return membership;
  }

  /**
   * Notes that a round has turned to this server. Belongs to the thread inside {@link #run}.
   *
   * @return true when an earlier incarnation served the shard before, in this round or another
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

  /** An answer's parameters are needed no longer. */
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

  /** What came back for a request: a frame, or the bus's failure. */
  record Reply(PendingRequest request, Frame frame, Throwable failure) {}
}
