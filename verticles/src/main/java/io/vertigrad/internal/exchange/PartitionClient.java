package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.internal.transport.AnswerReceiver;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Exchanges partitions with the servers over a {@link Transport}, one round at a time. It sends one
 * request per partition, limits unanswered requests to a window in bytes, retries with the same
 * identity, and has a deadline.
 *
 * <p>A round belongs to the thread that {@linkplain #run runs} it, or that {@linkplain #begin
 * begins} and {@linkplain #finish finishes} it. That thread encodes the frames, so that event loops
 * stay free, and answers come back to it through a queue. There is no timer per frame beyond the
 * transport's own: the waiting thread checks for overdue requests itself. {@link
 * #membershipChanged}, {@link #wake} and {@link #epoch} may be called by any thread.
 *
 * <p>If a replacement server takes over a shard, all partitions of the shard are sent to it again
 * at once, answered ones included. The replacement may have restored a version before those
 * answers, and other workers wait there for updates of this worker that were answered long ago. The
 * window does not hold these requests back, because the requests that fill it may themselves be
 * waiting for one of those workers.
 */
public final class PartitionClient {

  private static final long SWEEP_NANOS = 100_000_000;
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final int MALFORMED_LIMIT = 3;

  /**
   * The waiting thread spins for a few microseconds before it parks, because an answer within the
   * JVM often arrives that soon. A longer spin would take processor time from the thread that
   * produces the answer.
   */
  private static final int SPINS = 100;

  private final Transport transport;
  private final BiFunction<Integer, Integer, String> addresses;
  private final ExchangeConfig config;
  private final LongSupplier waitClock;
  private final TensorMemory answers = new TensorMemory();
  private final Map<Integer, Integer> lastIncarnations = new HashMap<>();
  private volatile Membership membership = Membership.NONE;

  /** Holds at most one reply per attempt in flight, so it needs no limit of its own. */
  private final Queue<Reply> replies = new ConcurrentLinkedQueue<>();

  private final WakeSignal wakeSignal = new WakeSignal();

  // The state of the current round.
  private final Set<Partition> unsent = new LinkedHashSet<>();
  private final Map<Partition, PendingRequest> pending = new LinkedHashMap<>();
  private Round round;
  private List<Partition> order = List.of();
  private Membership followed = Membership.NONE;
  private long unansweredBytes;
  private long sweptNanos;
  private boolean rejoin;

  /** Receives answers on the thread of the round; empty if event loops pass on all of them. */
  private Optional<AnswerReceiver> receiver = Optional.empty();

  /** The thread of the round while it receives answers itself, else null. */
  private Thread receiving;

  private boolean received;
  private RuntimeException receivingFailure;

  /**
   * One request and one answer for each of a list of partitions. Called only by the thread that
   * runs the round.
   */
  public interface Round {

    /** Returns the partitions in the order to send them. */
    List<Partition> order();

    /** Returns false while a partition cannot be sent yet. Called again before each later send. */
    default boolean isReady(Partition partition) {
      return true;
    }

    /**
     * Creates the request when there is room to send it. Retries send the same frame. If a
     * replacement server takes over the shard during the round, this method is called again for the
     * same partition, answered or not. The new request must equal the first.
     */
    Frame request(Partition partition);

    /** Called when every partition has been sent, and again with each later answer. */
    default void allSent() {}

    /** Takes the parameters, in the order of arrival; those of a later server come last. */
    void answered(Partition partition, ParameterPartition answer);

    /**
     * Takes back a request that needs no answer any more.
     *
     * @param unread true if only the round itself can still read the request; otherwise a copy of
     *     it may be in transit
     */
    default void reclaim(Frame request, boolean unread) {}

    /** Called if a gradient was refused as not finite; there are no parameters for it. */
    default void onNotFinite(Partition partition, Refusal why) {}

    /** Returns true if nobody wants the answers any more. */
    default boolean isAbandoned() {
      return false;
    }
  }

  /**
   * A round that pulls every partition into a model.
   *
   * @param plan the partitions
   * @param model receives the parameters
   * @param versions receives the version of each partition
   * @param sender identity of the reader
   * @param epoch membership epoch of the requests
   * @param step number of this pull, for the identity of its requests
   * @param minimumVersion answers wait until a partition has reached it; 0 for no wait
   * @param stop returns true when nobody wants the answers any more
   */
  public record PullRound(
      PartitionPlan plan,
      ModelPartitions model,
      PartitionVersions versions,
      SenderIdentity sender,
      int epoch,
      long step,
      long minimumVersion,
      BooleanSupplier stop)
      implements Round {

    @Override
    public List<Partition> order() {
      return plan.partitions();
    }

    @Override
    public Frame request(Partition partition) {
      return new PullRequest(
          sender.exchange(epoch, step, partition.index()), plan.layout(), minimumVersion);
    }

    @Override
    public void answered(Partition partition, ParameterPartition answer) {
      model.write(partition, answer.parameters());
      versions.set(partition, answer.version());
    }

    @Override
    public boolean isAbandoned() {
      return stop.getAsBoolean();
    }
  }

  /** The ending of a round, or of an exchange without servers, that did not fail. */
  public enum Ending {
    /** Every partition was answered: the next parameters are in the model. */
    COMPLETE,
    /** This incarnation is no longer a member: join again. */
    REJOIN,
    /** {@link Round#isAbandoned()} became true, or the group has changed. */
    ABANDONED
  }

  /** The reply to a request: a frame, or the transport's failure. */
  private record Reply(PendingRequest request, Frame frame, Throwable failure) {}

  /**
   * Creates a client that has no membership yet.
   *
   * @param waitClock monotonic clock in nanoseconds; limits how long a request waits for its answer
   */
  public PartitionClient(
      Transport transport, Addresses addresses, ExchangeConfig config, LongSupplier waitClock) {
    this(transport, addresses::shard, config, waitClock);
  }

  /**
   * Creates a client of shards at other addresses than those of a job's servers.
   *
   * @param addresses returns the address of a shard and its server's incarnation
   */
  public PartitionClient(
      Transport transport,
      BiFunction<Integer, Integer, String> addresses,
      ExchangeConfig config,
      LongSupplier waitClock) {
    this.transport = transport;
    this.addresses = addresses;
    this.config = config;
    this.waitClock = waitClock;
  }

  /**
   * Creates a client over the transport that the configuration names.
   *
   * @param waitClock monotonic clock in nanoseconds; limits how long a request waits for its answer
   */
  public static PartitionClient of(
      Vertx vertx, Addresses addresses, ExchangeConfig config, LongSupplier waitClock) {
    return new PartitionClient(Transport.of(vertx, config), addresses, config, waitClock);
  }

  /**
   * Has the thread of a round receive answers itself where that is possible. {@link #close}
   * releases what that takes. Call it before the first round.
   */
  public PartitionClient receivingAnswers() {
    receiver = transport.answerReceiver();
    return this;
  }

  /** Releases resources of the last round; another one may follow. */
  public void close() {
    receiver.ifPresent(AnswerReceiver::close);
    dropReplies();
  }

  private void dropReplies() {
    for (Reply late = replies.poll(); late != null; late = replies.poll()) {
      drop(late.frame());
    }
  }

  /** Sets the new membership; requests in flight follow a replaced server. */
  public void membershipChanged(Membership now) {
    membership = now;
    wake();
  }

  /** Returns the membership epoch to write into new requests. */
  public int epoch() {
    return membership.epoch();
  }

  /** Makes the thread that runs a round check {@link Round#isAbandoned()} again. */
  public void wake() {
    wakeSignal.wake();
    receiver.ifPresent(AnswerReceiver::wake);
  }

  /**
   * Sends one request per partition, in the round's order, and passes each answer to the round when
   * it arrives. Blocks until the last answer is there.
   *
   * @throws ExchangeException naming the shard, the partition, the step, the waiting time and the
   *     last response
   */
  public Ending run(Round next) {
    begin(next);
    try {
      return finish();
    } finally {
      end();
    }
  }

  /**
   * Begins a round whose partitions become {@linkplain Round#isReady ready} one after the other.
   * Before {@link #finish} the round only sends: it must not delay a thread that still computes a
   * gradient, and it must not change that thread's parameters. Answers wait until then, and use the
   * window meanwhile. No other round may begin until this one has {@linkplain #end ended}.
   */
  public void begin(Round next) {
    end();
    round = next;
    order = next.order();
    unsent.addAll(order);
    followed = Membership.NONE;
    sweptNanos = System.nanoTime();
    rejoin = false;
    receivingFailure = null;
  }

  /** Sends the ready partitions for which the window has room. Does not wait. */
  public void sendReady() {
    if (!round.isAbandoned()) {
      fillWindow();
    }
  }

  /** Sends the rest, which must be ready now, and continues like {@link #run}. */
  public Ending finish() {
    // Answers that have arrived meanwhile are taken before a request counts as overdue.
    sweptNanos = System.nanoTime();
    receiver.ifPresent(AnswerReceiver::begin);
    while (!round.isAbandoned()) {
      followReplacements();
      fillWindow();
      if (pending.isEmpty()) {
        return Ending.COMPLETE;
      }
      Reply reply = awaitReply(pollNanos());
      if (reply != null) {
        handle(reply);
      }
      if (rejoin) {
        return Ending.REJOIN;
      }
      long now = System.nanoTime();
      if (reply == null || now - sweptNanos > SWEEP_NANOS) {
        sweep(now);
      }
    }
    return Ending.ABANDONED;
  }

  /** Ends the round, if there is one, and gives up its unanswered requests. */
  public void end() {
    for (PendingRequest request : pending.values()) {
      request.settled = true;
      round.reclaim(request.frame, false);
    }
    pending.clear();
    dropReplies();
    unsent.clear();
    unansweredBytes = 0;
    round = null;
    receiver.ifPresent(AnswerReceiver::end);
  }

  private void followReplacements() {
    Membership now = membership;
    if (now != followed) {
      followed = now;
      for (Membership.Member server : now.servers()) {
        if (isReplacement(server)) {
          resend(server);
        }
      }
    }
  }

  /** Returns true if an earlier incarnation served the shard in this round or an earlier one. */
  private boolean isReplacement(Membership.Member server) {
    Integer before = lastIncarnations.put(server.rank(), server.incarnation());
    return before != null && before < server.incarnation();
  }

  private void resend(Membership.Member server) {
    for (Partition partition : order) {
      PendingRequest request = pending.get(partition);
      if (partition.shard() == server.rank() && request != null) {
        send(request, System.nanoTime());
      } else if (partition.shard() == server.rank()) {
        unsent.remove(partition);
        send(partition);
      }
    }
  }

  private void fillWindow() {
    Iterator<Partition> next = unsent.iterator();
    while (next.hasNext()) {
      Partition partition = next.next();
      if (!round.isReady(partition)) {
        continue;
      }
      if (!pending.isEmpty() && !fitsWindow(partition)) {
        return;
      }
      next.remove();
      send(partition);
    }
    if (unsent.isEmpty()) {
      round.allSent();
    }
  }

  private boolean fitsWindow(Partition partition) {
    return unansweredBytes + bytes(partition) <= config.windowBytes();
  }

  private long bytes(Partition partition) {
    return (long) partition.length() * config.type().bytes();
  }

  private void send(Partition partition) {
    Frame frame = round.request(partition);
    PendingRequest request = new PendingRequest(partition, frame, waitClock, System.nanoTime());
    pending.put(partition, request);
    unansweredBytes += bytes(partition);
    send(request, System.nanoTime());
  }

  private void send(PendingRequest request, long now) {
    Optional<Integer> server = server(request.partition.shard());
    request.sent(
        server.orElse(PendingRequest.NO_SERVER), now + config.retryMillis() * NANOS_PER_MILLI);
    if (server.isPresent()) {
      transport.request(
          addresses.apply(request.partition.shard(), server.get()),
          request.frame,
          limitMillis() + 1_000,
          (frame, failure) -> {
            if (request.settled) {
              ignore(frame);
            } else if (!isTakenHere(request, frame)) {
              replies.add(new Reply(request, borrowed(frame), failure));
              wake();
            }
          });
    }
  }

  /** Returns the incarnation of the server that owns this shard now. */
  private Optional<Integer> server(int shard) {
    return membership.server(shard).map(Membership.Member::incarnation);
  }

  /**
   * Returns how long a request waits for an answer: the deadline and a little more. A server whose
   * round has the same deadline answers first, and it can name the missing workers.
   */
  private long limitMillis() {
    return config.deadlineMillis() + Math.min(1_000, config.deadlineMillis() / 10);
  }

  /** Keeps the tensor of an answer, which the transport only lends. */
  private Frame borrowed(Frame frame) {
    if (frame instanceof ParameterPartition answer) {
      TensorView kept = answers.keep(answer.parameters());
      return kept == answer.parameters() ? answer : answer.with(kept);
    }
    return frame;
  }

  /** Gives back the tensor of an answer that the transport lends, if that takes it back. */
  private static void ignore(Frame frame) {
    if (frame instanceof ParameterPartition answer) {
      SharedTensor.giveBack(answer.parameters());
    }
  }

  /** Gives back the tensor of an answer that was kept. */
  private void drop(Frame frame) {
    if (frame instanceof ParameterPartition answer) {
      answers.giveBack(answer.parameters());
    }
  }

  private long pollNanos() {
    long now = System.nanoTime();
    long nanos = SWEEP_NANOS;
    for (PendingRequest request : pending.values()) {
      nanos = Math.min(nanos, request.nextAttemptNanos - now);
    }
    return nanos;
  }

  /** Returns the next reply, or null if none arrives within this time or the thread is woken. */
  private Reply awaitReply(long nanos) {
    for (int i = 0; i < SPINS; i++) {
      Reply reply = replies.poll();
      if (reply != null) {
        return reply;
      }
      Thread.onSpinWait();
    }
    if (receiver.isPresent() && receiver.get().isReceiving()) {
      receive(receiver.get(), nanos);
    } else {
      wakeSignal.await(() -> !replies.isEmpty() || nanos <= 0, nanos);
    }
    return replies.poll();
  }

  private void receive(AnswerReceiver from, long nanos) {
    received = false;
    receiving = Thread.currentThread();
    try {
      from.await(() -> received || !replies.isEmpty() || nanos <= 0, nanos);
    } finally {
      receiving = null;
    }
    if (receivingFailure != null) {
      throw receivingFailure;
    }
  }

  /**
   * Takes an answer without a copy if it is a good one that the thread of the round has received
   * itself, while the memory is lent.
   */
  private boolean isTakenHere(PendingRequest request, Frame frame) {
    boolean here =
        Thread.currentThread() == receiving
            && receivingFailure == null
            && replies.isEmpty()
            && frame instanceof ParameterPartition answer
            && !isOutdated(request.partition, answer)
            && isOf(request.partition, answer);
    if (here) {
      received = true;
      try {
        accept(request, (ParameterPartition) frame);
      } catch (RuntimeException failure) {
        receivingFailure = failure;
      }
    }
    return here;
  }

  private void handle(Reply reply) {
    PendingRequest request = reply.request();
    long now = System.nanoTime();
    if (request.settled) {
      drop(reply.frame());
    } else if (reply.failure() != null) {
      onFailure(request, reply.failure(), now);
    } else if (reply.frame() instanceof ParameterPartition answer) {
      onAnswer(request, answer, now);
    } else if (reply.frame() instanceof Refusal refusal) {
      onRefusal(request, refusal, now);
    } else {
      onMalformed(request, reply.frame(), now);
    }
  }

  private void onFailure(PendingRequest request, Throwable failure, long now) {
    boolean absent =
        failure instanceof ReplyException reply && reply.failureType() == ReplyFailure.NO_HANDLERS;
    String what = absent ? "no server listens there" : String.valueOf(failure.getMessage());
    retrySoon(request, what, now);
  }

  private void onAnswer(PendingRequest request, ParameterPartition answer, long now) {
    Partition partition = request.partition;
    if (isOutdated(partition, answer)) {
      request.recordResponse("an answer of the former server", now, request.nextAttemptNanos);
    } else if (!isOf(partition, answer)) {
      onMalformed(request, describe(answer), now);
    } else {
      accept(request, answer);
    }
    drop(answer);
  }

  private void accept(PendingRequest request, ParameterPartition answer) {
    settle(request);
    round.answered(request.partition, answer);
    round.reclaim(request.frame, request.sentOnce());
  }

  private boolean isOutdated(Partition partition, ParameterPartition answer) {
    return answer.server() < server(partition.shard()).orElse(0);
  }

  private static boolean isOf(Partition partition, ParameterPartition answer) {
    return answer.id().partition() == partition.index()
        && answer.firstElement() == partition.first()
        && answer.parameters().length() == partition.length();
  }

  private static String describe(ParameterPartition answer) {
    long first = answer.firstElement();
    return "elements %s to %s of partition %s"
        .formatted(first, first + answer.parameters().length() - 1, answer.id().partition());
  }

  private void onRefusal(PendingRequest request, Refusal refusal, long now) {
    switch (refusal.reason()) {
      case STALE_INCARNATION -> rejoin = true;
      case UNAVAILABLE -> retrySoon(request, refusal.message(), now);
      case NOT_FINITE -> {
        settle(request);
        round.onNotFinite(request.partition, refusal);
        round.reclaim(request.frame, request.sentOnce());
      }
      default -> throw request.refusedError(refusal);
    }
  }

  private void onMalformed(PendingRequest request, Object found, long now) {
    String what = found instanceof Malformed bad ? bad.toString() : String.valueOf(found);
    if (request.countMalformed() >= MALFORMED_LIMIT) {
      throw request.malformedError(what);
    }
    retrySoon(request, what, now);
  }

  private void settle(PendingRequest request) {
    request.settled = true;
    pending.remove(request.partition);
    unansweredBytes -= bytes(request.partition);
  }

  private void retrySoon(PendingRequest request, String response, long now) {
    long wait = request.backoffNanos(config.retryMillis() * NANOS_PER_MILLI);
    request.recordResponse(response, now, now + wait);
  }

  /** Repeats requests that are overdue or whose server has moved; fails at the deadline. */
  private void sweep(long now) {
    sweptNanos = now;
    long limitNanos = limitMillis() * NANOS_PER_MILLI;
    for (PendingRequest request : pending.values()) {
      int shard = request.partition.shard();
      if (request.waitedNanos() >= limitNanos) {
        throw request.unansweredError(address(shard), now);
      }
      boolean moved = request.sentTo != server(shard).orElse(PendingRequest.NO_SERVER);
      if (moved || request.nextAttemptNanos - now <= 0) {
        send(request, now);
      }
    }
  }

  /** Returns the address of a shard, or text that says why there is none. */
  private String address(int shard) {
    return server(shard)
        .map(incarnation -> addresses.apply(shard, incarnation))
        .orElse("none: no server of that rank in membership epoch " + epoch());
  }

  /** One partition's unanswered request, and the last response to it. */
  private static final class PendingRequest {

    /** Stands for no server incarnation: the request was never sent. */
    static final int NO_SERVER = -1;

    private final Partition partition;
    private final Frame frame;
    private final LongSupplier waitClock;
    private final long startNanos;

    /** The server incarnation of the last attempt. */
    private int sentTo = NO_SERVER;

    private int attempts;
    private int malformed;
    private long nextAttemptNanos;
    private String lastResponse = "nothing";
    private long lastResponseNanos;

    /** True once the request is answered or given up. */
    private volatile boolean settled;

    /**
     * Creates a request that was not sent yet.
     *
     * @param waitClock clock for the waiting time, in monotonic nanoseconds
     * @param nowNanos current time of the clock for everything else
     */
    PendingRequest(Partition partition, Frame frame, LongSupplier waitClock, long nowNanos) {
      this.partition = partition;
      this.frame = frame;
      this.waitClock = waitClock;
      this.startNanos = waitClock.getAsLong();
      this.lastResponseNanos = nowNanos;
    }

    /** Returns false after a retry: a copy may then still be in transit when the answer arrives. */
    boolean sentOnce() {
      return attempts == 1;
    }

    /** Returns how long the request has waited; a pause of the job does not count. */
    long waitedNanos() {
      return waitClock.getAsLong() - startNanos;
    }

    void sent(int server, long nextAttemptNanos) {
      this.sentTo = server;
      this.nextAttemptNanos = nextAttemptNanos;
      attempts++;
    }

    /** Stores a response for the error message and moves the next attempt forward to that time. */
    void recordResponse(String what, long nowNanos, long nextAttemptNanos) {
      lastResponse = what;
      lastResponseNanos = nowNanos;
      this.nextAttemptNanos = Math.min(this.nextAttemptNanos, nextAttemptNanos);
    }

    /** Returns the wait before the next attempt: it doubles each time, from 10 ms to the limit. */
    long backoffNanos(long limitNanos) {
      return Math.min(limitNanos, 5_000_000L << Math.min(attempts, 10));
    }

    int countMalformed() {
      return ++malformed;
    }

    ExchangeException refusedError(Refusal refusal) {
      String message =
          "%s refused by shard %s after %s: %s (%s)"
              .formatted(
                  name(),
                  partition.shard(),
                  seconds(waitedNanos()),
                  refusal.message(),
                  refusal.reason());
      return refusal.reason() == Refusal.Reason.DEADLINE
          ? new UnansweredException(message)
          : new ExchangeException(message);
    }

    ExchangeException malformedError(String found) {
      return new ExchangeException(
          ("%s: %s frames to or from shard %s were not understood within %s, the last: %s; do all"
                  + " nodes run the same version, and is the network between them sound?")
              .formatted(name(), malformed, partition.shard(), seconds(waitedNanos()), found));
    }

    UnansweredException unansweredError(String address, long nowNanos) {
      return new UnansweredException(
          ("%s: no answer from shard %s for %s (%s attempts, address %s); last heard %s ago: %s. "
                  + "Look at that server's log, or raise exchange.deadlineMillis")
              .formatted(
                  name(),
                  partition.shard(),
                  seconds(waitedNanos()),
                  attempts,
                  address,
                  seconds(nowNanos - lastResponseNanos),
                  lastResponse));
    }

    /** Names the request: {@code worker 1 (incarnation 0), step 17, gradient of partition 3}. */
    private String name() {
      GradientPartition gradient = frame instanceof GradientPartition offered ? offered : null;
      ExchangeId id = gradient == null ? ((PullRequest) frame).id() : gradient.id();
      String who =
          id.worker() < 0
              ? "reader"
              : "worker %s (incarnation %s)".formatted(id.worker(), id.incarnation());
      String what = gradient == null ? "pull" : "gradient";
      return "%s, step %s, %s of partition %s".formatted(who, id.step(), what, partition.index());
    }

    private static String seconds(long nanos) {
      return String.format(Locale.ROOT, "%.1f s", nanos / 1e9);
    }
  }
}
