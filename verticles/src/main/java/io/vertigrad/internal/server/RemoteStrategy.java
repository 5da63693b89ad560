package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.host.StrategyLink;
import io.vertigrad.internal.server.RuleSession.RulePartition;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StragglerReport;
import io.vertigrad.strategy.StrategyFactory;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rules of a shard whose strategy verticle is in another JVM. Passes workers' gradients on to
 * that verticle. The result of a round comes back as one gradient; the shard takes its step with it
 * and then answers the workers. Parameters, optimizer state, checkpoints and the ledger of updates
 * stay with the shard, so nothing is lost with the strategy's process. Another process at the same
 * address receives the versions, the members and the gradients of the open rounds.
 *
 * <p>Create it before its shard. From {@link #open} on, it belongs to the shard's event loop.
 */
final class RemoteStrategy {

  private static final Logger LOG = LoggerFactory.getLogger(RemoteStrategy.class);
  private static final long RETRY_MILLIS = 1_000;

  private final Vertx vertx;
  private final JobConfig job;
  private final StrategyLink link;
  private final LongSupplier pausableClock;
  private final SortedMap<Integer, Rule> rules = new TreeMap<>();
  private volatile Membership membership = Membership.NONE;
  private volatile boolean closed;
  private Context context;
  private IntConsumer onStep;
  private Transport.Listening roundListener;
  private long session;
  private boolean ready;
  private boolean restarting;

  /**
   * Creates the rules of a shard that does not exist yet.
   *
   * @param pausableClock the shard's clock, which the strategy uses to limit waits
   */
  RemoteStrategy(Vertx vertx, JobConfig job, StrategyLink link, LongSupplier pausableClock) {
    this.vertx = vertx;
    this.job = job;
    this.link = link;
    this.pausableClock = pausableClock;
  }

  /**
   * Creates the shard's rules, which pass on what they receive.
   *
   * @throws IllegalStateException for a job whose strategies must run beside its servers
   */
  StrategyFactory rules(StrategyFactory strategy) {
    RemoteShard.requireRounds(job, strategy.traits());
    return StrategyFactory.inRounds(
        context -> {
          Rule rule = new Rule(context);
          rules.put(context.partition().index(), rule);
          return rule;
        });
  }

  /**
   * Opens the session; call it on the shard's event loop.
   *
   * @param onStep receives a partition's index after it has taken a step
   * @return completes when the strategy is ready
   */
  Future<Void> open(IntConsumer onStep) {
    context = vertx.getOrCreateContext();
    this.onStep = onStep;
    return begin();
  }

  private Future<Void> begin() {
    long sessionNumber = ++session;
    ready = false;
    restarting = false;
    if (roundListener != null) {
      roundListener.close();
      roundListener = null;
    }
    String at = link.address() + ".rounds." + UUID.randomUUID();
    return Transport.borrow(vertx, at, frame -> round(sessionNumber, frame))
        .compose(
            listening -> {
              roundListener = listening;
              return ContextBridge.to(
                  context,
                  link.open(
                      sessionAt(at).toJson(),
                      () -> new JsonObject().put("now", pausableClock.getAsLong()),
                      reason -> context.runOnContext(go -> reopen(sessionNumber)),
                      () -> closed));
            })
        .onSuccess(opened -> sendMembership(sessionNumber))
        .mapEmpty();
  }

  private RuleSession sessionAt(String at) {
    ServerStrategyContext any = rules.values().iterator().next().context;
    return new RuleSession(
        at,
        any.answers().layout(),
        any.answers().server(),
        any.ranks(),
        any.lastVersion(),
        pausableClock.getAsLong(),
        membership,
        rules.values().stream().map(Rule::partition).toList());
  }

  /** Sends the membership. Gradients wait until the strategy knows the members that sent them. */
  private void sendMembership(long sessionNumber) {
    if (sessionNumber != session || closed) {
      return;
    }
    ready = false;
    Membership sent = membership;
    ContextBridge.to(
            context,
            link.call(
                "membership", new JsonObject().put("membership", sent.toJson()), limitMillis()))
        .onSuccess(
            known -> {
              if (sessionNumber == session && sent.equals(membership)) {
                ready = true;
                rules.values().forEach(Rule::sendAll);
              }
            });
  }

  private void reopen(long sessionNumber) {
    if (sessionNumber == session && !closed) {
      begin()
          .onFailure(
              failure -> {
                LOG.error("{}", failure.getMessage());
                vertx.setTimer(RETRY_MILLIS, unused -> reopen(session));
              });
    }
  }

  /** Starts another session, because the strategy's versions no longer match those of the shard. */
  private void restart() {
    ready = false;
    if (!restarting) {
      restarting = true;
      link.close();
      long sessionNumber = session;
      context.runOnContext(go -> reopen(sessionNumber));
    }
  }

  private long limitMillis() {
    return 2 * job.exchange().deadlineMillis();
  }

  private Future<Frame> round(long sessionNumber, Frame frame) {
    if (frame instanceof Malformed) {
      return Future.succeededFuture(frame);
    }
    if (sessionNumber == session && !closed) {
      if (frame instanceof GradientPartition round && rules.containsKey(round.id().partition())) {
        return Future.succeededFuture(rules.get(round.id().partition()).step(round));
      }
      if (frame instanceof PullRequest pull && rules.containsKey(pull.id().partition())) {
        ServerStrategyContext of = rules.get(pull.id().partition()).context;
        return Future.succeededFuture(of.answers().parameters(pull.id(), Outcome.PULLED, 0));
      }
    }
    return Future.failedFuture("another session has begun, or this frame is of no partition here");
  }

  private void close() {
    if (!closed) {
      closed = true;
      link.close();
      if (roundListener != null) {
        roundListener.close();
      }
    }
  }

  private record PendingUpdate(GradientPartition update, long sinceNanos, Promise<Frame> promise) {}

  /** The rule of one partition, with the gradients that wait for their round. */
  private final class Rule implements ServerStrategy {

    private final ServerStrategyContext context;
    private final Map<Integer, PendingUpdate> waiting = new TreeMap<>();
    private float[] gradient;

    Rule(ServerStrategyContext context) {
      this.context = context;
    }

    @Override
    public Future<Frame> exchange(GradientPartition update) {
      PendingUpdate pending =
          new PendingUpdate(update, context.nanoClock().getAsLong(), Promise.promise());
      waiting.put(update.id().worker(), pending);
      if (ready) {
        send(pending);
      }
      return pending.promise().future();
    }

    void sendAll() {
      List.copyOf(waiting.values()).forEach(this::send);
    }

    private void send(PendingUpdate pending) {
      long sessionNumber = session;
      link.send(
          pending.update(),
          limitMillis(),
          (answer, failure) -> {
            Frame kept = answer == null ? null : answer.retain();
            RemoteStrategy.this.context.runOnContext(
                go -> {
                  if (sessionNumber == session && waiting.get(rank(pending)) == pending) {
                    answered(pending, kept, failure);
                  }
                });
          });
    }

    private int rank(PendingUpdate pending) {
      return pending.update().id().worker();
    }

    /**
     * Handles the answer to one gradient. A gradient that is part of a step was answered with the
     * step.
     */
    private void answered(PendingUpdate pending, Frame answer, Throwable failure) {
      if (answer instanceof Malformed) {
        send(pending);
      } else if (answer instanceof ParameterPartition late) {
        waiting.remove(rank(pending));
        pending
            .promise()
            .complete(
                context
                    .answers()
                    .parameters(pending.update().id(), late.outcome(), late.staleness()));
      } else if (answer instanceof Refusal refusal && refusal.reason() != Reason.UNAVAILABLE) {
        waiting.remove(rank(pending));
        pending.promise().complete(refusal);
      } else {
        link.lose(
            answer instanceof Refusal refusal
                ? refusal.message()
                : failure == null ? "it answered " + answer : String.valueOf(failure.getMessage()));
      }
    }

    /** Takes the step of a round and answers the workers in it. */
    Frame step(GradientPartition round) {
      long version = context.store().version();
      if (round.version() != version
          || version >= context.lastVersion()
          || round.layout() != context.answers().layout()
          || round.gradient().length() != context.partition().length()) {
        return new Refusal(
            round.id(),
            Reason.PROTOCOL,
            "partition %d: found %d elements for the step from version %d, expected %d for version %d"
                .formatted(
                    context.partition().index(),
                    round.gradient().length(),
                    round.version(),
                    context.partition().length(),
                    version));
      }
      gradient = gradient == null ? new float[context.partition().length()] : gradient;
      round.gradient().copyTo(gradient, 0);
      context.store().apply(gradient, 1f, round.samples());
      List<PendingUpdate> inRound =
          waiting.values().stream().filter(w -> w.update().version() == version).toList();
      waiting.values().removeAll(inRound);
      inRound.forEach(
          pending ->
              pending
                  .promise()
                  .complete(
                      context.answers().parameters(pending.update().id(), Outcome.APPLIED, 0)));
      onStep.accept(context.partition().index());
      return null;
    }

    /** Takes a membership. Every rule is called; the first one passes it on. */
    @Override
    public void membershipChanged(Membership now) {
      if (now.epoch() > membership.epoch()) {
        membership = now;
        if (onStep != null && session > 0 && !restarting) {
          sendMembership(session);
        }
      }
    }

    @Override
    public void versionSkipped() {
      List<PendingUpdate> late = List.copyOf(waiting.values());
      waiting.clear();
      restart();
      late.forEach(
          pending ->
              pending
                  .promise()
                  .complete(context.answers().parameters(pending.update().id(), Outcome.LATE, 0)));
    }

    /**
     * Limits only the wait for the strategy verticle, which checks the strategy's own limits
     * itself.
     */
    @Override
    public void tick(long nowNanos) {
      long limit = StrategyLink.absenceMillis(job) * 1_000_000;
      if (!ready && waiting.values().stream().anyMatch(w -> nowNanos - w.sinceNanos() >= limit)) {
        refuseAll(Reason.DEADLINE, link.missing());
      }
    }

    @Override
    public Optional<StragglerReport> heldUp() {
      TreeSet<Integer> missing = new TreeSet<>();
      for (int rank = 0; rank < context.ranks(); rank++) {
        if (!waiting.containsKey(rank)) {
          missing.add(rank);
        }
      }
      return waiting.isEmpty() || missing.isEmpty()
          ? Optional.empty()
          : Optional.of(
              StragglerReport.of(context.partition().index(), context.store().version(), missing));
    }

    @Override
    public void close(String reason) {
      RemoteStrategy.this.close();
      refuseAll(Reason.UNAVAILABLE, reason);
    }

    private void refuseAll(Reason reason, String message) {
      List<PendingUpdate> all = List.copyOf(waiting.values());
      waiting.clear();
      all.forEach(
          pending ->
              pending.promise().complete(new Refusal(pending.update().id(), reason, message)));
    }

    RulePartition partition() {
      return new RulePartition(
          context.partition(), context.store().version(), context.store().isRestored());
    }
  }
}
