package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.membership.Decision.Hung;
import io.vertigrad.internal.membership.Decision.Promote;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.Decision.Save;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/**
 * Who takes part in a job, and how far the job is; a plain object on one thread.
 *
 * <p>Requests, answers and ticks go in, {@link Decision}s come out. A change of membership reaches
 * every server first and is published when all have agreed.
 */
public final class CoordinatorState {

  /** Ticks that lie further apart than this share of the suspicion limit mean a freeze. */
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
   * A coordinator's state with nobody on it.
   *
   * @param clockMillis monotonic milliseconds; decides everything but for jumps, in which this
   *     process did not run
   * @param wallMillis milliseconds since 1970, for events only
   * @param decisions called on the coordinator's state's thread
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

  /** As published last. */
  Membership membership() {
    return changes.current();
  }

  /** Why a member that is not here any more is not. */
  String farewell(Admission admission) {
    return registry.departures().farewell(admission);
  }

  /** Why the job is over, once it is. */
  String verdict() {
    return lifecycle.reason();
  }

  /**
   * Admits a newcomer, or the same one again when its request was repeated.
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

  /** Takes note of the version that a newcomer knows of shards which nobody serves yet. */
  private void note(JoinRequest request, long version) {
    // Without rounds the shards of several servers are at versions of their own.
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

  /** True for a server that goes on from what it had in memory when it joined. */
  boolean keeps(Admission server) {
    return server.role() == Role.SERVER
        && !backups.isBackup(server)
        && registry.find(server).filter(registry::keeps).isPresent();
  }

  /** Takes a sign of life; false when this member is not, or no longer, part of the job. */
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

  /** True while a server's answer about its backup matters. */
  boolean awaits(Admission primary, Admission backup) {
    return backups.awaits(primary, backup);
  }

  /** A server's backup has all that the server has. */
  void replicated(Admission primary, Admission backup) {
    backups.completed(primary, backup);
  }

  /** True while a backup that was promoted has not said so. */
  boolean promotes(Admission as) {
    return backups.promotes(as);
  }

  /** A server goes on without this backup; false when the server itself is no member any more. */
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

  /** Who pauses the job, and lets it go on. */
  Pauses pauses() {
    return pauses;
  }

  /** Passes on how a member says it is. */
  void health(Admission from, ProcessVitals vitals) {
    registry.find(from).ifPresent(record -> news.health(record, vitals));
  }

  /** Lets a member go in good order. */
  void leave(Admission from, LeaveReason reason, MemberStatus status) {
    progress.heard(from, status);
    registry.find(from).ifPresent(record -> remove(record, reason));
    settle();
  }

  /** Lets everybody go who lived in a process that has ended. */
  public void lost(String node, String how) {
    registry
        .all()
        .filter(a -> a.node().equals(node))
        .forEach(gone -> remove(gone, LeaveReason.lost(how)));
    settle();
  }

  /**
   * Lets everybody go whose process has left the cluster.
   *
   * @param present the cluster's nodes, as this process sees it
   */
  public void nodes(Set<String> present) {
    List<MemberRecord> gone = nodes.look(present, clockMillis.getAsLong());
    gone.forEach(member -> remove(member, LeaveReason.lost("its process has left the cluster")));
    if (!gone.isEmpty()) {
      settle();
    }
  }

  /** True while a server's answer to this proposal matters. */
  boolean awaits(int epoch, int server) {
    return changes.awaits(epoch, server);
  }

  /** Name of the run, under which members keep their checkpoints. */
  String run() {
    return config.run();
  }

  /**
   * The version that a server that is admitted now goes back to, because all servers do; empty for
   * its newest, and for everybody else.
   */
  OptionalLong goesBackTo(Role role) {
    return role == Role.SERVER ? goBack : OptionalLong.empty();
  }

  /** A server took the proposed membership over. */
  void accepted(int epoch, int server) {
    accepted(epoch, server, ProposalAnswer.ACCEPTED);
  }

  /** The same, with where those workers go on that the server did not know, and what it has. */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    changes.accepted(epoch, server, answer);
    if (lifecycle.running()) {
      repeatMissing(answer.starts());
    }
    publishWhenAgreed();
  }

  /**
   * A worker that began after a step which only a lost server had of its rank begins anew, with
   * that step.
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

  /** A server has already reached {@code version}, at or past a newcomer's first round. */
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
   * The end was evaluated, or could not be.
   *
   * @param statuses what the servers said last, with their {@code counters}
   * @param silent servers that did not say it
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

  /** What a server says became of every update; before {@link #concluded}. */
  void updates(int server, List<RankUpdates> ranks) {
    ranks.forEach(
        of -> news.updates(server, of, of.rank() < config.ranks() ? progress.steps(of.rank()) : 0));
  }

  /** Without servers each rank's steps are in its own replica, or in nobody's. */
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

  /** Has every server write a checkpoint now. */
  void save() {
    decisions.accept(
        new Save(registry.readyServers().stream().map(MemberRecord::admission).toList()));
  }

  /** Lets no worker begin another step, for good; false when the job does not run. */
  boolean halt() {
    if (lifecycle.running()) {
      pauses.halt();
    }
    return lifecycle.running();
  }

  /** True while this member is one of the job's. */
  boolean isHere(Admission member) {
    return registry.find(member).isPresent();
  }

  /** True while a server that was lost after the last step may still be replaced. */
  boolean awaitsServers() {
    return servesModel();
  }

  /** How long the job waits for a member that is missing. */
  long waitMillis() {
    return config.waitMillis();
  }

  /** Who takes part in this role. */
  List<Admission> members(Role role) {
    return registry.of(role).stream()
        .filter(MemberRecord::published)
        .map(MemberRecord::admission)
        .toList();
  }

  /** A server's last word, with its {@code counters}, before the job is ended. */
  void counted(MemberStatus status) {
    progress.heard(status);
    news.counted(status);
  }

  /** Somebody tested parameters that were trained; when they are good enough, the job ends. */
  public void tested(Evaluated test) {
    if (test.version() > 0 && test.version() < config.lastVersion()) {
      earlyStop.tested(test).ifPresent(this::endEarly);
    }
    tests.result(test.version());
  }

  /** Ends the job from outside, or lets the members of an ended one go. */
  public void stop(String reason) {
    lifecycle.stopped(reason);
  }

  /**
   * Looks at the clock: suspects, evicts, finds stalls, gives up waiting. Called a few times a
   * second.
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

  /** True when everybody who was part of the job has left. */
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

  /** The backup of a server that is gone takes its rank. */
  private void promote(MemberRecord backup, Admission gone) {
    Admission before = backup.admission();
    registry.remove(backup, LeaveReason.lost("it goes on for " + gone));
    MemberRecord server = registry.promote(backup, gone.rank(), clockMillis.getAsLong());
    backups.promoted(before, server.admission());
    news.left(before, "goes on for " + gone);
    news.joined(server);
    decisions.accept(new Promote(before, server.admission()));
  }

  /** Whoever takes no part yet never will. */
  private void endEarly(EarlyEnd why) {
    if (!lifecycle.end(why)) {
      return;
    }
    news.ending(why);
    registry.newWorkers().forEach(worker -> remove(worker, LeaveReason.lost(ENDING)));
    pauses.conclude(tests::end);
    settle();
  }

  /** A worker that was to begin later than the job ends never will. */
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
    // Without its server a shard cannot say where a newcomer goes on.
    boolean whole = registry.readyServers().size() == config.servers();
    changes.propose(whole && (!lifecycle.paused() || membership().epoch() == 0));
    publishWhenAgreed();
  }

  /**
   * A server has gone back to a checkpoint: every worker begins anew, with the step that it needs
   * first, and repeats those after it.
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
   * One server has gone back further than the others can follow with the step that each worker
   * repeats: all go back to one version, so that the job repeats the same rounds to the same bits.
   */
  private void goBack(long version) {
    goBack = OptionalLong.of(version);
    String why =
        "all servers go back to version %d, which each of them has kept".formatted(version);
    List.copyOf(registry.of(Role.SERVER)).forEach(server -> remove(server, LeaveReason.lost(why)));
  }

  /** After the last step servers still hold the model: one that is lost may come back with it. */
  private boolean servesModel() {
    return config.servers() > 0 && lifecycle.holdsResult();
  }

  /** Names a server that came back after the last step without it. */
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
      // Servers answer at different times: with a quorum rounds go on in between.
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
}
