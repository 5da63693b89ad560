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
}
