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
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.ServerStrategyFactory;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
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
  private static final long AGAIN_MILLIS = 1_000;

  private final Vertx vertx;
  private final JobConfig job;
  private final StrategyLink link;
  private final LongSupplier patience;
  private final SortedMap<Integer, Rule> rules = new TreeMap<>();
  private volatile Membership membership = Membership.NONE;
  private volatile boolean closed;
  private Context context;
  private IntConsumer stepped;
  private Transport.Listening rounds;
  private long session;
  private boolean ready;
  private boolean restarting;

  /**
   * Creates the rules of a shard that does not exist yet.
   *
   * @param patience the shard's clock, which the strategy uses to limit waits
   */
  RemoteStrategy(Vertx vertx, JobConfig job, StrategyLink link, LongSupplier patience) {
    this.vertx = vertx;
    this.job = job;
    this.link = link;
    this.patience = patience;
  }

  /**
   * Creates the shard's rules, which pass on what they receive.
   *
   * @throws IllegalStateException for a job whose strategies must run beside its servers
   */
  ServerStrategyFactory rules(ServerStrategyFactory strategy) {
    RemoteShard.requireRounds(job, strategy);
    if (job.servers().replicas() > 0) {
      throw new IllegalStateException(
          "%s: servers.replicas is %d and the strategy verticle at %s is in another JVM, expected 0:"
                  .formatted(job.origin(), job.servers().replicas(), link.address())
              + " a backup has no strategy to go on with; use checkpoints");
    }
    return new ServerStrategyFactory(
        true,
        true,
        context -> {
          Rule rule = new Rule(context);
          rules.put(context.partition().index(), rule);
          return rule;
        });
  }

  /**
   * Opens the session; call it on the shard's event loop.
   *
   * @param someStepped receives a partition's index after it has taken a step
   * @return completes when the strategy is ready
   */
  Future<Void> open(IntConsumer someStepped) {
    context = vertx.getOrCreateContext();
    stepped = someStepped;
    return begin();
  }

  private Future<Void> begin() {
    long mine = ++session;
    ready = false;
    restarting = false;
    if (rounds != null) {
      rounds.close();
      rounds = null;
    }
    String at = link.address() + ".rounds." + UUID.randomUUID();
    return Transport.borrow(vertx, at, frame -> round(mine, frame))
        .compose(
            listening -> {
              rounds = listening;
              return ContextBridge.to(
                  context,
                  link.open(
                      described(at),
                      () -> new JsonObject().put("now", patience.getAsLong()),
                      why -> context.runOnContext(go -> lost(mine)),
                      () -> closed));
            })
        .onSuccess(opened -> tell(mine))
        .mapEmpty();
  }

  private JsonObject described(String at) {
    JsonArray partitions = new JsonArray();
    rules.values().forEach(rule -> partitions.add(rule.described()));
    ServerStrategyContext any = rules.values().iterator().next().context;
    return new JsonObject()
        .put("rounds", at)
        .put("layout", any.answers().layout())
        .put("incarnation", any.answers().server())
        .put("ranks", any.ranks())
        .put("lastVersion", any.lastVersion())
        .put("now", patience.getAsLong())
        .put("membership", membership.toJson())
        .put("partitions", partitions);
  }

  /** Sends the membership. Gradients wait until the strategy knows the members that sent them. */
  private void tell(long mine) {
    if (mine != session || closed) {
      return;
    }
    ready = false;
    Membership told = membership;
    ContextBridge.to(
            context,
            link.call(
                "membership", new JsonObject().put("membership", told.toJson()), limitMillis()))
        .onSuccess(
            known -> {
              if (mine == session && told.equals(membership)) {
                ready = true;
                rules.values().forEach(Rule::sendAll);
              }
            });
  }

  private void lost(long mine) {
    if (mine == session && !closed) {
      begin()
          .onFailure(
              why -> {
                LOG.error("{}", why.getMessage());
                vertx.setTimer(AGAIN_MILLIS, again -> lost(session));
              });
    }
  }

  /** Starts another session, because the strategy's versions no longer match those of the shard. */
  private void restart() {
    ready = false;
    if (!restarting) {
      restarting = true;
      link.close();
      long mine = session;
      context.runOnContext(go -> lost(mine));
    }
  }

  private long limitMillis() {
    return 2 * job.exchange().deadlineMillis();
  }

  private Future<Frame> round(long mine, Frame frame) {
    if (frame instanceof Malformed) {
      return Future.succeededFuture(frame);
    }
    if (mine == session && !closed) {
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
      if (rounds != null) {
        rounds.close();
      }
    }
  }

  private record Waiting(GradientPartition update, long sinceNanos, Promise<Frame> promise) {}

  /** The rule of one partition, with the gradients that wait for their round. */
  private final class Rule implements ServerStrategy {

    private final ServerStrategyContext context;
    private final Map<Integer, Waiting> waiting = new TreeMap<>();
    private float[] gradient;

    Rule(ServerStrategyContext context) {
      this.context = context;
    }

    @Override
    public Future<Frame> exchange(GradientPartition update) {
      Waiting worker = new Waiting(update, context.nanoClock().getAsLong(), Promise.promise());
      waiting.put(update.id().worker(), worker);
      if (ready) {
        send(worker);
      }
      return worker.promise().future();
    }

    void sendAll() {
      List.copyOf(waiting.values()).forEach(this::send);
    }

    private void send(Waiting worker) {
      long mine = session;
      link.send(
          worker.update(),
          limitMillis(),
          (answer, failure) -> {
            Frame kept = answer == null ? null : answer.retain();
            RemoteStrategy.this.context.runOnContext(
                go -> {
                  if (mine == session && waiting.get(rank(worker)) == worker) {
                    answered(worker, kept, failure);
                  }
                });
          });
    }

    private int rank(Waiting worker) {
      return worker.update().id().worker();
    }

    /**
     * Handles the answer to one gradient. A gradient that is part of a step was answered with the
     * step.
     */
    private void answered(Waiting worker, Frame answer, Throwable failure) {
      if (answer instanceof Malformed) {
        send(worker);
      } else if (answer instanceof ParameterPartition late) {
        waiting.remove(rank(worker));
        worker
            .promise()
            .complete(
                context
                    .answers()
                    .parameters(worker.update().id(), late.outcome(), late.staleness()));
      } else if (answer instanceof Refusal no && no.reason() != Reason.UNAVAILABLE) {
        waiting.remove(rank(worker));
        worker.promise().complete(no);
      } else {
        link.lose(
            answer instanceof Refusal no
                ? no.message()
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
      List<Waiting> inRound =
          waiting.values().stream().filter(w -> w.update().version() == version).toList();
      waiting.values().removeAll(inRound);
      inRound.forEach(
          worker ->
              worker
                  .promise()
                  .complete(
                      context.answers().parameters(worker.update().id(), Outcome.APPLIED, 0)));
      stepped.accept(context.partition().index());
      return null;
    }

    /** Takes a membership. Every rule is called; the first one passes it on. */
    @Override
    public void membershipChanged(Membership now) {
      if (now.epoch() > membership.epoch()) {
        membership = now;
        if (stepped != null && session > 0 && !restarting) {
          tell(session);
        }
      }
    }

    @Override
    public void versionSkipped() {
      List<Waiting> late = List.copyOf(waiting.values());
      waiting.clear();
      restart();
      late.forEach(
          worker ->
              worker
                  .promise()
                  .complete(context.answers().parameters(worker.update().id(), Outcome.LATE, 0)));
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
    public void close(String why) {
      RemoteStrategy.this.close();
      refuseAll(Reason.UNAVAILABLE, why);
    }

    private void refuseAll(Reason reason, String why) {
      List<Waiting> all = List.copyOf(waiting.values());
      waiting.clear();
      all.forEach(
          worker -> worker.promise().complete(new Refusal(worker.update().id(), reason, why)));
    }

    JsonObject described() {
      Partition of = context.partition();
      return new JsonObject()
          .put("index", of.index())
          .put("first", of.first())
          .put("length", of.length())
          .put("kind", of.kind().name())
          .put("shard", of.shard())
          .put("version", context.store().version())
          .put("restored", context.store().isRestored());
    }
  }
}
