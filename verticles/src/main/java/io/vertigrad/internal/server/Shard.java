package io.vertigrad.internal.server;

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
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.checkpoint.ShardCopy;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.strategy.Answers;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.ServerStrategyFactory;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.InterruptedIOException;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The partitions of one shard, each with its own strategy: frames in, frames out.
 *
 * <p>A plain object without I/O. Every call must come from one thread at a time.
 */
public final class Shard {

  private final ShardConfig config;
  private final ParameterStore store;
  private final boolean lockstep;
  private final OutcomeCount outcomes;
  private final SortedMap<Integer, ServedPartition> partitions = new TreeMap<>();
  private final ShardReplication replication;
  private Membership membership = Membership.NONE;
  private String closed;
  private boolean restored;
  private Runnable attaching;

  /**
   * Creates a shard that serves a store; it has no members until {@link #membershipChanged}.
   *
   * @param nanoClock monotonic time in nanoseconds, the same as for {@link #tick}
   * @param observer receives the outcome of every update
   */
  public Shard(
      ShardConfig config,
      ParameterStore store,
      ServerStrategyFactory strategy,
      LongSupplier nanoClock,
      StrategyObserver observer) {
    this(config, store, strategy, nanoClock, observer, () -> new DuplicateWindow(config.ranks()));
  }

  /**
   * Creates a shard with the caller's duplicate windows. The testkit uses it to show that its
   * simulator notices duplicates that are not recognised.
   */
  public Shard(
      ShardConfig config,
      ParameterStore store,
      ServerStrategyFactory strategy,
      LongSupplier nanoClock,
      StrategyObserver observer,
      Supplier<DuplicateWindow> windows) {
    this.config = config;
    this.store = store;
    this.lockstep = strategy.lockstep();
    this.outcomes = new OutcomeCount(observer);
    this.replication = new ShardReplication(config, store);
    for (StoredPartition stored : store.partitions()) {
      ServerStrategyContext context = context(stored, nanoClock);
      DuplicateWindow window = windows.get();
      UpdateFilter updateFilter =
          new UpdateFilter(
              strategy.create(context), context, config.job(), window, config.bound(), outcomes);
      replication.follow(stored, window, updateFilter.ledger());
      partitions.put(
          stored.partition().index(),
          new ServedPartition(
              stored, context, updateFilter, window, config.pullDeadlineMillis(), lockstep));
    }
  }

  /**
   * Takes a frame. A frame that was damaged on its way is returned to its sender as the {@link
   * Malformed} that arrived in its place, so that the sender repeats it.
   *
   * @return completes with a {@link ParameterPartition}, a {@link Refusal} or a {@link Malformed},
   *     at the latest by the deadline of the strategy or of pulls; fails only on a defect
   */
  public Future<Frame> handle(Frame frame) {
    if (frame instanceof GradientPartition update) {
      ServedPartition partition = partitions.get(update.id().partition());
      return served(update.id(), update.layout(), () -> partition.exchange(update));
    }
    if (frame instanceof PullRequest pull) {
      ServedPartition partition = partitions.get(pull.id().partition());
      return served(pull.id(), pull.layout(), () -> partition.pull(pull));
    }
    if (frame instanceof Malformed) {
      return Future.succeededFuture(frame);
    }
    return refused(idOf(frame), Reason.PROTOCOL, "expected a gradient or a pull, found " + frame);
  }

  /**
   * Accepts a membership if no newcomer's first round has closed here yet, and returns where the
   * workers of the job's ranks go on. A shard without members, at the start or after a restart,
   * accepts any membership.
   */
  public ProposalAnswer propose(Membership next) {
    long highest = versions().stream().max(Long::compare).orElse(0L);
    boolean choosy = lockstep && !membership.equals(Membership.NONE);
    if (choosy
        && next.workers().stream()
            .filter(this::isNew)
            .anyMatch(m -> m.rank() >= config.ranks() && m.activeFrom() < highest)) {
      return ProposalAnswer.refused(highest);
    }
    return takeProposed(next);
  }

  /**
   * Accepts a proposed membership whatever rounds have closed here; answers as {@link #propose}.
   */
  ProposalAnswer takeProposed(Membership next) {
    takeOver(next, ServedPartition::membershipProposed);
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
                    .map(partition -> partition.start(rank, lockstep))
                    .reduce(ProposalAnswer.Start::earlier)
                    .stream())
        .toList();
  }

  /** Passes the membership to every partition; ignores an older epoch. */
  public void membershipChanged(Membership now) {
    takeOver(now, ServedPartition::membershipChanged);
  }

  private void takeOver(Membership now, BiConsumer<ServedPartition, Membership> tell) {
    if (now.epoch() >= membership.epoch()) {
      membership = now;
      partitions.values().forEach(partition -> tell.accept(partition, now));
      changed();
    }
  }

  /** Lets no update follow this version until it is tested and another version is set. */
  public void testAt(long version) {
    partitions.values().forEach(partition -> partition.testAt(version));
    changed();
  }

  /** Ends waits that took too long; call about ten times a second. */
  public void tick(long nowNanos) {
    partitions.values().forEach(partition -> partition.tick(nowNanos));
    changed();
  }

  /** Records that a partition has taken a step that did not come with a worker's frame. */
  void stepped(int partition) {
    partitions.get(partition).stepped();
    changed();
  }

  /** Returns the counters so far. */
  public ShardCounters counters() {
    long samples = partitions.values().stream().mapToLong(ServedPartition::samples).min().orElse(0);
    return outcomes.counters(version(), samples);
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

  /** Records that this shard starts again from the initial parameters and that nothing is lost. */
  public void restoredToBeginning() {
    restored = true;
  }

  /** Returns whether every partition is at the last version; always true without partitions. */
  boolean isFinished() {
    return version() >= config.lastVersion();
  }

  /** Returns whether it went back to a snapshot or, without any, to the initial parameters. */
  public boolean restored() {
    return restored;
  }

  /** Returns the stragglers of the first partition that waits for workers. */
  public Optional<StragglerReport> heldUp() {
    return partitions.values().stream().flatMap(part -> part.heldUp().stream()).findFirst();
  }

  /** Ends every wait with {@code UNAVAILABLE}; later frames get the same answer. */
  public void close(String why) {
    closed = why;
    attaching = null;
    partitions.values().forEach(partition -> partition.close(why));
    replication.close(why);
  }

  /**
   * Starts to keep a backup now or, if workers move in rounds, after the open round. No answer then
   * shows parameters that the backup does not have.
   *
   * @param to the backup
   * @param lost called once with the reason when the backup has failed; answers then wait for
   *     {@link #detach}
   * @return completes when the backup has everything that this shard has
   */
  Future<Void> attach(ShardReplication.Link to, Consumer<String> lost) {
    Promise<Void> attached = Promise.promise();
    attaching = () -> replication.attach(to, lost).onComplete(attached);
    changed();
    return attached.future();
  }

  /** Continues without a backup. */
  void detach() {
    attaching = null;
    replication.detach();
  }

  /**
   * Continues exactly where the primary was; this shard was created from the backup's store and
   * windows.
   */
  Shard promoted(ShardBackup backup) {
    restored = true;
    partitions.forEach((index, partition) -> partition.countFrom(backup.updates(index)));
    return this;
  }

  private void changed() {
    replication.flush();
    if (attaching != null && (!lockstep || isAligned())) {
      Runnable now = attaching;
      attaching = null;
      now.run();
    }
  }

  /** Returns the outcomes of all updates, by the rank that sent them. */
  List<RankUpdates> updates() {
    ShardUpdates updates = new ShardUpdates(config.ranks(), config.lastVersion(), lockstep);
    partitions.values().forEach(part -> updates.add(part.version(), part.updates()));
    return updates.byRank();
  }

  /** Copies parameters, optimizer state and duplicate windows, to be written on another thread. */
  public ShardSnapshot snapshot() {
    return new ShardSnapshot(
        config.job(),
        store.shard(),
        config.incarnation(),
        store.layout(),
        partitions.values().stream().map(ServedPartition::snapshot).toList());
  }

  /** Allocates the memory for a copy, as {@link ParameterStore#reserveCopy}; any thread. */
  void reserveCopy(CopyMemory memory, WritePace pace) throws InterruptedIOException {
    store.reserveCopy(memory, pace);
  }

  /**
   * Starts a copy like {@link #snapshot()}, which takes no time on this thread yet.
   *
   * @param memory pool for the copy
   */
  ShardCopy beginCopy(CopyMemory memory) {
    return new ShardCopy(
        config.job(),
        store.shard(),
        config.incarnation(),
        store.layout(),
        partitions.values().stream().map(part -> part.beginCopy(memory)).toList());
  }

  /**
   * Goes back to a snapshot of the same run, before the first frame. Updates that the snapshot
   * contains are recognised as duplicates.
   *
   * @throws IllegalArgumentException naming the difference, if the snapshot is of another job,
   *     shard, layout or optimizer
   */
  public void restore(ShardSnapshot snapshot) {
    require("job", snapshot.job(), config.job());
    require("shard", snapshot.shard(), store.shard());
    require("layout", snapshot.layout(), store.layout());
    require("number of partitions", snapshot.partitions().size(), partitions.size());
    restored = true;
    for (PartitionSnapshot part : snapshot.partitions()) {
      partitions.get(part.index()).restore(part);
    }
  }

  private ServerStrategyContext context(StoredPartition stored, LongSupplier nanoClock) {
    Answers answers = new Answers(store.layout(), config.incarnation(), stored.partition(), stored);
    return new ServerStrategyContext(
        stored.partition(),
        stored,
        answers,
        membership,
        config.ranks(),
        config.lastVersion(),
        nanoClock);
  }

  private Future<Frame> served(ExchangeId id, long layout, Supplier<Future<Frame>> action) {
    if (closed != null) {
      return refused(id, Reason.UNAVAILABLE, closed);
    }
    if (layout != store.layout() || !partitions.containsKey(id.partition())) {
      return refused(id, Reason.WRONG_LAYOUT, wrongLayout(id, layout));
    }
    try {
      return replication.hold(id.partition(), action.get());
    } catch (RuntimeException e) {
      return Future.failedFuture(e);
    } finally {
      changed();
    }
  }

  private Future<Frame> refused(ExchangeId id, Reason reason, String why) {
    if (reason != Reason.UNAVAILABLE) {
      outcomes.refused(id, why);
    }
    return Future.succeededFuture(new Refusal(id, reason, why));
  }

  private String wrongLayout(ExchangeId id, long layout) {
    return ("shard %d: found partition %d of layout %016x, expected one of %s of layout %016x;"
            + " use the same job file and model")
        .formatted(store.shard(), id.partition(), layout, partitions.keySet(), store.layout());
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

  private Collection<Long> versions() {
    return partitions.values().stream().map(ServedPartition::version).toList();
  }

  private static ExchangeId idOf(Frame frame) {
    if (frame instanceof ParameterPartition answer) {
      return answer.id();
    }
    return frame instanceof Refusal refusal ? refusal.id() : new ExchangeId(0, -1, 0, 0, 0, 0);
  }

  private static void require(String what, long found, long expected) {
    if (found != expected) {
      throw new IllegalArgumentException(
          "checkpoint: found %s %d, expected %d; resume with the job file it was written under"
              .formatted(what, found, expected));
    }
  }

  /**
   * The settings that a shard takes from its job.
   *
   * @param job hash of the job's name
   * @param incarnation of this server; part of every answer
   * @param ranks number of ranks of the job; see {@code ServerStrategyContext}
   * @param lastVersion version at which the job ends; see {@code StrategyFactory.lastVersion}
   * @param pullDeadlineMillis longest time that a pull waits for its minimum version
   * @param bound for the elements of gradients
   */
  public record ShardConfig(
      long job,
      int incarnation,
      int ranks,
      long lastVersion,
      long pullDeadlineMillis,
      MagnitudeBound bound) {

    /** Creates the settings of a shard that waits only for workers that are members. */
    public ShardConfig(long job, int incarnation, long lastVersion, long pullDeadlineMillis) {
      this(job, incarnation, 0, lastVersion, pullDeadlineMillis);
    }

    /** Creates the settings of a shard that applies every finite gradient. */
    public ShardConfig(
        long job, int incarnation, int ranks, long lastVersion, long pullDeadlineMillis) {
      this(job, incarnation, ranks, lastVersion, pullDeadlineMillis, MagnitudeBound.NONE);
    }

    public ShardConfig {
      if (incarnation < 0 || lastVersion < 1 || pullDeadlineMillis < 1) {
        throw new IllegalArgumentException(
            "incarnation %d, last version %d, pull deadline %d ms: expected at least 0, 1 and 1"
                .formatted(incarnation, lastVersion, pullDeadlineMillis));
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
   * Receives the outcome of every update from the filter for stale and repeated updates; called on
   * the strategy's thread, must not block.
   */
  public interface StrategyObserver {

    /**
     * Called when an update was answered with parameters.
     *
     * @param id of the update
     * @param outcome of the update
     * @param staleness how many versions it was behind
     */
    void answered(ExchangeId id, Outcome outcome, int staleness);

    /**
     * Called when an update was refused for good; not called for "try again".
     *
     * @param id of the update
     * @param why the refusal's message, for people
     */
    void refused(ExchangeId id, String why);

    /**
     * Called when an update was refused because another worker has its rank by now and repeats the
     * step; this is not an error.
     *
     * @param id of the update
     * @param why the refusal's message
     */
    void outdated(ExchangeId id, String why);

    /** Ignores everything. */
    StrategyObserver SILENT =
        new StrategyObserver() {
          @Override
          public void answered(ExchangeId id, Outcome outcome, int staleness) {}

          @Override
          public void refused(ExchangeId id, String why) {}

          @Override
          public void outdated(ExchangeId id, String why) {}
        };
  }

  /** Counts the outcomes of gradient frames and passes them on to another observer. */
  private static final class OutcomeCount implements StrategyObserver {

    private final StrategyObserver next;
    private final Map<Outcome, Long> answered = new EnumMap<>(Outcome.class);
    private long refused;

    OutcomeCount(StrategyObserver next) {
      this.next = next;
    }

    @Override
    public void answered(ExchangeId id, Outcome outcome, int staleness) {
      answered.merge(outcome, 1L, Long::sum);
      next.answered(id, outcome, staleness);
    }

    @Override
    public void refused(ExchangeId id, String why) {
      refused++;
      next.refused(id, why);
    }

    @Override
    public void outdated(ExchangeId id, String why) {
      refused++;
      next.outdated(id, why);
    }

    ShardCounters counters(long version, long samples) {
      return new ShardCounters(
          version,
          samples,
          of(Outcome.APPLIED),
          of(Outcome.LATE),
          of(Outcome.DUPLICATE),
          of(Outcome.TOO_STALE),
          refused);
    }

    private long of(Outcome outcome) {
      return answered.getOrDefault(outcome, 0L);
    }
  }

  /** One partition with its strategy and the pulls that wait for it. */
  private static final class ServedPartition {

    private final StoredPartition store;
    private final DuplicateWindow window;
    private final UpdateFilter filter;
    private final PendingPulls pulls;

    ServedPartition(
        StoredPartition store,
        ServerStrategyContext context,
        UpdateFilter filter,
        DuplicateWindow window,
        long pullDeadlineMillis,
        boolean lockstep) {
      this.store = store;
      this.window = window;
      this.filter = filter;
      this.pulls = new PendingPulls(context, pullDeadlineMillis, lockstep, store::previous);
    }

    long version() {
      return store.version();
    }

    /** Returns where a worker of this rank goes on at this partition. */
    ProposalAnswer.Start start(int rank, boolean lockstep) {
      boolean contributed = lockstep && window.waitingStep(rank).isPresent();
      long round = lockstep ? store.version() + (contributed ? 1 : 0) : 0;
      return new ProposalAnswer.Start(rank, round, window.nextStep(rank));
    }

    long samples() {
      return store.samples();
    }

    Future<Frame> exchange(GradientPartition update) {
      Future<Frame> answer = filter.exchange(update);
      pulls.release();
      return answer;
    }

    /** Answers pulls after a new version. */
    void stepped() {
      pulls.release();
    }

    /** Lets no update follow this version; updates held back at an earlier one go on. */
    void testAt(long version) {
      filter.testAt(version);
      pulls.release();
    }

    Future<Frame> pull(PullRequest request) {
      return pulls.pull(request);
    }

    void membershipProposed(Membership next) {
      filter.membershipChanged(next);
      pulls.membershipProposed(next);
    }

    void membershipChanged(Membership now) {
      filter.membershipChanged(now);
      pulls.membershipChanged(now);
    }

    void tick(long nowNanos) {
      filter.tick(nowNanos);
      pulls.tick();
    }

    Optional<StragglerReport> heldUp() {
      return filter.heldUp();
    }

    void close(String why) {
      filter.close(why);
      pulls.close(why);
    }

    /** Returns the outcomes of all updates. */
    LedgerSnapshot updates() {
      return filter.ledger().snapshot();
    }

    /** Continues from the counts of another ledger. */
    void countFrom(LedgerSnapshot updates) {
      filter.ledger().restore(updates);
    }

    PartitionSnapshot snapshot() {
      return store.snapshot(window.entries()).with(filter.ledger().snapshot());
    }

    PartitionCopy beginCopy(CopyMemory memory) {
      return store.beginCopy(memory, window.entries(), filter.ledger().snapshot());
    }

    void restore(PartitionSnapshot snapshot) {
      store.restore(snapshot);
      window.restore(snapshot.window());
      filter.ledger().restore(snapshot.ledger());
    }
  }

  /** The pulls of one partition; those that wait for a later version are in a {@link PullQueue}. */
  private static final class PendingPulls {

    private final ServerStrategyContext context;
    private final long deadlineMillis;
    private final boolean exact;
    private final Supplier<Optional<Tensor>> previous;
    private final PullQueue queue;
    private Membership members = Membership.NONE;
    private Membership agreed = Membership.NONE;

    /**
     * Creates an empty set of pulls.
     *
     * @param deadlineMillis longest wait of a pull
     * @param exact true if workers move in rounds, so that a worker starts at a version that all
     *     partitions have in common
     * @param previous the parameters before the last update, if they are still kept
     */
    PendingPulls(
        ServerStrategyContext context,
        long deadlineMillis,
        boolean exact,
        Supplier<Optional<Tensor>> previous) {
      this.context = context;
      this.exact = exact;
      this.previous = previous;
      this.deadlineMillis = deadlineMillis;
      this.queue =
          new PullQueue(
              deadlineMillis,
              context.nanoClock(),
              new PullQueue.Source(this::isReached, this::answer, this::overdue));
    }

    /** Answers now or when the version is reached. */
    Future<Frame> pull(PullRequest request) {
      return queue.pull(request);
    }

    /** Takes a proposed membership; the first rounds of newcomers are not agreed yet. */
    void membershipProposed(Membership next) {
      members = next;
    }

    /** Takes an agreed membership, with the first round of every member. */
    void membershipChanged(Membership now) {
      members = now;
      agreed = now;
      release();
    }

    /** Answers the pulls that waited for the current version. */
    void release() {
      queue.release();
    }

    void tick() {
      queue.tick();
    }

    void close(String why) {
      queue.close(why);
    }

    private boolean isReached(PullRequest request) {
      long wanted = Math.min(request.minimumVersion(), context.lastVersion());
      return context.store().version() >= Math.min(wanted, begins(request.id()));
    }

    /**
     * Returns the agreed first round of the sender, or {@link Long#MAX_VALUE} if this partition does
     * not know it. A server that went back lets a worker start earlier than the version in its
     * request. A worker may learn of an agreement before this server does; then the version in its
     * request counts.
     */
    private long begins(ExchangeId id) {
      return agreed
          .worker(id.worker())
          .filter(member -> member.incarnation() == id.incarnation())
          .map(Membership.Member::activeFrom)
          .orElse(Long.MAX_VALUE);
    }

    /**
     * Answers with the current version, or with the one before. A worker that repeats a step of its
     * predecessor needs exactly the version of that step, and this partition may be one update ahead.
     */
    private Frame answer(PullRequest request) {
      long wanted = Math.min(request.minimumVersion(), begins(request.id()));
      boolean isBehind = exact && wanted == context.store().version() - 1;
      Optional<Tensor> there = isBehind && isWorker(request.id()) ? previous.get() : Optional.empty();
      return there.isPresent()
          ? context.answers().parameters(request.id(), wanted, there.get())
          : context.answers().parameters(request.id(), Outcome.PULLED, 0);
    }

    private boolean isWorker(ExchangeId id) {
      return members.hasWorker(id.worker(), id.incarnation());
    }

    private String overdue(PullRequest request) {
      return "partition %d: found version %d after %d ms, expected %d; the workers make no progress"
          .formatted(
              context.partition().index(),
              context.store().version(),
              deadlineMillis,
              request.minimumVersion());
    }
  }
}
