package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.membership.Decision.Hung;
import io.vertigrad.internal.membership.Decision.Promote;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.Decision.Save;
import io.vertigrad.internal.membership.FailureDetector.DepartedNodes;
import io.vertigrad.internal.membership.FailureDetector.HungProcesses;
import io.vertigrad.internal.membership.FailureDetector.RunningTimeClock;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.Membership;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The members of a job and its progress; a plain object on one thread.
 *
 * <p>Requests, answers and ticks go in, {@link Decision}s come out. A change of membership goes to
 * every server first and is published when all have agreed.
 */
public final class CoordinatorState {

  /**
   * Ticks further apart than the suspicion limit divided by this mean that the process did not run.
   */
  private static final long FREEZE_SHARE = 2;

  private static final String ENDING = "the job ends before its first round";

  private final CoordinatorConfig config;
  private final LongSupplier clockMillis;
  private final Consumer<Decision> decisions;
  private final MemberRegistry registry;
  private final JobProgress progress = new JobProgress();
  private final AdmissionPolicy gate;
  private final MembershipChanges changes;
  private final JobTimeouts timeouts;
  private final FailureDetector failureDetector;
  private final StallFinder stalls;
  private final CoordinatorEvents news;
  private final JobLifecycle lifecycle;
  private final Pauses pauses;
  private final MinimumWorkersGuard minimumWorkers;
  private final EarlyStop earlyStop;
  private final BlockingTests tests;
  private final RankAdoption adoption;
  private final HungProcesses hung;
  private final CheckpointPlan checkpoints;
  private final DepartedNodes nodes;
  private OptionalLong goBack = OptionalLong.empty();
  private final BackupServers backups;
  private final ShardVersions versions;

  /**
   * Creates the state of a job without members.
   *
   * @param clockMillis monotonic milliseconds, the base of all limits; a jump means that this
   *     process did not run, and its time is left out
   * @param wallMillis milliseconds since 1970, for events only
   * @param decisions called on the thread that owns this state
   */
  public CoordinatorState(
      CoordinatorConfig config,
      LongSupplier clockMillis,
      LongSupplier wallMillis,
      Consumer<Decision> decisions) {
    this.config = config;
    registry = new MemberRegistry(config.names(), config.servers(), config.firstIncarnation());
    RunningTimeClock clock =
        new RunningTimeClock(clockMillis, Math.max(1, config.suspectMillis() / FREEZE_SHARE));
    this.clockMillis = clock;
    this.decisions = decisions;
    MembershipProposal proposal =
        new MembershipProposal(
            config.lockstep(), config.ranks(), config.lastVersion(), config.firstEpoch());
    changes = new MembershipChanges(proposal, registry, progress, decisions);
    timeouts = new JobTimeouts(config, registry, proposal);
    news = new CoordinatorEvents(decisions, wallMillis);
    lifecycle = new JobLifecycle(decisions, news, progress);
    gate = new AdmissionPolicy(config, registry, progress, lifecycle);
    failureDetector = new FailureDetector(config, registry, news, clock);
    pauses = new Pauses(config, registry, lifecycle, changes, news, clock, decisions);
    minimumWorkers = new MinimumWorkersGuard(config, registry, progress, lifecycle, pauses, news);
    tests = new BlockingTests(config, registry, progress, pauses, news);
    stalls = new StallFinder(config, registry, progress, tests, news, clock);
    hung = new HungProcesses(config.evictMillis());
    nodes = new DepartedNodes(registry);
    checkpoints = new CheckpointPlan(config, registry, progress, pauses);
    adoption = new RankAdoption(config, registry, progress, decisions);
    backups = new BackupServers(config, registry, news, decisions);
    versions = new ShardVersions(news);
    earlyStop = new EarlyStop(config.stop(), clock.getAsLong());
  }

  JobPhase state() {
    return lifecycle.state();
  }

  /** Returns the membership that was published last. */
  Membership membership() {
    return changes.current();
  }

  /** Returns why a former member is no longer part of the job. */
  String farewell(Admission admission) {
    return registry.departures().farewell(admission);
  }

  /** Returns why the job is over; empty while it is not. */
  String verdict() {
    return lifecycle.reason();
  }

  /**
   * Admits a newcomer; a repeated request returns the same admission.
   *
   * @throws JoinException with the reason for the user
   */
  Admission join(JoinRequest request) {
    Optional<MemberRecord> again = registry.withToken(request.token());
    if (again.isPresent()) {
      return again.get().admission();
    }
    registry.toHandOver(request, config.workers()).ifPresent(this::handOver);
    registry.toHandOver(request).ifPresent(server -> handOver(server, request.holds().getAsLong()));
    gate.check(request);
    MemberRecord newcomer = registry.admit(request, clockMillis.getAsLong());
    news.joined(newcomer);
    request.holds().ifPresent(version -> note(request, version));
    changes.want();
    settle();
    return newcomer.admission();
  }

  private void handOver(MemberRecord adopted) {
    remove(adopted, LeaveReason.lost("its rank goes to a worker that has come for it"));
  }

  private void handOver(MemberRecord server, long version) {
    remove(
        server,
        LeaveReason.lost(
            "another server has version %d of its shard in memory".formatted(version)));
  }

  /** Records the version that a newcomer knows of shards that nobody serves yet. */
  private void note(JoinRequest request, long version) {
    // Without rounds, the shards of several servers have different versions.
    boolean comparable = config.lockstep() || config.servers() == 1;
    if (request.role() == Role.WORKER && comparable) {
      IntStream.range(0, config.servers())
          .filter(shard -> servedBy(shard).isEmpty())
          .forEach(shard -> versions.knows(shard, version));
    }
    registry
        .shardOf(request)
        .ifPresent(
            shard ->
                servedBy(shard)
                    .ifPresentOrElse(
                        server -> versions.comesLate(server, version),
                        () -> versions.knows(shard, version)));
  }

  private Optional<MemberRecord> servedBy(int shard) {
    return registry.servers().stream()
        .filter(server -> server.rank() == shard && server.published())
        .findFirst();
  }

  /** Returns whether a server continues from what it had in memory when it joined. */
  boolean keeps(Admission server) {
    return server.role() == Role.SERVER
        && !backups.isBackup(server)
        && registry.find(server).filter(registry::keeps).isPresent();
  }

  /** Takes a heartbeat; returns false when the sender is not, or no longer, a member of the job. */
  boolean heartbeat(Admission from, MemberStatus status) {
    Optional<MemberRecord> record = registry.find(from);
    if (record.isEmpty()) {
      hung.spoke(from);
      return backups.turns(from);
    }
    boolean wasReady = record.get().ready();
    record.get().heard(status, clockMillis.getAsLong());
    progress.heard(from, status);
    if (from.role() == Role.SERVER && record.get().published()) {
      status.version().ifPresent(version -> versions.knows(from.rank(), version));
    }
    if (from.role() == Role.EVALUATOR) {
      tests.heard(status);
    }
    if (record.get().ready() != wasReady) {
      changes.want();
      settle();
    }
    return true;
  }

  /** Returns whether a server's answer about its backup still counts. */
  boolean awaits(Admission primary, Admission backup) {
    return backups.awaits(primary, backup);
  }

  /** Records that a server's backup has everything that the server has. */
  void replicated(Admission primary, Admission backup) {
    backups.completed(primary, backup);
  }

  /** Returns whether a promoted backup has not yet reported under its new rank. */
  boolean promotes(Admission as) {
    return backups.promotes(as);
  }

  /** Drops the backup of a server; returns false when the server itself is no longer a member. */
  boolean dropBackup(Admission from, Admission backup, String why) {
    boolean known = registry.find(from).isPresent();
    if (known && backups.isBackup(backup)) {
      registry
          .find(backup)
          .ifPresent(
              record -> remove(record, LeaveReason.lost("its server did without it: " + why)));
    }
    return known;
  }

  /** Returns the part that pauses and resumes the job. */
  Pauses pauses() {
    return pauses;
  }

  /** Announces the measurements of a member's process. */
  void health(Admission from, ProcessVitals vitals) {
    registry.find(from).ifPresent(record -> news.health(record, vitals));
  }

  /** Removes a member that leaves in good order. */
  void leave(Admission from, LeaveReason reason, MemberStatus status) {
    progress.heard(from, status);
    registry.find(from).ifPresent(record -> remove(record, reason));
    settle();
  }

  /** Removes all members of a process that has ended. */
  public void lost(String node, String how) {
    registry
        .all()
        .filter(a -> a.node().equals(node))
        .forEach(gone -> remove(gone, LeaveReason.lost(how)));
    settle();
  }

  /**
   * Removes all members whose process has left the cluster.
   *
   * @param present the cluster's nodes, as this process sees them
   */
  public void nodes(Set<String> present) {
    List<MemberRecord> gone = nodes.look(present, clockMillis.getAsLong());
    gone.forEach(member -> remove(member, LeaveReason.lost("its process has left the cluster")));
    if (!gone.isEmpty()) {
      settle();
    }
  }

  /** Returns whether a server's answer to this proposal still counts. */
  boolean awaits(int epoch, int server) {
    return changes.awaits(epoch, server);
  }

  /** Returns the name of the run, under which members keep their checkpoints. */
  String run() {
    return config.run();
  }

  /**
   * Returns the version that a newly admitted server goes back to because all servers do; empty for
   * its newest version, and for other roles.
   */
  OptionalLong goesBackTo(Role role) {
    return role == Role.SERVER ? goBack : OptionalLong.empty();
  }

  /** Records that a server accepted the proposed membership. */
  void accepted(int epoch, int server) {
    accepted(epoch, server, ProposalAnswer.ACCEPTED);
  }

  /**
   * Records that a server accepted the proposed membership.
   *
   * @param answer where each worker goes on, as far as the server knows, and which versions it has
   */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    changes.accepted(epoch, server, answer);
    if (lifecycle.running()) {
      repeatMissing(answer.starts());
    }
    publishWhenAgreed();
  }

  /**
   * Removes workers that started after a step that this server lacks, because only a lost server
   * had received it. They join again and start with that step.
   */
  private void repeatMissing(List<ProposalAnswer.Start> starts) {
    List<MemberRecord> late =
        starts.stream()
            .filter(start -> start.rank() < config.ranks())
            .flatMap(
                start ->
                    registry.of(Role.WORKER).stream()
                        .filter(worker -> worker.rank() == start.rank() && worker.published())
                        .filter(worker -> worker.firstStep() > start.step()))
            .toList();
    late.forEach(
        worker ->
            remove(worker, LeaveReason.lost("a step before its first is missing; joins again")));
    if (!late.isEmpty()) {
      settle();
    }
  }

  /**
   * Takes the refusal of a server that has reached {@code version}, at or past a newcomer's first
   * round.
   */
  void refused(int epoch, int server, long version) {
    if (!changes.awaits(epoch, server)) {
      return;
    }
    progress.reached(version);
    if (progress.ended(config.lastVersion())) {
      registry
          .newWorkers()
          .forEach(
              worker -> remove(worker, LeaveReason.lost("the job ended before its first round")));
    }
    changes.refused();
    settle();
  }

  /**
   * Ends a job whose final version was evaluated, or could not be.
   *
   * @param statuses the last statuses of the servers, with their {@code counters}
   * @param silent servers that did not answer
   */
  void concluded(
      List<MemberStatus> statuses, List<Admission> silent, Optional<EvaluationResult> evaluation) {
    if (state() == JobPhase.FINISHING) {
      statuses.forEach(progress::heard);
      statuses.forEach(news::counted);
      countReplicas();
      lifecycle.finished(evaluation, silent.stream().map(config.names()::of).toList());
    }
  }

  /** Announces the outcome of every update at a server; before {@link #concluded}. */
  void updates(int server, List<RankUpdates> ranks) {
    ranks.forEach(
        of -> news.updates(server, of, of.rank() < config.ranks() ? progress.steps(of.rank()) : 0));
  }

  /** Announces, in a job without servers, how many of each rank's steps its replica holds. */
  void countReplicas() {
    if (config.servers() == 0) {
      Map<Integer, Long> held = new HashMap<>();
      registry
          .of(Role.WORKER)
          .forEach(worker -> held.put(worker.rank(), worker.version().orElse(0)));
      progress.versions().entrySet().stream()
          .filter(rank -> rank.getKey() < config.workers() || held.containsKey(rank.getKey()))
          .forEach(
              rank ->
                  news.steps(rank.getKey(), rank.getValue(), held.getOrDefault(rank.getKey(), 0L)));
    }
  }

  /** Makes every server write a checkpoint now. */
  void save() {
    decisions.accept(
        new Save(registry.readyServers().stream().map(MemberRecord::admission).toList()));
  }

  /** Lets no worker start another step, for good; returns false when the job does not run. */
  boolean halt() {
    if (lifecycle.running()) {
      pauses.halt();
    }
    return lifecycle.running();
  }

  /** Returns whether this is a member of the job. */
  boolean isHere(Admission member) {
    return registry.find(member).isPresent();
  }

  /** Returns whether a server that was lost after the last step may still be replaced. */
  boolean awaitsServers() {
    return servesModel();
  }

  /** Returns for how many milliseconds the job waits for a missing member. */
  long waitMillis() {
    return config.waitMillis();
  }

  /** Returns the published members of a role. */
  List<Admission> members(Role role) {
    return registry.of(role).stream()
        .filter(MemberRecord::published)
        .map(MemberRecord::admission)
        .toList();
  }

  /** Announces a server's last status and {@code counters}, before the job ends. */
  void counted(MemberStatus status) {
    progress.heard(status);
    news.counted(status);
  }

  /** Takes the result of a test of trained parameters; ends the job if it is good enough. */
  public void tested(Evaluated test) {
    if (test.version() > 0 && test.version() < config.lastVersion()) {
      earlyStop.tested(test).ifPresent(this::endEarly);
    }
    tests.result(test.version());
  }

  /** Stops the job; releases the members if it has ended already. */
  public void stop(String reason) {
    lifecycle.stopped(reason);
  }

  /**
   * Checks all limits: suspects and evicts members, finds stalls, gives up waiting. Called a few
   * times a second.
   */
  public void tick() {
    long now = clockMillis.getAsLong();
    failureDetector
        .overdue(now)
        .forEach(
            silent -> {
              remove(silent, LeaveReason.lost(silent.silence(now)));
              hung.evicted(silent, now);
            });
    hung.overdue(now, registry).forEach(node -> decisions.accept(new Hung(node)));
    timeouts
        .unresponsive(now)
        .forEach(server -> remove(server, LeaveReason.lost("it answered no proposal")));
    earlyStop
        .passed(now, state() == JobPhase.RUNNING, progress.version())
        .ifPresent(this::endEarly);
    settle();
    pauses.tellEndIsHeard();
    boolean trains = lifecycle.running() && !lifecycle.paused() && !minimumWorkers.lasts();
    tests.look(trains || lifecycle.ending(), now);
    stalls.look(trains, now);
    checkpoints.look(trains && !lifecycle.ending(), now);
    adoption.look(lifecycle.running() && !lifecycle.ending(), now);
    adoption.hopeless().filter(why -> lifecycle.running()).ifPresent(lifecycle::failed);
    timeouts.exhausted(state(), progress.anyFinished(), now).ifPresent(lifecycle::failed);
    if (timeouts.letGo(state(), now)) {
      stop("nobody asked for more after the end");
    }
  }

  /** Returns whether no member is left. */
  public boolean deserted() {
    return registry.all().findAny().isEmpty();
  }

  private void remove(MemberRecord record, LeaveReason why) {
    Admission who = record.admission();
    registry.remove(record, why);
    news.left(who, why.toString());
    backups.left(who, why.toString());
    if (who.role() == Role.WORKER && why.kind() == LeaveReason.Kind.FINISHED) {
      progress.workerFinished();
    }
    if (who.role() == Role.WORKER) {
      adoption.left(who.rank(), why);
    }
    if (who.role() != Role.EVALUATOR && !backups.isBackup(who)) {
      changes.want();
    }
    if (who.role() == Role.SERVER && (lifecycle.running() || servesModel())) {
      backups.successor(who).ifPresent(backup -> promote(backup, who));
    }
  }

  /** Gives the rank of a lost server to its backup. */
  private void promote(MemberRecord backup, Admission gone) {
    Admission before = backup.admission();
    registry.remove(backup, LeaveReason.lost("it goes on for " + gone));
    MemberRecord server = registry.promote(backup, gone.rank(), clockMillis.getAsLong());
    backups.promoted(before, server.admission());
    news.left(before, "goes on for " + gone);
    news.joined(server);
    decisions.accept(new Promote(before, server.admission()));
  }

  /** Starts an early end and removes workers that are not yet part of the job. */
  private void endEarly(EarlyEnd why) {
    if (!lifecycle.end(why)) {
      return;
    }
    news.ending(why);
    registry.newWorkers().forEach(worker -> remove(worker, LeaveReason.lost(ENDING)));
    pauses.conclude(tests::end);
    settle();
  }

  /** Fixes the version of an early end and removes workers that would start after it. */
  private void endSettled() {
    pauses.settle();
    pauses
        .endsAt()
        .ifPresent(
            end ->
                registry.of(Role.WORKER).stream()
                    .filter(worker -> worker.activeFrom() > end)
                    .toList()
                    .forEach(worker -> remove(worker, LeaveReason.lost(ENDING))));
  }

  private void settle() {
    if (lifecycle.ending()) {
      endSettled();
    }
    if (state() == JobPhase.WAITING && timeouts.quorate(clockMillis.getAsLong())) {
      lifecycle.start();
      changes.want();
    }
    if (lifecycle.running() && progress.complete(config, registry)) {
      lifecycle.conclude(registry);
    }
    if ((lifecycle.running() || servesModel()) && changes.due()) {
      timeouts
          .hopeless(progress.version())
          .or(this::endLost)
          .ifPresentOrElse(lifecycle::failed, this::propose);
    }
    backups.look();
    minimumWorkers.look();
  }

  private void propose() {
    registry.returnedServers().stream().findFirst().ifPresent(this::beginAnew);
    registry.readyServers().stream()
        .filter(server -> !server.published())
        .forEach(versions::goesOn);
    // Newcomers wait for a missing server: only it knows where they start in its shard.
    boolean whole = registry.readyServers().size() == config.servers();
    changes.propose(whole && (!lifecycle.paused() || membership().epoch() == 0));
    publishWhenAgreed();
  }

  /**
   * A server has gone back to a checkpoint. Removes every worker; each joins again and repeats its
   * steps from the first one that the server needs.
   */
  private void beginAnew(MemberRecord server) {
    String why =
        "%s went back to version %d; joins again to repeat what is missing there"
            .formatted(server.describe(), server.version().orElse(0));
    registry.of(Role.WORKER).stream()
        .filter(worker -> worker.published() && worker.rank() < config.ranks())
        .toList()
        .forEach(worker -> remove(worker, LeaveReason.lost(why)));
    changes.due();
  }

  /**
   * Removes all servers, so that each comes back at this version. One of them has gone back further
   * than repeated steps can make up; from a common version the job repeats the same rounds with
   * bit-identical results.
   */
  private void goBack(long version) {
    goBack = OptionalLong.of(version);
    String why =
        "all servers go back to version %d, which each of them has kept".formatted(version);
    List.copyOf(registry.of(Role.SERVER)).forEach(server -> remove(server, LeaveReason.lost(why)));
  }

  /** Returns whether servers hold the final model; a lost one may come back with it. */
  private boolean servesModel() {
    return config.servers() > 0 && lifecycle.holdsResult();
  }

  /** Names a server that came back after the last step without the final model. */
  private Optional<String> endLost() {
    return registry.returnedServers().stream()
        .filter(server -> servesModel() && config.lockstep())
        .filter(server -> server.version().orElse(0) < progress.version())
        .findFirst()
        .map(
            server ->
                ("%s was lost after the last step, before version %d was on its disk, and its"
                        + " replacement is at version %d; the workers that could repeat the rest"
                        + " have left")
                    .formatted(server.describe(), progress.version(), server.version().orElse(0)));
  }

  private void publishWhenAgreed() {
    if (lifecycle.running() && changes.complete()) {
      // With a quorum, rounds go on while servers answer, so their versions may differ by more.
      // Compare them only while a server is new.
      boolean known = registry.readyServers().stream().allMatch(MemberRecord::published);
      OptionalLong common = known ? OptionalLong.empty() : changes.newestCommon();
      if (common.isPresent()) {
        goBack(common.getAsLong());
        return;
      }
      boolean all = registry.readyServers().size() == config.servers();
      goBack = all ? OptionalLong.empty() : goBack;
    }
    boolean first = membership().epoch() == 0;
    Optional<Membership> agreed =
        lifecycle.running() || servesModel() ? changes.agreed() : Optional.empty();
    if (first) {
      agreed.ifPresent(membership -> news.started(config, membership, gate.parameters()));
    }
    agreed.ifPresent(membership -> decisions.accept(new Publish(membership)));
  }

  /**
   * Decides whether a newcomer may join: the job is open, settings and model match, a place is free.
   */
  private static final class AdmissionPolicy {

    private final CoordinatorConfig config;
    private final MemberRegistry registry;
    private final JobProgress progress;
    private final JobLifecycle lifecycle;
    private ParameterLayout layout;

    AdmissionPolicy(
        CoordinatorConfig config,
        MemberRegistry registry,
        JobProgress progress,
        JobLifecycle lifecycle) {
      this.config = config;
      this.registry = registry;
      this.progress = progress;
      this.lifecycle = lifecycle;
    }

    /**
     * Accepts the newcomer; the layout of the first one is the job's layout.
     *
     * @throws JoinException naming the first thing that does not fit
     */
    void check(JoinRequest request) {
      checkOpen(request.role());
      String who = "%s at %s is refused: ".formatted(request.role().lower(), request.node());
      config
          .terms()
          .firstDifference(request.terms())
          .ifPresent(
              difference -> {
                throw new JoinException(
                    who + "its job file differs in " + difference + "; start it with the same file");
              });
      if (layout == null) {
        layout = request.layout();
      }
      layout
          .firstDifference(request.layout())
          .ifPresent(
              difference -> {
                throw new JoinException(
                    who + "its model differs in " + difference + "; start it with the same model");
              });
      checkCapacity(request, who);
    }

    /** Returns the number of elements in the job's exchange vector; 0 before the first join. */
    long parameters() {
      return layout == null ? 0 : layout.length();
    }

    private void checkOpen(Role role) {
      if (role == Role.SERVER && lifecycle.state() == JobPhase.FINISHED) {
        // The server's disk holds the final model, which may not have been read yet.
        return;
      }
      if (lifecycle.state().over()) {
        String over = "the job is over: " + lifecycle.reason();
        throw lifecycle.finishedWell() ? JoinException.late(over) : new JoinException(over);
      }
      if (role == Role.WORKER && lifecycle.ending()) {
        throw JoinException.late("the job is about to end early");
      }
      boolean needed =
          progress.waitsForRanks(config, registry)
              || progress.hasServerBehind(config.lastVersion(), registry);
      boolean begun = lifecycle.state() != JobPhase.WAITING;
      if (role == Role.WORKER && begun && progress.ended(config.lastVersion()) && !needed) {
        throw JoinException.late("the job has reached its last version, " + config.lastVersion());
      }
    }

    private void checkCapacity(JoinRequest request, String who) {
      if (request.adopts() && registry.playsAll(config.workers())) {
        // The worker that was taken for lost is back, or another one has joined.
        throw JoinException.refused(
            who + "all %d ranks of the job have a worker again".formatted(config.workers()));
      }
      int capacity = config.capacity(request.role());
      if (registry.count(request.role()) < capacity) {
        return;
      }
      String holders =
          registry.of(request.role()).stream()
              .limit(4)
              .map(MemberRecord::describe)
              .collect(Collectors.joining(", "));
      String full =
          "the job has all %d of its %ss (%s); it takes a place only when one is lost"
              .formatted(capacity, request.role().lower(), holders);
      throw JoinException.full(who + full + moreWorkers(request.role()));
    }

    /** Explains why no further worker fits: with a sampler, each worker has a share of the data. */
    private static String moreWorkers(Role role) {
      return role == Role.WORKER
          ? ", because workers.sampler \"distributed\" cuts the data into workers.count shares; to"
              + " let any number join, start the job with workers.sampler=none"
          : "";
    }
  }

  /** The progress of a job, from what its members have reported. */
  static final class JobProgress {

    private final Map<Integer, Long> steps = new HashMap<>();
    private final Map<Integer, Long> versions = new HashMap<>();
    private long version;
    private long samples;
    private boolean anyFinished;

    /** Takes a member's status; for a worker also the progress of its rank. */
    void heard(Admission from, MemberStatus status) {
      heard(status);
      if (from.role() == Role.WORKER) {
        status.step().ifPresent(step -> steps.merge(from.rank(), step, Math::max));
        status.version().ifPresent(reached -> versions.merge(from.rank(), reached, Math::max));
      }
    }

    /** Returns how many steps the workers of a rank have reported as completed. */
    long steps(int rank) {
      return steps.getOrDefault(rank, 0L);
    }

    /** Returns the highest version that the workers of each rank have reported. */
    SortedMap<Integer, Long> versions() {
      return new TreeMap<>(versions);
    }

    /** Takes {@code version} and {@code samples} of a status, if present. */
    void heard(MemberStatus status) {
      reached(status.version().orElse(0));
      samples = Math.max(samples, status.samples().orElse(0));
    }

    void reached(long someVersion) {
      version = Math.max(version, someVersion);
    }

    void workerFinished() {
      anyFinished = true;
    }

    /** Returns the highest version of any partition that was reported. */
    long version() {
      return version;
    }

    /** Returns the highest number of samples behind any partition that was reported. */
    long samples() {
      return samples;
    }

    /** Returns whether a worker has reached the last version. */
    boolean anyFinished() {
      return anyFinished;
    }

    /** Returns whether nothing is left to do for a newcomer. */
    boolean ended(long lastVersion) {
      return anyFinished || version >= lastVersion;
    }

    /**
     * Returns whether the end waits for a missing rank: without servers the final version is the mean
     * of all replicas. An early end takes the mean of those that are left.
     */
    boolean waitsForRanks(CoordinatorConfig config, MemberRegistry registry) {
      return config.servers() == 0
          && registry.of(Role.WORKER).stream().noneMatch(MemberRecord::ended)
          && registry.readyWorkers() < config.minimumWorkers();
    }

    /**
     * Returns whether a server that went back to a checkpoint needs updates again, whatever version
     * others have reported.
     */
    boolean hasServerBehind(long lastVersion, MemberRegistry registry) {
      return !anyFinished
          && registry.readyServers().stream()
              .anyMatch(server -> server.restored() && server.version().orElse(0) < lastVersion);
    }

    /**
     * Returns whether all steps are done; without servers the workers stay, because they hold the
     * model.
     */
    boolean complete(CoordinatorConfig config, MemberRegistry registry) {
      Collection<MemberRecord> workers = registry.of(Role.WORKER);
      return config.servers() > 0
          ? anyFinished && workers.isEmpty()
          : !workers.isEmpty()
              && !waitsForRanks(config, registry)
              && workers.stream()
                  .allMatch(w -> w.ended() || w.version().orElse(0) >= config.lastVersion());
    }
  }

  /** Compares test results and training time with the job's stop settings; single-threaded. */
  static final class EarlyStop {

    private static final double MILLIS_A_MINUTE = 60_000;

    private final StopConfig config;
    private long trainedMillis;
    private long lookedMillis;

    /**
     * Starts the count of training time.
     *
     * @param nowMillis monotonic
     */
    EarlyStop(StopConfig config, long nowMillis) {
      this.config = config;
      lookedMillis = nowMillis;
    }

    /**
     * Returns an early end if this test is good enough; a test of the initial parameters never is.
     */
    Optional<EarlyEnd> tested(Evaluated test) {
      if (test.version() == 0) {
        return Optional.empty();
      }
      if (config.accuracy().isPresent() && test.accuracy() >= config.accuracy().getAsDouble()) {
        return Optional.of(
            new EarlyEnd(
                "accuracy", config.accuracy().getAsDouble(), test.accuracy(), test.version()));
      }
      if (config.loss().isPresent() && test.loss() <= config.loss().getAsDouble()) {
        return Optional.of(
            new EarlyEnd("loss", config.loss().getAsDouble(), test.loss(), test.version()));
      }
      return Optional.empty();
    }

    /**
     * Returns an early end if the job has trained for long enough; called a few times a second.
     *
     * @param nowMillis monotonic
     * @param trains false while the job is paused, or does not run
     * @param version the version that the job has reached
     */
    Optional<EarlyEnd> passed(long nowMillis, boolean trains, long version) {
      trainedMillis += trains ? nowMillis - lookedMillis : 0;
      lookedMillis = nowMillis;
      double minutes = trainedMillis / MILLIS_A_MINUTE;
      return config.minutes().isPresent() && minutes >= config.minutes().getAsDouble()
          ? Optional.of(new EarlyEnd("minutes", config.minutes().getAsDouble(), minutes, version))
          : Optional.empty();
    }
  }

  /**
   * Chooses the version at which all members write a checkpoint, when checkpoints are timed.
   *
   * <p>The version lies far enough ahead that every member knows it before it gets there. A member
   * that learns of it too late writes none, and the job can then go back to the checkpoint before.
   * The interval grows with the cost of writing, which takes at most one part in {@value #COST} of
   * the time.
   */
  private static final class CheckpointPlan {

    /** Greatest age of the progress that members last reported. */
    private static final long LEAD_MILLIS = 2_000;

    private static final long COST = 50;

    private final CoordinatorConfig config;
    private final MemberRegistry registry;
    private final JobProgress progress;
    private final Pauses pauses;
    private boolean begun;
    private long namedMillis;
    private long lookedMillis;
    private long lookedVersion;
    private double versionsPerMilli;

    CheckpointPlan(
        CoordinatorConfig config, MemberRegistry registry, JobProgress progress, Pauses pauses) {
      this.config = config;
      this.registry = registry;
      this.progress = progress;
      this.pauses = pauses;
    }

    /** Chooses the next version when it is time; called a few times a second. */
    void look(boolean trains, long nowMillis) {
      if (config.checkpointMillis() == 0 || !config.stepsTogether()) {
        return;
      }
      if (!trains || !begun) {
        begun |= trains;
        // The version chosen now is written {@code LEAD_MILLIS} later, so the interval starts
        // earlier.
        namedMillis = nowMillis - LEAD_MILLIS;
        begin(nowMillis);
        return;
      }
      if (nowMillis - lookedMillis >= LEAD_MILLIS) {
        versionsPerMilli =
            Math.max(0, progress.version() - lookedVersion) / (double) (nowMillis - lookedMillis);
        begin(nowMillis);
      }
      long least = Math.max(config.checkpointMillis(), COST * cost());
      if (nowMillis - namedMillis >= least && versionsPerMilli > 0) {
        name(nowMillis);
      }
    }

    private void begin(long nowMillis) {
      lookedMillis = nowMillis;
      lookedVersion = progress.version();
    }

    private void name(long nowMillis) {
      long ahead = 2 + (long) Math.ceil(versionsPerMilli * LEAD_MILLIS);
      // Without servers a worker may be as many steps ahead as there are workers.
      ahead += config.servers() == 0 ? config.workers() : 0;
      long every = config.endsEvery();
      long at = (progress.version() + ahead + every - 1) / every * every;
      if (at < config.lastVersion()) {
        pauses.save(at);
      }
      namedMillis = nowMillis;
    }

    /** Returns the time of the last checkpoint in ms, summed as if all members shared one machine. */
    private long cost() {
      Role holder = config.servers() > 0 ? Role.SERVER : Role.WORKER;
      return registry.of(holder).stream().mapToLong(MemberRecord::saveMillis).sum();
    }
  }

  /** A condition that is tolerated for a limited time. */
  static final class ConditionTimer {

    private final long limitMillis;
    private long sinceMillis = Long.MIN_VALUE;

    ConditionTimer(long limitMillis) {
      this.limitMillis = limitMillis;
    }

    /** Returns whether the condition {@code holds} and has held without a break for the limit. */
    boolean exceeded(boolean holds, long nowMillis) {
      if (!holds) {
        sinceMillis = Long.MIN_VALUE;
        return false;
      }
      if (sinceMillis == Long.MIN_VALUE) {
        sinceMillis = nowMillis;
      }
      return nowMillis - sinceMillis >= limitMillis;
    }

    /** Starts counting again. */
    void restart() {
      sinceMillis = Long.MIN_VALUE;
    }

    /** Returns the limit with its unit, for messages. */
    String seconds() {
      return limitMillis % 1_000 == 0 ? limitMillis / 1_000 + " s" : limitMillis + " ms";
    }
  }
}
