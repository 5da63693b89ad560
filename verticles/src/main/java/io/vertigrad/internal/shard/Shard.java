package io.vertigrad.internal.shard;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.internal.exchange.RuleException;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.strategy.Answers;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StragglerReport;
import io.vertigrad.strategy.StrategyFactory;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The partitions of one shard, each with its own strategy: frames in, frames out.
 *
 * <p>An update goes from here through its partition's {@link UpdateFilter} to the strategy, which
 * steps the {@link StoredPartition}; the answer comes back the same way. A pull is answered here.
 *
 * <p>A plain object without I/O. Every call must come from one thread at a time.
 */
public final class Shard {

  private final ShardConfig config;
  private final ParameterStore store;
  private final boolean lockstep;
  private final UpdateOutcomes outcomes;
  private final ShardSums sums;
  private final SortedMap<Integer, ServedPartition> partitions = new TreeMap<>();
  private Membership membership = Membership.NONE;
  private Membership agreedMembership = Membership.NONE;
  private final Promise<RuleException> failure = Promise.promise();
  private String closeReason;
  private boolean restored;

  /**
   * The settings that a shard takes from its job.
   *
   * @param job hash of the job's name
   * @param strategy name of the strategy, for errors
   * @param incarnation of this server; part of every answer
   * @param ranks number of ranks of the job; see {@code ServerStrategyContext}
   * @param lastVersion version at which the job ends; see {@code StrategyFactory.lastVersion}
   * @param pullDeadlineMillis longest time that a pull waits for its minimum version
   * @param maxMagnitude largest magnitude of an element of a gradient that is applied; {@code
   *     Float.MAX_VALUE} to apply every finite gradient
   */
  public record ShardConfig(
      long job,
      String strategy,
      int incarnation,
      int ranks,
      long lastVersion,
      long pullDeadlineMillis,
      float maxMagnitude) {

    public ShardConfig {
      if (incarnation < 0 || lastVersion < 1 || pullDeadlineMillis < 1) {
        throw new IllegalArgumentException(
            "incarnation %s, last version %s, pull deadline %s ms: expected at least 0, 1 and 1"
                .formatted(incarnation, lastVersion, pullDeadlineMillis));
      }
      if (!(maxMagnitude > 0) || Float.isInfinite(maxMagnitude)) {
        throw new IllegalArgumentException(
            "the largest magnitude is %s, expected a finite number above 0"
                .formatted(maxMagnitude));
      }
    }
  }

  /**
   * Counters of a shard since its server started.
   *
   * @param version version that every partition has reached; the last one without partitions
   * @param samples training samples that every partition has seen, checkpoints included
   * @param applied gradient frames applied
   * @param late frames that came after their round
   * @param duplicate frames answered again
   * @param tooStale frames older than the strategy's bound
   * @param refused frames refused for good
   */
  public record ShardCounters(
      long version,
      long samples,
      long applied,
      long late,
      long duplicate,
      long tooStale,
      long refused) {}

  /**
   * Creates a shard that serves a store; it has no members until {@link #membershipChanged}.
   *
   * @param nanoClock monotonic time in nanoseconds, the same as for {@link #tick}
   * @param outcomes counts the outcome of every update
   * @param ledgers supplies the ledger of each partition, in the store's order
   * @throws RuleException if a rule cannot be created
   */
  public Shard(
      ShardConfig config,
      ParameterStore store,
      StrategyFactory strategy,
      LongSupplier nanoClock,
      UpdateOutcomes outcomes,
      Supplier<PartitionLedger> ledgers) {
    this.config = config;
    this.store = store;
    this.lockstep = strategy.traits().lockstep();
    this.outcomes = outcomes;
    this.sums =
        new ShardSums(
            store.plan(), store.shard(), () -> forEach(partition -> partition.pulls.release()));
    for (StoredPartition stored : store.partitions()) {
      ServedPartition partition = new ServedPartition(stored, strategy, nanoClock, ledgers.get());
      partitions.put(stored.partition().index(), partition);
    }
  }

  /**
   * Takes a frame. A frame that was damaged on its way is returned to its sender as the {@link
   * Malformed} that arrived in its place, so that the sender repeats it.
   *
   * @return completes with a {@link ParameterPartition}, a {@link Refusal} or a {@link Malformed},
   *     at the latest by the deadline of the strategy or of pulls
   */
  public Future<Frame> handle(Frame frame) {
    if (frame instanceof GradientPartition update) {
      return serve(update.id(), update.layout(), partition -> partition.exchange(update));
    }
    if (frame instanceof PullRequest pull) {
      return serve(pull.id(), pull.layout(), partition -> partition.pulls.pull(pull));
    }
    if (frame instanceof Malformed) {
      return Future.succeededFuture(frame);
    }
    return refused(
        idOf(frame),
        Reason.PROTOCOL,
        "expected a gradient or a pull, found " + frame.getClass().getSimpleName());
  }

  private Future<Frame> serve(
      ExchangeId id, long layout, Function<ServedPartition, Future<Frame>> request) {
    if (closeReason != null) {
      return refused(id, Reason.UNAVAILABLE, closeReason);
    }
    ServedPartition partition = partitions.get(id.partition());
    if (layout != store.layout() || partition == null) {
      return refused(id, Reason.WRONG_LAYOUT, wrongLayout(id, layout));
    }
    try {
      return request.apply(partition);
    } catch (Throwable thrown) {
      fail(partition, thrown);
      return refused(id, Reason.UNAVAILABLE, closeReason);
    }
  }

  /**
   * Completes when a rule has thrown, or answered with something else than parameters or a refusal.
   * From then on this shard applies nothing and calls no rule; every frame is refused.
   */
  public Future<RuleException> failure() {
    return failure.future();
  }

  private void fail(ServedPartition partition, Throwable thrown) {
    if (failure.tryComplete(failure(partition.stored, thrown))) {
      close("strategy \"%s\" has failed".formatted(config.strategy()));
    }
  }

  private RuleException failure(StoredPartition at, Throwable thrown) {
    String where = "partition %s, version %s".formatted(at.partition().index(), at.version());
    return new RuleException(config.strategy(), where, thrown);
  }

  private ServerStrategy create(StrategyFactory strategy, ServerStrategyContext context) {
    try {
      return Objects.requireNonNull(strategy.create(context), "no rule created");
    } catch (Throwable thrown) {
      throw failure((StoredPartition) context.store(), thrown);
    }
  }

  /** Calls the rules of all partitions, until one throws. */
  private void forEach(Consumer<ServedPartition> action) {
    for (ServedPartition partition : partitions.values()) {
      if (failure.future().isComplete()) {
        return;
      }
      try {
        action.accept(partition);
      } catch (Throwable thrown) {
        fail(partition, thrown);
      }
    }
  }

  private Future<Frame> refused(ExchangeId id, Reason reason, String message) {
    Refusal refusal = new Refusal(id, reason, message);
    outcomes.refused(refusal);
    return Future.succeededFuture(refusal);
  }

  private String wrongLayout(ExchangeId id, long layout) {
    return ("shard %s: found partition %s of layout %016x, expected one of %s of layout %016x;"
            + " use the same job file and model")
        .formatted(store.shard(), id.partition(), layout, partitions.keySet(), store.layout());
  }

  private static ExchangeId idOf(Frame frame) {
    if (frame instanceof ParameterPartition answer) {
      return answer.id();
    }
    return frame instanceof Refusal refusal ? refusal.id() : new ExchangeId(0, -1, 0, 0, 0, 0);
  }

  /**
   * Accepts a membership if no newcomer's first round has closed here yet, and returns where the
   * workers of the job's ranks go on. A shard without members, at the start or after a restart,
   * accepts any membership.
   */
  public ProposalAnswer propose(Membership next) {
    long highest = versions().stream().max(Long::compare).orElse(0L);
    boolean mayRefuse = lockstep && !membership.equals(Membership.NONE);
    if (mayRefuse
        && next.workers().stream()
            .filter(this::isNew)
            .anyMatch(m -> m.rank() >= config.ranks() && m.activeFrom() < highest)) {
      return ProposalAnswer.refused(highest);
    }
    return acceptProposal(next);
  }

  /**
   * Returns whether the first round of this member is new here. It may have moved up because an
   * earlier proposal failed at another server.
   */
  private boolean isNew(Member member) {
    return membership
        .worker(member.rank())
        .filter(known -> known.incarnation() == member.incarnation())
        .map(known -> member.rank() >= config.ranks() && known.activeFrom() < member.activeFrom())
        .orElse(true);
  }

  /**
   * Accepts a proposed membership whatever rounds have closed here; answers as {@link #propose}.
   * The first rounds of newcomers are not agreed yet.
   */
  public ProposalAnswer acceptProposal(Membership next) {
    if (next.epoch() >= membership.epoch()) {
      membership = next;
      forEach(partition -> partition.filter.membershipChanged(next));
    }
    return new ProposalAnswer(OptionalLong.empty(), starts(next.workers()));
  }

  /** Returns where these workers go on; empty if this shard has no partitions. */
  public List<ProposalAnswer.Start> starts(List<Member> workers) {
    return workers.stream()
        .map(Member::rank)
        .filter(rank -> rank < config.ranks())
        .flatMap(
            rank ->
                partitions.values().stream()
                    .map(partition -> partition.start(rank))
                    .reduce(ProposalAnswer.Start::earlier)
                    .stream())
        .toList();
  }

  /** Takes an agreed membership, with the first round of every member; ignores an older epoch. */
  public void membershipChanged(Membership now) {
    if (now.epoch() >= membership.epoch()) {
      membership = now;
      agreedMembership = now;
      forEach(
          partition -> {
            partition.filter.membershipChanged(now);
            partition.pulls.release();
          });
    }
  }

  /** Lets no update follow this version until it is tested and another version is set. */
  public void testAt(long version) {
    forEach(
        partition -> {
          partition.filter.testAt(version);
          partition.pulls.release();
        });
  }

  /** Reports to the strategy whether the job is paused. */
  public void paused(boolean paused) {
    forEach(partition -> partition.filter.paused(paused));
  }

  /** Returns the sums over all partitions, to be connected with those of other shards. */
  public ShardSums sums() {
    return sums;
  }

  /** Returns the incarnation of the server of a shard; empty if it has none. */
  public OptionalInt serverOf(int shard) {
    return membership.server(shard).stream().mapToInt(Member::incarnation).findAny();
  }

  /** Ends waits that took too long; call about ten times a second. */
  public void tick(long nowNanos) {
    forEach(
        partition -> {
          partition.filter.tick(nowNanos);
          partition.pulls.tick();
        });
    sums.tick();
  }

  /** Returns the counters so far. */
  public ShardCounters counters() {
    long samples =
        partitions.values().stream()
            .mapToLong(partition -> partition.stored.samples())
            .min()
            .orElse(0);
    return outcomes.counters(version(), samples);
  }

  /** Returns whether this shard has partitions; a job may have more shards than partitions. */
  public boolean hasPartitions() {
    return !partitions.isEmpty();
  }

  /**
   * Returns whether all partitions are at one version. If workers move in rounds, that is so
   * between any two rounds: no worker sends a gradient of the next round before it has the answers
   * of all partitions.
   */
  public boolean isAligned() {
    return versions().stream().distinct().count() <= 1;
  }

  /** Returns whether workers move in rounds. */
  public boolean movesInRounds() {
    return lockstep;
  }

  /** Returns the highest version of any partition; the last version without partitions. */
  public long highestVersion() {
    return versions().stream().max(Long::compare).orElse(config.lastVersion());
  }

  /** Returns the version that every partition has reached; the last version without partitions. */
  public long version() {
    return versions().stream().min(Long::compare).orElse(config.lastVersion());
  }

  private Collection<Long> versions() {
    return partitions.values().stream().map(partition -> partition.stored.version()).toList();
  }

  /** Returns whether every partition is at the last version; always true without partitions. */
  public boolean isFinished() {
    return version() >= config.lastVersion();
  }

  /** Returns whether it went back to a snapshot or, without any, to the initial parameters. */
  public boolean restored() {
    return restored;
  }

  /** Returns the stragglers of the first partition that waits for workers. */
  public Optional<StragglerReport> heldUp() {
    List<StragglerReport> found = new ArrayList<>();
    forEach(
        partition -> {
          if (found.isEmpty()) {
            partition.filter.heldUp().ifPresent(found::add);
          }
        });
    return found.stream().findFirst();
  }

  /**
   * Returns the outcomes of all updates by the rank that sent them, with each of the job's ranks,
   * whether it sent anything or not.
   */
  public List<RankUpdates> updates() {
    SortedMap<Integer, RankUpdates> sums = new TreeMap<>();
    for (int rank = 0; rank < config.ranks(); rank++) {
      sums.put(rank, new RankUpdates(rank));
    }
    long unexplained = 0;
    for (ServedPartition partition : partitions.values()) {
      PartitionLedger ledger = partition.ledger;
      long version = partition.stored.version();
      ledger.addTo(sums, version < config.lastVersion());
      if (!lockstep) {
        unexplained += Math.max(0, version - ledger.firstVersion() - ledger.applied());
      }
    }
    if (!sums.isEmpty()) {
      sums.put(sums.firstKey(), sums.get(sums.firstKey()).withUnexplained(unexplained));
    }
    return List.copyOf(sums.values());
  }

  /**
   * Copies parameters, optimizer state and ledgers into memory of their own.
   *
   * @throws RuleException if a rule has thrown, because it may have done half of a step
   */
  public Checkpoint snapshot() {
    return checkpoint(ServedPartition::snapshot);
  }

  /** Allocates the memory for a copy, as {@link ParameterStore#reserveCopy}; any thread. */
  public void reserveCopy(CopyMemory memory, WritePace pace) throws InterruptedIOException {
    store.reserveCopy(memory, pace);
  }

  /**
   * Starts a copy like {@link #snapshot()}, which takes no time on this thread yet, to be written
   * on another thread.
   *
   * @param memory pool for the copy
   * @param inRound whether partitions may be a version apart, here and in other shards: then the
   *     version before is in it, with which a worker repeats its part of a round
   * @throws RuleException as {@link #snapshot()}
   */
  public Checkpoint beginCopy(CopyMemory memory, boolean inRound) {
    return checkpoint(partition -> partition.beginCopy(memory, inRound && lockstep));
  }

  private Checkpoint checkpoint(Function<ServedPartition, SavedState> state) {
    requireWhole();
    return new Checkpoint(
        config.job(),
        store.shard(),
        config.incarnation(),
        store.layout(),
        partitions.values().stream().map(state).toList());
  }

  private void requireWhole() {
    if (failure.future().isComplete()) {
      throw failure.future().result();
    }
  }

  /**
   * Goes back to a checkpoint of the same run, before the first frame. Updates that the checkpoint
   * contains are recognised as duplicates.
   *
   * @throws IllegalArgumentException naming the difference, if the checkpoint is of another job,
   *     shard, layout or optimizer
   */
  public void restore(Checkpoint checkpoint) {
    require("job", checkpoint.job(), config.job());
    require("shard", checkpoint.rank(), store.shard());
    require("layout", checkpoint.layout(), store.layout());
    require("number of partitions", checkpoint.states().size(), partitions.size());
    restored = true;
    for (SavedState state : checkpoint.states()) {
      partitions.get(state.head().index()).restore(state);
    }
  }

  private static void require(String what, long found, long expected) {
    if (found != expected) {
      throw new IllegalArgumentException(
          "checkpoint: found %s %s, expected %s; resume with the job file it was written under"
              .formatted(what, found, expected));
    }
  }

  /** Records that this shard starts again from the initial parameters and that nothing is lost. */
  public void markRestoredFromStart() {
    restored = true;
  }

  /** Ends every wait with {@code UNAVAILABLE}; later frames get the same answer. */
  public void close(String reason) {
    closeReason = reason;
    for (ServedPartition partition : partitions.values()) {
      partition.pulls.close(reason);
      try {
        partition.filter.close(reason);
      } catch (Throwable thrown) {
        fail(partition, thrown);
      }
    }
  }

  /** One partition with its strategy behind a filter, and the pulls that wait for a version. */
  private final class ServedPartition {

    private final StoredPartition stored;
    private final Answers answers;
    private final PartitionLedger ledger;
    private final UpdateFilter filter;
    private final PullQueue pulls;

    /** The first step of each rank that the newest checkpoint lacks, begun or restored. */
    private Map<Integer, Long> unsavedSteps = Map.of();

    ServedPartition(
        StoredPartition stored,
        StrategyFactory strategy,
        LongSupplier nanoClock,
        PartitionLedger ledger) {
      this.stored = stored;
      this.answers = new Answers(store.layout(), config.incarnation(), stored.partition(), stored);
      this.ledger = ledger;
      ServerStrategyContext context =
          new ServerStrategyContext(
              stored.partition(),
              stored,
              answers,
              membership,
              config.ranks(),
              config.lastVersion(),
              sums.of(stored.partition().index()),
              nanoClock);
      ServerStrategy rule = create(strategy, context);
      boolean takesAll = strategy.takesNotFinite();
      this.filter =
          new UpdateFilter(rule, takesAll, context, stored::updatedBy, config, ledger, outcomes);
      this.pulls =
          new PullQueue(
              config.pullDeadlineMillis(),
              nanoClock,
              new PullQueue.Source(this::isReached, this::answer, this::overdueMessage));
    }

    Future<Frame> exchange(GradientPartition update) {
      Future<Frame> answer =
          filter.exchange(update).transform(result -> checked(update.id(), result));
      pulls.release();
      return answer;
    }

    /** Returns an answer to the worker; one that no rule may give fails the shard. */
    private Future<Frame> checked(ExchangeId id, AsyncResult<Frame> result) {
      Frame answer = result.result();
      if (answer instanceof Refusal
          || answer instanceof ParameterPartition parameters
              && parameters.parameters().length() == stored.length()) {
        return Future.succeededFuture(marked(answer));
      }
      String kind = answer == null ? "null" : answer.getClass().getSimpleName();
      String found = "it answered with %s, expected %s parameters or a refusal";
      fail(
          this,
          result.failed()
              ? result.cause()
              : new IllegalStateException(found.formatted(kind, stored.length())));
      return Shard.this.refused(id, Reason.UNAVAILABLE, closeReason);
    }

    /**
     * Marks the answer to the first update of its rank that the newest checkpoint lacks. If servers
     * go back to it, the rank repeats its steps from there on; until then its worker keeps what
     * belongs to that step. A repeated answer is marked again.
     */
    private Frame marked(Frame answer) {
      return answer instanceof ParameterPartition parameters
              && parameters.id().step() > 0
              && unsavedSteps.getOrDefault(parameters.id().worker(), 0L) == parameters.id().step()
          ? parameters.afterSave()
          : answer;
    }

    private boolean isReached(PullRequest pull) {
      long wanted = Math.min(pull.minimumVersion(), config.lastVersion());
      return stored.version() >= Math.min(wanted, firstRound(pull.id()));
    }

    /**
     * Returns the agreed first round of the sender, or {@link Long#MAX_VALUE} if this partition
     * does not know it. A server that went back lets a worker start earlier than the version in its
     * request. A worker may learn of an agreement before this server does; then the version in its
     * request counts.
     */
    private long firstRound(ExchangeId id) {
      return agreedMembership
          .worker(id.worker())
          .filter(member -> member.incarnation() == id.incarnation())
          .map(Member::activeFrom)
          .orElse(Long.MAX_VALUE);
    }

    /**
     * Answers with the current version, or with the one before. A worker that repeats a step of its
     * predecessor needs exactly the version of that step, and this partition may be one update
     * ahead.
     */
    private Frame answer(PullRequest pull) {
      ExchangeId id = pull.id();
      long wanted = Math.min(pull.minimumVersion(), firstRound(id));
      boolean isBehind = lockstep && wanted == stored.version() - 1;
      Optional<Tensor> previous =
          isBehind && membership.hasWorker(id.worker(), id.incarnation())
              ? stored.previous()
              : Optional.empty();
      return previous.isPresent()
          ? answers.parameters(id, wanted, previous.get())
          : answers.parameters(id, Outcome.PULLED, 0);
    }

    private String overdueMessage(PullRequest pull) {
      return "partition %s: found version %s after %s ms, expected %s; the workers make no progress"
          .formatted(
              stored.partition().index(),
              stored.version(),
              config.pullDeadlineMillis(),
              pull.minimumVersion());
    }

    /** Returns where a worker of this rank goes on at this partition. */
    ProposalAnswer.Start start(int rank) {
      boolean contributed = lockstep && filter.waits(rank);
      long round = lockstep ? stored.version() + (contributed ? 1 : 0) : 0;
      return new ProposalAnswer.Start(rank, round, filter.nextStep(rank));
    }

    SavedState snapshot() {
      return stored.snapshot(ledger.snapshot());
    }

    SavedState beginCopy(CopyMemory memory, boolean withPrevious) {
      unsavedSteps = ledger.nextSteps();
      return stored.beginCopy(memory, ledger.snapshot(), withPrevious);
    }

    void restore(SavedState state) {
      stored.restore(state);
      ledger.restore(state.head().ledger());
      unsavedSteps = ledger.nextSteps();
    }
  }
}
