package io.vertigrad.internal.membership;

import static io.vertigrad.internal.membership.JobPhase.ENDING;
import static io.vertigrad.internal.membership.JobPhase.FAILED;
import static io.vertigrad.internal.membership.JobPhase.FINISHED;
import static io.vertigrad.internal.membership.JobPhase.FINISHING;
import static io.vertigrad.internal.membership.JobPhase.PAUSED;
import static io.vertigrad.internal.membership.JobPhase.RUNNING;
import static io.vertigrad.internal.membership.JobPhase.STOPPED;
import static io.vertigrad.internal.membership.JobPhase.WAITING;
import static io.vertigrad.internal.membership.Pauses.Reason.TOO_FEW;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.events.Vitals;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.Decision.Complete;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.Hung;
import io.vertigrad.internal.membership.Decision.Propose;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.Decision.RecordDivisions;
import io.vertigrad.internal.membership.Decision.Save;
import io.vertigrad.internal.membership.Decision.Stop;
import io.vertigrad.internal.membership.FailureDetector.RunningTimeClock;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.internal.membership.MemberStatus.EvaluatorStatus;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import io.vertigrad.strategy.StrategyTraits;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state machine of a job: its phase, its members and its progress; a plain object on one
 * thread.
 *
 * <p>Requests, answers and ticks go in, {@link Decision}s come out. {@link Transition} lists which
 * phase may follow which. Two switches say what happens in a phase: {@link #applyChanges} after
 * every change of the members and of what they report, {@link #checkLimits} at every tick.
 *
 * <p>A change of membership goes to every server first and is published when all have agreed.
 */
public final class CoordinatorState {

  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorState.class);

  /**
   * Ticks further apart than the suspicion limit divided by this mean that the process did not run.
   */
  private static final long FREEZE_SHARE = 2;

  /** A finished job without requests is stopped after this time. */
  private static final long RELEASE_MILLIS = 60_000;

  /** How long the start waits when only the evaluator is missing. */
  private static final long EVALUATOR_WAIT_MILLIS = 5_000;

  /**
   * A process that runs without joining prolongs the wait for the start up to this many times the
   * wait, because it may hang although it runs.
   */
  private static final int LONGEST_START_WAITS = 10;

  /**
   * With more workers than this, one membership is proposed in a tick, with all changes since the
   * last: it goes to every member and names every member.
   */
  private static final int WORKERS_OF_PROMPT_PROPOSALS = 64;

  private static final String READABLE =
      "set a checkpoint.directory there that has this run's checkpoints";

  private static final String BEFORE_FIRST_ROUND = "the job ends before its first round";

  private final CoordinatorConfig config;
  private final LongSupplier clockMillis;
  private final Consumer<Decision> decisions;
  private final CoordinatorEvents events;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final MembershipProposal proposal;
  private final FailureDetector failureDetector;
  private final Pauses pauses;
  private final EarlyStop earlyStop;
  private final BlockingTests tests;
  private final StallFinder stallFinder;
  private final CheckpointPlan checkpoints;
  private final RankAdoption adoption;
  private final Drains drains;
  private final ShardVersions versions;
  private final VersionChoice choice =
      new VersionChoice(() -> ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE));

  private final ConditionTimer startTimer;
  private final ConditionTimer evaluatorTimer;
  private final ConditionTimer proposalTimer;
  private final ConditionTimer shardTimer;
  private final ConditionTimer workerTimer;
  private final ConditionTimer endingTimer;
  private final ConditionTimer releaseTimer = new ConditionTimer(RELEASE_MILLIS);

  private JobPhase phase = WAITING;
  private Optional<EarlyEnd> earlyEnd = Optional.empty();
  private Optional<JobOutcome> outcome = Optional.empty();
  private final long createdMillis;
  private String ownNode = "";
  private boolean stopAnnounced;
  private Set<String> clusterNodes = Set.of();
  private final Set<String> unreadable = new HashSet<>();

  private Membership membership = Membership.NONE;
  private boolean membershipChanged;
  private boolean proposedInTick;
  private int timedEpoch;
  private OptionalLong rollbackVersion = OptionalLong.empty();
  private JobTerms terms;
  private ParameterLayout layout;
  private long endingProgress;
  private Optional<BatchDivisions> divisions = Optional.empty();

  /**
   * The transitions of a job; {@code docs/internals/architecture.md} shows them as a diagram. What
   * may come too early or too late, such as a user's request, is compared with the phase first: a
   * transition in a phase that it does not start from is a defect.
   */
  enum Transition {
    /** All members are present and ready. */
    START(RUNNING, WAITING),
    /** The user pauses the job. */
    PAUSE(PAUSED, RUNNING),
    /** The user resumes the job. */
    RESUME(RUNNING, PAUSED),
    /** A condition of the job file ends the job before its last version. */
    END_EARLY(ENDING, RUNNING, PAUSED),
    /** All steps are done. */
    CONCLUDE(FINISHING, RUNNING, PAUSED, ENDING),
    /** The final version was evaluated, or could not be. */
    FINISH(FINISHED, FINISHING),
    /** The job cannot go on. */
    FAIL(FAILED, WAITING, RUNNING, PAUSED, ENDING, FINISHING),
    /**
     * The user or the coordinator's process stops the job, or releases the members of an ended one.
     */
    STOP(STOPPED, WAITING, RUNNING, PAUSED, ENDING, FINISHING, FINISHED, FAILED);

    private final JobPhase to;
    private final Set<JobPhase> from;

    Transition(JobPhase to, JobPhase... from) {
      this.to = to;
      this.from = Set.of(from);
    }

    /** Returns the phase that the transition leads to. */
    JobPhase to() {
      return to;
    }

    /**
     * Returns the phase after this one.
     *
     * @throws IllegalStateException if the transition does not start from it
     */
    JobPhase after(JobPhase phase) {
      if (!from.contains(phase)) {
        throw new IllegalStateException(
            "%s: a job that is %s cannot be %s".formatted(this, phase, to));
      }
      return to;
    }

    /** Returns the phases that the transition starts from. */
    Set<JobPhase> from() {
      return from;
    }
  }

  /** Creates the state of a job without members; the time is this process's. */
  public static CoordinatorState of(
      JobConfig job, StrategyTraits traits, Consumer<Decision> decisions) {
    CoordinatorState state =
        new CoordinatorState(
            CoordinatorConfig.of(job, traits),
            () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()),
            System::currentTimeMillis,
            decisions);
    state.ownNode = job.cluster().nodeName(ProcessHandle.current().pid());
    return state;
  }

  /**
   * Creates the state of a job without members.
   *
   * @param clockMillis monotonic milliseconds, the base of all limits; a jump means that this
   *     process did not run, and its time is left out
   * @param wallMillis milliseconds since 1970, for events only
   * @param decisions called on the thread that owns this state
   */
  CoordinatorState(
      CoordinatorConfig config,
      LongSupplier clockMillis,
      LongSupplier wallMillis,
      Consumer<Decision> decisions) {
    this.config = config;
    this.decisions = decisions;
    terms = config.terms();
    registry = new MemberRegistry(config.names(), config.run().firstIncarnation());
    RunningTimeClock clock =
        new RunningTimeClock(
            clockMillis, Math.max(1, config.exchange().suspectMillis() / FREEZE_SHARE));
    this.clockMillis = clock;
    createdMillis = clock.getAsLong();
    events = new CoordinatorEvents(decisions, wallMillis);
    progress = new JobProgress(config, registry);
    proposal =
        new MembershipProposal(
            config.traits().lockstep(),
            config.places().rememberedRanks(),
            config.lastVersion(),
            config.firstEpoch());
    failureDetector = new FailureDetector(config, registry, events, clock);
    pauses = new Pauses(config, registry, events, clock, decisions);
    drains = new Drains(config, registry, pauses, events, clock, decisions);
    tests = new BlockingTests(config, registry, progress, pauses, events);
    stallFinder = new StallFinder(config, registry, progress, tests, events, clock);
    checkpoints = new CheckpointPlan(config, registry, events, pauses);
    adoption = new RankAdoption(config, registry, progress, drains, decisions);
    versions = new ShardVersions(events);
    earlyStop = new EarlyStop(config.stop(), clock.getAsLong());
    startTimer = new ConditionTimer(config.waitMillis());
    evaluatorTimer = new ConditionTimer(EVALUATOR_WAIT_MILLIS);
    proposalTimer = new ConditionTimer(config.exchange().evictMillis());
    shardTimer = new ConditionTimer(config.waitMillis());
    workerTimer = new ConditionTimer(config.waitMillis());
    endingTimer = new ConditionTimer(config.waitMillis());
  }

  // ---- Queries

  JobPhase state() {
    return phase;
  }

  /** Returns why the job is over; empty while it is not. */
  String endReason() {
    return outcome.map(end -> end.failure().orElse("finished")).orElse("");
  }

  /** Returns the membership that was published last. */
  Membership membership() {
    return membership;
  }

  /** Returns the published members of a role. */
  List<Admission> members(Role role) {
    return registry.of(role).stream()
        .filter(MemberRecord::published)
        .map(MemberRecord::admission)
        .toList();
  }

  /** Returns whether this is a member of the job. */
  boolean isHere(Admission member) {
    return registry.find(member).isPresent();
  }

  /** Returns whether no member is left. */
  public boolean isEmpty() {
    return registry.all().findAny().isEmpty();
  }

  /** Returns why a former member is no longer part of the job. */
  String leaveReason(Admission admission) {
    return registry.departures().leaveReason(admission);
  }

  /**
   * Returns the fingerprints of data and model files that members have shown, by what they are of.
   */
  public Map<String, DataFingerprint> fingerprints() {
    return terms.fingerprints();
  }

  /** Returns the names of members in messages. */
  MemberNames names() {
    return config.names();
  }

  /** Returns whether the workers hold the model, and keep its checkpoints. */
  boolean workersHoldModel() {
    return config.places().servers() == 0;
  }

  /** Returns the number of the model's parameters; 0 while no member has joined. */
  long parameters() {
    return layout == null ? 0 : layout.length();
  }

  /** Returns the name of the run, under which members keep their checkpoints. */
  String run() {
    return config.run().id().orElseThrow();
  }

  /** Returns for how many milliseconds the job waits for a missing member. */
  long waitMillis() {
    return config.waitMillis();
  }

  /** Returns whether a server continues from what it had in memory when it joined. */
  boolean continuesFromMemory(Admission server) {
    return server.role() == Role.SERVER
        && registry.find(server).filter(registry::hasNewestMemory).isPresent();
  }

  /**
   * Returns the version that a newly admitted server goes back to because all servers do; empty for
   * its newest version, and for other roles.
   */
  OptionalLong rollbackVersion(Role role) {
    return role == Role.SERVER ? rollbackVersion : OptionalLong.empty();
  }

  /** Returns the newest instruction on how far training may go. */
  Pause newestPause() {
    return pauses.newest();
  }

  /** Returns whether a worker, while all are held back, has come to the end of its steps. */
  boolean isAtRest(Admission worker, StepState state) {
    return pauses.isAtRest(worker, state);
  }

  /** Returns whether a server's answer to this proposal still counts. */
  boolean isPending(int epoch, int server) {
    return proposal.isPending(epoch, server);
  }

  /**
   * Returns whether the members are about to be released. One whose process is asked to end waits
   * for that, because the run is being saved.
   */
  public boolean stops() {
    return stopAnnounced || isConcluding();
  }

  /** Returns whether a member has been silent for long enough to look at the event loops. */
  public boolean awaitsHeartbeat() {
    return failureDetector.awaitsHeartbeat(clockMillis.getAsLong());
  }

  /** Returns whether servers hold the final model; a lost one may come back with it. */
  boolean servesModel() {
    return config.places().servers() > 0 && isConcluding();
  }

  // ---- Requests of members

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
    registry
        .substituteFor(request, config.places().workers())
        .filter(substitute -> !handsModelOver(substitute))
        .ifPresent(
            substitute -> removeLost(substitute, "its rank goes to a worker that has come for it"));
    registry
        .outdatedServerFor(request)
        .ifPresent(
            server ->
                removeLost(
                    server,
                    "another server has version %s of its shard in memory"
                        .formatted(request.holds().getAsLong())));
    checkOpen(request);
    checkTerms(request);
    checkReadable(request);
    checkCapacity(request);
    Map<String, DataFingerprint> known = terms.fingerprints();
    terms = terms.with(request.terms().fingerprints());
    MemberRecord newcomer = registry.admit(request, clockMillis.getAsLong());
    events.joined(newcomer, DataFingerprint.newTrainingData(known, terms.fingerprints()));
    startTimer.restart();
    request.holds().ifPresent(version -> recordVersions(request, version));
    membershipChanged = true;
    applyChanges();
    return newcomer.admission();
  }

  /**
   * Finds the member whose place this newcomer gets, if one is about to leave.
   *
   * @return the name of that member, for which the newcomer waits; empty if it may {@link #join}
   * @throws JoinException with the reason for the user, if it has other settings, data or model
   */
  Optional<String> standsBy(JoinRequest request) {
    if (!drainsMembers() || registry.withToken(request.token()).isPresent()) {
      return Optional.empty();
    }
    checkTerms(request);
    checkReadable(request);
    registry
        .substituteFor(request, config.places().workers())
        .filter(this::handsModelOver)
        .ifPresent(drains::relieve);
    Optional<String> leaving = drains.standsBy(request);
    leaving.ifPresent(name -> drains.check());
    return leaving;
  }

  /**
   * Returns whether a substitute has a part of the model that it hands over between two steps: if
   * it was only removed, all workers would go back.
   */
  private boolean handsModelOver(MemberRecord substitute) {
    return workersHoldModel() && substitute.published() && drainsMembers();
  }

  private void checkReadable(JoinRequest request) {
    if (!request.adopts() && unreadable.contains(request.node())) {
      throw JoinException.full(
          refusal(request) + "it can read no checkpoint of a lost rank; " + READABLE);
    }
  }

  /** Takes a heartbeat; returns false when the sender is not, or no longer, a member of the job. */
  boolean heartbeat(Admission from, MemberStatus status) {
    Optional<MemberRecord> record = registry.find(from);
    if (record.isEmpty()) {
      failureDetector.onFormerMember(from);
      return false;
    }
    boolean wasReady = record.get().ready();
    record.get().onStatus(status, clockMillis.getAsLong());
    progress.onStatus(from, status);
    if (status instanceof ServerStatus server && record.get().published()) {
      versions.record(from.rank(), server.version());
    }
    if (status instanceof EvaluatorStatus evaluator) {
      tests.onStatus(evaluator);
    }
    if (record.get().ready() != wasReady) {
      startTimer.restart();
      membershipChanged = true;
      applyChanges();
    }
    return true;
  }

  /**
   * Takes a worker's reply to pauses.
   *
   * @param number of the newest instruction that it had received
   * @param startedVersion version after the last step that it has started; 0 for none
   */
  void pauseReply(Admission from, long number, long startedVersion) {
    pauses.onReply(from, number, startedVersion);
    endTestsWhenEndIsKnown();
  }

  /**
   * Takes what a worker without servers can continue from.
   *
   * @return the state that all workers of the membership continue from; empty while reports are
   *     missing, and for another membership
   */
  Optional<Choice> choice(Candidates candidates) {
    boolean known = choice.isMade(membership);
    Optional<Choice> chosen = choice.report(membership, candidates);
    boolean isNew = !known && chosen.isPresent();
    boolean beginsAnew = isNew && chosen.get().from().equals(Optional.of(RunVersion.BEGINNING));
    List<MemberRecord> without =
        beginsAnew
            ? choice.withoutState().stream().flatMap(one -> registry.find(one).stream()).toList()
            : List.of();
    if (refuse(without)) {
      return Optional.empty();
    }
    if (isNew) {
      announceChoice(chosen.get(), without);
    }
    return chosen;
  }

  /**
   * Removes workers that came for a lost rank and can read no checkpoint of it: with them, all
   * would begin anew. Their processes wait until all do; a live worker's process takes the rank
   * first.
   *
   * @return false if there are none, or live processes cannot read the checkpoints either
   */
  private boolean refuse(List<MemberRecord> without) {
    List<MemberRecord> strangers = without.stream().filter(one -> !one.isSubstitute()).toList();
    strangers.forEach(
        one -> {
          unreadable.add(one.node());
          removeLost(one, "it can read no checkpoint of its rank; " + READABLE);
        });
    if (!strangers.isEmpty()) {
      applyChanges();
    }
    return !strangers.isEmpty();
  }

  private void announceChoice(Choice chosen, List<MemberRecord> without) {
    long known = progress.latestVersion();
    long version = chosen.from().map(RunVersion::version).orElse(known);
    String reason = "";
    if (version == 0) {
      unreadable.clear();
      reason =
          without.isEmpty()
              ? "no checkpoint is whole in all workers yet (checkpoint.seconds)"
              : StragglerReport.listed(without.stream().map(MemberRecord::describe).toList(), ", ")
                  + " can read no checkpoint of its rank; "
                  + READABLE;
    }
    if (version < known) {
      progress.wentBack(version);
      events.rolledBack(UpdatesCounted.NO_SERVER, known, version, reason);
    }
  }

  /** Returns what the choice of a state waits for. */
  String noChoiceReason() {
    List<String> missing =
        choice.missing(membership).stream()
            .map(rank -> config.names().of(Role.WORKER, rank))
            .toList();
    return "at membership epoch %s waits for %s"
        .formatted(membership.epoch(), StragglerReport.listed(missing, ", "));
  }

  /**
   * Divides the samples of rounds by speed; call it before the first request. Announces the newest
   * division if an earlier coordinator has made it.
   */
  void divide(BatchDivisions bySpeed) {
    divisions = Optional.of(bySpeed);
    List<BatchDivision> earlier = bySpeed.all();
    if (earlier.size() > 1) {
      BatchDivision newest = earlier.get(earlier.size() - 1);
      events.divided(newest.from(), newest.shares());
    }
  }

  /**
   * Takes a worker's question how the samples of a round are divided.
   *
   * @return empty while the division is not decided and recorded
   */
  Optional<BatchDivision> division(AskDivision question) {
    if (divisions.isEmpty()) {
      return Optional.empty();
    }
    BatchDivisions all = divisions.get();
    boolean wasRecorded = !all.isUnrecorded();
    List<Integer> before = all.newest();
    Optional<BatchDivision> division = all.report(membership, question);
    if (wasRecorded && all.isUnrecorded()) {
      decisions.accept(new RecordDivisions(all.all()));
      if (!all.newest().equals(before)) {
        events.divided(question.round(), all.newest());
      }
      division = all.report(membership, question);
    }
    return division;
  }

  /** Returns what a division waits for. */
  String noDivisionReason(AskDivision question) {
    if (divisions.isEmpty()) {
      return "divides no batches: workers.balance is \"equal\" there";
    }
    List<Integer> missing = divisions.get().missing(membership, question.round());
    return missing.isEmpty()
        ? "has not recorded the division of round %s".formatted(question.round())
        : "at round %s waits for %s"
            .formatted(
                question.round(),
                StragglerReport.listed(
                    missing.stream().map(rank -> config.names().of(Role.WORKER, rank)).toList(),
                    ", "));
  }

  /** Takes the end of recording divisions, whether it worked or not. */
  void divisionsRecorded() {
    divisions.ifPresent(BatchDivisions::onRecorded);
  }

  /** Announces the measurements of a member's process. */
  void health(Admission from, Vitals vitals) {
    registry.find(from).ifPresent(record -> events.health(record, vitals));
  }

  /** Removes a member that leaves by itself. */
  void leave(Admission from, LeaveReason reason, MemberStatus status) {
    progress.onStatus(from, status);
    // After the last step a failed test takes nothing from the model, which is still to be saved.
    boolean tests = from.role() == Role.EVALUATOR && phase == FINISHING;
    if (reason.kind() == LeaveReason.Kind.FAILS_JOB && !tests) {
      fail(config.names().of(from) + ": " + reason.detail());
    }
    registry.find(from).ifPresent(record -> remove(record, reason));
    applyChanges();
  }

  // ---- Requests of users

  /** Pauses the job; returns false when it does not run or is paused already. */
  boolean pause() {
    if (phase != RUNNING) {
      return false;
    }
    transition(Transition.PAUSE);
    pauses.pause();
    return true;
  }

  /** Resumes the job and admits newcomers again; returns false when it is not paused. */
  boolean resume() {
    if (phase != PAUSED) {
      return false;
    }
    transition(Transition.RESUME);
    membershipChanged = true;
    pauses.resume();
    return true;
  }

  /**
   * Asks the members of a process to leave while the job goes on; a repeated request changes
   * nothing. If the job is about to end they stay until then.
   *
   * @return false if none is a member, or the job has not begun, so that nothing is handed over
   */
  boolean drain(String node) {
    List<MemberRecord> leaving = registry.all().filter(one -> one.node().equals(node)).toList();
    if (drainsMembers()) {
      leaving.forEach(drains::ask);
      drains.check();
    }
    return phase != WAITING && !leaving.isEmpty();
  }

  /**
   * Finds the process of a member that a user asks to leave.
   *
   * @param member its name, as {@code worker 1} or {@code worker-1}
   * @throws IllegalArgumentException with the reason for the user, if it cannot leave
   */
  String nodeOf(String member) {
    String name = member.replace('-', ' ');
    Map<String, String> nodes = new LinkedHashMap<>();
    registry
        .all()
        .forEach(
            one -> nodes.put(config.names().of(one.admission().role(), one.rank()), one.node()));
    if (!nodes.containsKey(name)) {
      throw new IllegalArgumentException(
          "no member is \"%s\", expected one of %s"
              .formatted(member, StragglerReport.listed(List.copyOf(nodes.keySet()), ", ")));
    }
    if (nodes.get(name).equals(ownNode)) {
      throw new IllegalArgumentException(
          name
              + " runs in the process of the coordinator, which does not leave its job: stop the job");
    }
    return nodes.get(name);
  }

  /** Records that a member that leaves has saved its part of the model, with its last status. */
  void handedOver(Admission member, MemberStatus status) {
    drains.saved(member, status);
  }

  /** Records that a member that was to leave could not hand over, or has not left. */
  void notHandedOver(Admission member) {
    drains.failed(member);
  }

  /** Makes every server write a checkpoint now. */
  void save() {
    decisions.accept(
        new Save(registry.readyServers().stream().map(MemberRecord::admission).toList()));
  }

  /** Lets no worker start another step, for good; returns false when the job does not run. */
  boolean holdForGood() {
    if (stepsRemain()) {
      pauses.hold(Pauses.Reason.STOP, true);
    }
    return stepsRemain();
  }

  /**
   * Announces that the job is about to be stopped: no live worker's process is asked to play the
   * rank of a lost worker any more.
   */
  public void announceStop() {
    stopAnnounced = true;
    drains.clear();
  }

  /** Stops the job; releases the members if it has ended already. */
  public void stop(String reason) {
    if (phase == STOPPED) {
      return;
    }
    transition(Transition.STOP);
    if (outcome.isEmpty()) {
      events.stopped(reason);
      complete(failure(reason));
    }
    decisions.accept(new Stop(reason));
  }

  // ---- Answers of members to decisions

  /**
   * Records that a server accepted the proposed membership.
   *
   * @param answer where each worker goes on, as far as the server knows, and which versions it has
   */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    proposal.accepted(epoch, server, answer);
    if (stepsRemain()) {
      restartLateWorkers(answer.starts());
    }
    publishWhenAgreed();
  }

  /**
   * Takes the refusal of a server that has reached {@code version}, at or past a newcomer's first
   * round.
   */
  void refused(int epoch, int server, long version) {
    if (!proposal.isPending(epoch, server)) {
      return;
    }
    progress.updateVersion(version);
    if (progress.ended()) {
      registry
          .newWorkers()
          .forEach(worker -> removeLost(worker, "the job ended before its first round"));
    }
    proposal.doubleMargin();
    membershipChanged = true;
    applyChanges();
  }

  /** Announces the outcome of every update at a server; before {@link #concluded}. */
  void updates(int server, List<RankUpdates> ranks) {
    ranks.forEach(
        of ->
            events.updates(
                server,
                of,
                of.rank() < config.places().rememberedRanks() ? completedSteps(of.rank()) : 0));
  }

  /** Returns how many steps must be in the model now: those before a way back are repeated. */
  private long completedSteps(int rank) {
    return isConcluding()
        ? progress.steps(rank)
        : registry
            .at(Role.WORKER, rank)
            .flatMap(w -> w.step().stream().boxed().findFirst())
            .orElse(0L);
  }

  /** Returns whether all steps are taken. An interrupted job repeats some when it is resumed. */
  private boolean isConcluding() {
    return phase == FINISHING || phase == FINISHED;
  }

  /** Announces a server's last status and {@code counters}, before the job ends. */
  void onLastStatus(MemberStatus status) {
    progress.onStatus(status);
    events.lastCounters(status);
  }

  /** Announces, in a job without servers, how many of each rank's steps its replica holds. */
  void countReplicas() {
    if (config.places().servers() == 0) {
      Map<Integer, Long> held = new HashMap<>();
      registry
          .of(Role.WORKER)
          .forEach(worker -> held.put(worker.rank(), worker.version().orElse(0)));
      progress.versions().entrySet().stream()
          .filter(
              rank ->
                  isConcluding() && rank.getKey() < config.places().workers()
                      || held.containsKey(rank.getKey()))
          .forEach(
              rank -> {
                long now = held.getOrDefault(rank.getKey(), 0L);
                events.steps(rank.getKey(), isConcluding() ? rank.getValue() : now, now);
              });
    }
  }

  /**
   * Ends a job whose final version was evaluated, or could not be.
   *
   * @param statuses the last statuses of the servers, with their {@code counters}
   * @param silent servers that did not answer
   */
  void concluded(
      List<MemberStatus> statuses, List<Admission> silent, Optional<EvaluationResult> evaluation) {
    if (phase != FINISHING) {
      return;
    }
    statuses.forEach(progress::onStatus);
    statuses.forEach(events::lastCounters);
    countReplicas();
    finish(evaluation, silent.stream().map(config.names()::of).toList());
  }

  // ---- Observations of processes, tests and time

  /** Removes all members of a process that has ended. */
  public void onProcessEnded(String node, String how) {
    registry.all().filter(a -> a.node().equals(node)).forEach(gone -> removeLost(gone, how));
    applyChanges();
  }

  /**
   * Removes all members whose process has left the cluster.
   *
   * @param present the cluster's nodes, as this process sees them
   */
  public void onClusterNodes(Set<String> present) {
    if (!clusterNodes.containsAll(present)) {
      startTimer.restart();
    }
    clusterNodes = present;
    List<MemberRecord> gone = failureDetector.departed(present, clockMillis.getAsLong());
    gone.forEach(member -> removeLost(member, "its process has left the cluster"));
    if (!gone.isEmpty()) {
      applyChanges();
    }
  }

  /**
   * Records that a process that was started for a member runs. While it has no member yet, the wait
   * for the start begins anew, but not for ever.
   */
  public void onProcessRuns(String node) {
    boolean joined = registry.all().anyMatch(member -> member.node().equals(node));
    long waited = clockMillis.getAsLong() - createdMillis;
    if (!joined && waited < LONGEST_START_WAITS * config.waitMillis()) {
      startTimer.restart();
    }
  }

  /**
   * Records whether the event loops of this process run what is posted to them. Until they do, no
   * limit passes.
   */
  public void onEventLoops(boolean run) {
    failureDetector.onEventLoops(run);
  }

  /** Takes the result of a test of trained parameters; ends the job if it is good enough. */
  public void onTest(Evaluated test) {
    if (test.version() > 0 && test.version() < config.lastVersion()) {
      earlyStop.checkTest(test).ifPresent(this::endEarly);
    }
    tests.result(test.version());
  }

  /**
   * Checks all limits: suspects and evicts members, finds stalls, gives up waiting. Called a few
   * times a second.
   */
  public void tick() {
    long now = clockMillis.getAsLong();
    proposedInTick = false;
    for (MemberRecord silent : failureDetector.overdue(now)) {
      removeLost(silent, failureDetector.describeSilence(silent, now));
      failureDetector.onEvicted(silent, now);
    }
    failureDetector.hungProcesses(now).forEach(node -> decisions.accept(new Hung(node)));
    unresponsiveServers(now).forEach(server -> removeLost(server, "it answered no proposal"));
    earlyStop
        .checkTrainingTime(now, phase == RUNNING, progress.version())
        .ifPresent(this::endEarly);
    applyChanges();
    endTestsWhenEndIsKnown();
    checkLimits(now);
  }

  // ---- The state machine

  /** Changes the phase; nothing else does. */
  private void transition(Transition transition) {
    JobPhase next = transition.after(phase);
    LOG.debug("{}: the job was {} and is {}", transition, phase, next);
    phase = next;
  }

  /** Does what follows from a change of the members, or of what they reported, in each phase. */
  private void applyChanges() {
    switch (phase) {
      case WAITING -> startWhenComplete(clockMillis.getAsLong());
      case RUNNING, PAUSED -> concludeOrPropose();
      case ENDING -> {
        applyEarlyEnd();
        concludeOrPropose();
      }
      case FINISHING, FINISHED -> proposeChanges();
      case FAILED, STOPPED -> {}
    }
    holdWhileTooFew();
    if (drainsMembers()) {
      drains.check();
    } else {
      drains.clear();
    }
  }

  /** Checks the limits of each phase. */
  private void checkLimits(long now) {
    switch (phase) {
      case WAITING -> checkStart(now);
      case RUNNING -> checkTraining(now);
      case PAUSED -> checkPause(now);
      case ENDING -> checkEnding(now);
      case FINISHED -> checkRelease(now);
      case FINISHING, FAILED, STOPPED -> {}
    }
  }

  /** Returns whether the job trains, paused or not, and is not about to end. */
  private boolean isTraining() {
    return phase == RUNNING || phase == PAUSED;
  }

  /** Returns whether steps are left to take, paused or not. */
  private boolean stepsRemain() {
    return isTraining() || phase == ENDING;
  }

  /** Returns whether a member that leaves hands its place over: not once the job is to end. */
  private boolean drainsMembers() {
    return isTraining() && !stopAnnounced;
  }

  /** Returns whether members are replaced: while steps are left, then while servers are needed. */
  private boolean replacesMembers() {
    return stepsRemain() || servesModel();
  }

  // ---- Phase WAITING

  private void startWhenComplete(long now) {
    if (canStart(now)) {
      transition(Transition.START);
      membershipChanged = true;
      concludeOrPropose();
    }
  }

  /**
   * Returns whether the job can start: all servers and workers are ready, and the evaluator is
   * present or a short wait for it is over.
   */
  private boolean canStart(long now) {
    boolean ready =
        registry.readyServers().size() == config.places().servers()
            && registry.readyWorkers() >= config.places().workers();
    boolean waited = evaluatorTimer.exceeds(ready, now);
    return ready && (waited || registry.count(Role.EVALUATOR) >= config.places().evaluators());
  }

  private void checkStart(long now) {
    if (startTimer.exceeds(true, now)) {
      fail(notStartedMessage());
    }
  }

  private String notStartedMessage() {
    List<String> missing = new ArrayList<>();
    missing.add(registry.missing(Role.SERVER, config.places().servers()));
    missing.add(registry.missing(Role.WORKER, config.places().workers()));
    registry
        .all()
        .filter(a -> !a.ready())
        .forEach(a -> missing.add(config.names().of(a.admission()) + " (starting)"));
    missing.removeIf(String::isEmpty);
    String present =
        StragglerReport.listed(registry.all().map(MemberRecord::describe).toList(), "; ");
    return ("the job did not start within %s: missing %s; present: %s; start the missing ones, or"
            + " raise workers.waitSeconds, which counts from the last sign of a starting member")
        .formatted(
            startTimer.limitText(),
            StragglerReport.listed(missing, ", "),
            present.isEmpty() ? "nobody" : present);
  }

  // ---- Phases RUNNING and PAUSED

  private void concludeOrPropose() {
    if (progress.complete()) {
      conclude();
    }
    proposeChanges();
  }

  private void checkTraining(long now) {
    boolean trains = !pauses.isHeldFor(TOO_FEW);
    tests.check(trains, now);
    stallFinder.check(trains, now);
    checkpoints.check(trains, now);
    adoptRanks(now);
    adoption.failureReason().or(() -> missingTooLong(now)).ifPresent(this::fail);
  }

  /** Checks a paused job. Resuming it restarts the waits for members and for progress. */
  private void checkPause(long now) {
    tests.check(false, now);
    stallFinder.check(false, now);
    checkpoints.check(false, now);
    adoptRanks(now);
    shardTimer.restart();
    workerTimer.restart();
    adoption.failureReason().ifPresent(this::fail);
  }

  private void adoptRanks(long now) {
    // Samples of another node under the rank would count twice.
    if (!stopAnnounced && !terms.ownData()) {
      adoption.check(now);
    }
  }

  /** Returns why the job cannot go on, if a shard or too many workers were missing for too long. */
  private Optional<String> missingTooLong(long now) {
    if (shardTimer.exceeds(registry.readyServers().size() < config.places().servers(), now)) {
      return Optional.of(shardMissingMessage());
    }
    boolean tooFew =
        !progress.anyFinished() && registry.readyWorkers() < config.places().minimumWorkers();
    return workerTimer.exceeds(tooFew, now)
        ? Optional.of(workersMissingMessage())
        : Optional.empty();
  }

  private String shardMissingMessage() {
    String missing = registry.missing(Role.SERVER, config.places().servers());
    return "%s missing for %s and no replacement came (%s)"
        .formatted(
            missing.isEmpty() ? "a server that is still starting is" : missing + " is",
            shardTimer.limitText(),
            registry.departures());
  }

  private String workersMissingMessage() {
    return "%s of at least %s workers for %s (%s): %s"
        .formatted(
            registry.readyWorkers(),
            config.places().minimumWorkers(),
            workerTimer.limitText(),
            config.minimumReason(),
            registry.departures());
  }

  /**
   * Holds workers back while there are fewer than {@code workers.minimum}, or than a step needs, so
   * that no step averages over too few. The job stays in its phase. Does nothing when no worker is
   * left, nor in a pipeline, whose stages wait for each other anyway.
   */
  private void holdWhileTooFew() {
    long present = registry.readyWorkers();
    boolean tooFew =
        config.places().holdsWhenTooFew()
            && isTraining()
            && !progress.anyFinished()
            && present > 0
            && present < config.places().minimumWorkers();
    if (tooFew == pauses.isHeldFor(TOO_FEW)) {
      return;
    }
    if (tooFew && !drains.replacesWorker()) {
      events.stalled(
          progress.version(),
          0,
          registry.missing(Role.WORKER, config.places().workers()),
          "%s of at least %s workers (%s), none begins another step until more are there"
              .formatted(present, config.places().minimumWorkers(), config.minimumReason()),
          registry.departures().toString());
    }
    pauses.hold(TOO_FEW, tooFew);
  }

  // ---- Phase ENDING

  /**
   * Starts an early end and removes workers that are not yet part of the job; a job that has not
   * begun, or is about to end, takes no notice.
   */
  private void endEarly(EarlyEnd reason) {
    if (!isTraining()) {
      return;
    }
    transition(Transition.END_EARLY);
    earlyEnd = Optional.of(reason);
    events.ending(reason);
    registry.newWorkers().forEach(worker -> removeLost(worker, BEFORE_FIRST_ROUND));
    pauses.endEarly();
    endTestsWhenEndIsKnown();
    applyChanges();
  }

  /** Fixes the version of an early end and removes workers that would start after it. */
  private void applyEarlyEnd() {
    pauses.publishEnd();
    pauses
        .endsAt()
        .ifPresent(
            end ->
                registry.of(Role.WORKER).stream()
                    .filter(worker -> worker.activeFrom() > end)
                    .toList()
                    .forEach(worker -> removeLost(worker, BEFORE_FIRST_ROUND)));
  }

  /** Stops waiting for tests once every worker knows where the job ends, so that none passes it. */
  private void endTestsWhenEndIsKnown() {
    if (pauses.endKnownByAll()) {
      tests.end();
    }
  }

  private void checkEnding(long now) {
    tests.check(true, now);
    adoption
        .failureReason()
        .or(
            () ->
                endingTimer.exceeds(!hasProgressed(), now)
                    ? Optional.of(unfinishedMessage())
                    : Optional.empty())
        .ifPresent(this::fail);
  }

  /** Returns whether a worker has made progress since the last tick, and records the progress. */
  private boolean hasProgressed() {
    long now =
        registry.of(Role.WORKER).stream()
            .mapToLong(worker -> 1 + worker.version().orElse(0) + worker.tested())
            .sum();
    boolean progressed = now != endingProgress;
    endingProgress = now;
    return progressed;
  }

  private String unfinishedMessage() {
    String missing =
        StragglerReport.listed(
            registry.of(Role.WORKER).stream()
                .filter(worker -> !worker.ended())
                .map(MemberRecord::describe)
                .toList(),
            ", ");
    return "the job was to end early, but for %s nothing came of the steps that had begun; missing: %s"
        .formatted(endingTimer.limitText(), missing.isEmpty() ? "every worker" : missing);
  }

  // ---- Phases FINISHING and FINISHED

  /** The last version is reached: requests the result. */
  private void conclude() {
    transition(Transition.CONCLUDE);
    decisions.accept(
        new Conclude(
            registry.of(Role.SERVER).stream().map(MemberRecord::admission).toList(),
            registry.of(Role.EVALUATOR).stream().map(MemberRecord::admission).findFirst(),
            progress.version()));
  }

  /**
   * Ends the job with its result.
   *
   * @param silent names of servers whose last counters are not known
   */
  private void finish(Optional<EvaluationResult> evaluation, List<String> silent) {
    transition(Transition.FINISH);
    events.finished(progress);
    complete(
        new JobOutcome(
            phase,
            progress.version(),
            progress.samples(),
            evaluation,
            silent,
            earlyEnd,
            Optional.empty()));
  }

  private void checkRelease(long now) {
    if (releaseTimer.exceeds(true, now)) {
      stop("nobody asked for more after the end");
    }
  }

  /** Describes a server that came back after the last step without the final model. */
  private Optional<String> lostFinalModel() {
    return registry.rolledBackServers().stream()
        .filter(server -> servesModel() && config.traits().lockstep())
        .filter(server -> server.version().orElse(0) < progress.version())
        .findFirst()
        .map(
            server ->
                ("%s was lost after the last step, before version %s was on its disk, and its"
                        + " replacement is at version %s; the workers that could repeat the rest"
                        + " have left")
                    .formatted(server.describe(), progress.version(), server.version().orElse(0)));
  }

  // ---- Phases FAILED and STOPPED

  /** Ends a job that cannot go on; an earlier end stays. */
  private void fail(String reason) {
    if (phase.over()) {
      return;
    }
    transition(Transition.FAIL);
    events.failed(reason);
    complete(failure(reason));
    decisions.accept(new Stop(reason));
  }

  private JobOutcome failure(String reason) {
    return new JobOutcome(
        phase,
        progress.version(),
        progress.samples(),
        Optional.empty(),
        List.of(),
        Optional.empty(),
        Optional.of(reason));
  }

  private void complete(JobOutcome end) {
    outcome = Optional.of(end);
    decisions.accept(new Complete(end));
  }

  // ---- Admission

  private void checkOpen(JoinRequest request) {
    Role role = request.role();
    if (role == Role.SERVER && phase == FINISHED) {
      // The server's disk holds the final model, which may not have been read yet.
      return;
    }
    if (phase.over()) {
      String over = "the job is over: " + endReason();
      throw outcome.orElseThrow().state() == FINISHED
          ? JoinException.late(over)
          : new JoinException(over);
    }
    if (role == Role.WORKER && phase == ENDING) {
      throw JoinException.late("the job is about to end early");
    }
    boolean needed =
        progress.waitsForRanks() || progress.hasServerBehind() || holdsReplica(request);
    if (role == Role.WORKER && phase != WAITING && progress.ended() && !needed) {
      throw JoinException.late("the job has reached its last version, " + config.lastVersion());
    }
  }

  /**
   * Returns whether the final mean needs the replica of an evicted worker: without servers and
   * without rounds, each worker reaches the last version by itself, some much later than others.
   */
  private boolean holdsReplica(JoinRequest request) {
    return request.before().isPresent()
        && config.places().servers() == 0
        && !config.traits().lockstep();
  }

  /**
   * Compares settings, data and model. What nobody has shown before is that of the job from now on:
   * the layout, and the fingerprints of data and files.
   */
  private void checkTerms(JoinRequest request) {
    refuseOther(
        request,
        terms
            .firstDifference(request.terms())
            .map("its job file differs in %s; start it with the same file"::formatted));
    refuseOther(
        request,
        DataFingerprint.firstDifference(terms.fingerprints(), request.terms().fingerprints())
            .map(
                found ->
                    (terms.ownData() && found.startsWith(Split.TRAIN.fingerprint())
                            ? "its samples have another form than the job's, %s; only their number and their values may differ"
                            : "it has other data than the job, %s; give it the same files")
                        .formatted(found)));
    if (layout == null) {
      layout = request.layout();
    }
    refuseOther(
        request,
        layout
            .firstDifference(request.layout())
            .map("its model differs in %s; start it with the same model"::formatted));
  }

  private static void refuseOther(JoinRequest request, Optional<String> difference) {
    if (difference.isPresent()) {
      throw new JoinException(refusal(request) + difference.get());
    }
  }

  private void checkCapacity(JoinRequest request) {
    if (request.adopts() && registry.hasAllWorkers(config.places().workers())) {
      // The worker that was taken for lost is back, or another one has joined.
      throw JoinException.refused(
          refusal(request)
              + "all %s ranks of the job have a worker again".formatted(config.places().workers()));
    }
    int capacity = config.places().capacity(request.role());
    if (registry.count(request.role()) < capacity) {
      return;
    }
    String holders =
        registry.of(request.role()).stream()
            .limit(4)
            .map(MemberRecord::describe)
            .collect(Collectors.joining(", "));
    String full =
        "the job has all %s of its %ss (%s); it takes a place only when one is lost"
            .formatted(capacity, request.role().lower(), holders);
    throw JoinException.full(refusal(request) + full + samplerHint(request.role()));
  }

  private static String refusal(JoinRequest request) {
    return "%s at %s is refused: ".formatted(request.role().lower(), request.node());
  }

  /** Explains why no further worker fits: with a sampler, each worker has a share of the data. */
  private static String samplerHint(Role role) {
    return role == Role.WORKER
        ? ", because workers.sampler \"distributed\" cuts the data into workers.count shares; to"
            + " let any number join, start the job with workers.sampler=none"
        : "";
  }

  /** Records the version that a newcomer knows of shards that nobody serves yet. */
  private void recordVersions(JoinRequest request, long version) {
    // Without rounds, the shards of several servers have different versions.
    boolean comparable = config.traits().lockstep() || config.places().servers() == 1;
    if (request.role() == Role.WORKER && comparable) {
      IntStream.range(0, config.places().servers())
          .filter(shard -> servedBy(shard).isEmpty())
          .forEach(shard -> versions.record(shard, version));
    }
    registry
        .shardOf(request)
        .ifPresent(
            shard ->
                servedBy(shard)
                    .ifPresentOrElse(
                        server -> versions.announceGivenUp(server, version),
                        () -> versions.record(shard, version)));
  }

  private Optional<MemberRecord> servedBy(int shard) {
    return registry.of(Role.SERVER).stream()
        .filter(server -> server.rank() == shard && server.published())
        .findFirst();
  }

  // ---- Removal

  private void removeLost(MemberRecord record, String how) {
    remove(record, LeaveReason.lost(how));
  }

  private void remove(MemberRecord record, LeaveReason reason) {
    Admission gone = record.admission();
    registry.remove(record, reason);
    drains.onLeft(record);
    events.left(gone, reason.toString());
    if (gone.role() == Role.WORKER && reason.kind() == LeaveReason.Kind.FINISHED) {
      progress.workerFinished();
    }
    if (gone.role() == Role.WORKER) {
      adoption.onLeft(gone.rank(), reason);
    }
    if (gone.role() != Role.EVALUATOR) {
      membershipChanged = true;
    }
  }

  // ---- Changes of the membership, one at a time: proposed to all servers, in force when all agree

  private void proposeChanges() {
    boolean many = registry.count(Role.WORKER) > WORKERS_OF_PROMPT_PROPOSALS;
    if (!replacesMembers() || !membershipChanged || many && proposedInTick) {
      return;
    }
    membershipChanged = false;
    proposedInTick = true;
    unrestoredShard()
        .or(this::allWorkersFailed)
        .or(this::lostFinalModel)
        .ifPresentOrElse(this::fail, this::propose);
  }

  /** Describes a replacement server that restored nothing of a shard that had been trained. */
  private Optional<String> unrestoredShard() {
    long version = progress.version();
    return registry.readyServers().stream()
        .filter(server -> !server.published() && server.admission().incarnation() > 0)
        .filter(server -> version > 0 && !server.restored())
        .filter(server -> server.version().equals(OptionalLong.of(0)))
        .findFirst()
        .map(
            server ->
                ("shard %s was lost at version %s (%s) and its replacement at %s found no usable"
                        + " checkpoint; set checkpoint.every and a checkpoint.directory that"
                        + " the replacement can read")
                    .formatted(server.rank(), version, registry.departures(), server.node()));
  }

  private Optional<String> allWorkersFailed() {
    return registry.count(Role.WORKER) > 0
        ? Optional.empty()
        : registry
            .departures()
            .firstFailureIfAllFailed()
            .map("no worker is left, all have failed; the first was "::concat);
  }

  /** Asks every server to accept the members that are present; drops an unfinished proposal. */
  private void propose() {
    registry.rolledBackServers().stream()
        .filter(server -> !drains.carriesOn(server))
        .findFirst()
        .ifPresent(this::restartWorkers);
    registry.readyServers().stream()
        .filter(server -> !server.published())
        .forEach(versions::announceServing);
    // Newcomers wait for a missing server: only it knows where they start in its shard.
    boolean whole = registry.readyServers().size() == config.places().servers();
    boolean held = phase == PAUSED || phase == ENDING;
    boolean first = membership.epoch() == 0;
    Membership next =
        proposal.propose(registry, progress.version(), !first, whole && (!held || first));
    next.servers()
        .forEach(
            server ->
                decisions.accept(
                    new Propose(
                        next, new Admission(Role.SERVER, server.rank(), server.incarnation()))));
    publishWhenAgreed();
  }

  /**
   * A server has gone back to a checkpoint. Removes every worker; each joins again and repeats its
   * steps from the first one that the server needs.
   */
  private void restartWorkers(MemberRecord server) {
    String reason =
        "%s went back to version %s; joins again to repeat what is missing there"
            .formatted(server.describe(), server.version().orElse(0));
    registry.of(Role.WORKER).stream()
        .filter(worker -> worker.published() && worker.rank() < config.places().rememberedRanks())
        .toList()
        .forEach(worker -> removeLost(worker, reason));
    // The proposal that is about to be made leaves these workers out already.
    membershipChanged = false;
  }

  /**
   * Removes workers that started after a step that this server lacks, because only a lost server
   * had received it. They join again and start with that step.
   */
  private void restartLateWorkers(List<ProposalAnswer.Start> starts) {
    List<MemberRecord> late =
        starts.stream()
            .filter(start -> start.rank() < config.places().rememberedRanks())
            .flatMap(
                start ->
                    registry
                        .at(Role.WORKER, start.rank())
                        .filter(worker -> worker.published() && worker.firstStep() > start.step())
                        .stream())
            .toList();
    late.forEach(worker -> removeLost(worker, "a step before its first is missing; joins again"));
    if (!late.isEmpty()) {
      applyChanges();
    }
  }

  /** Returns the servers that left a proposal unanswered for the eviction limit. */
  private List<MemberRecord> unresponsiveServers(long now) {
    if (proposal.epoch() != timedEpoch) {
      timedEpoch = proposal.epoch();
      proposalTimer.restart();
    }
    if (!proposalTimer.exceeds(proposal.pending(), now)) {
      return List.of();
    }
    proposalTimer.restart();
    return registry.of(Role.SERVER).stream()
        .filter(server -> proposal.unanswered().contains(server.rank()))
        .toList();
  }

  private void publishWhenAgreed() {
    if (stepsRemain() && proposal.complete()) {
      // With a quorum, rounds go on while servers answer, so their versions may differ by more.
      // Compare them only while a server is new.
      boolean known = registry.readyServers().stream().allMatch(MemberRecord::published);
      // One round is normal, because some may have closed a round that others have not. It is too
      // much where a round needs all servers: one that came back may lack what others wait for.
      int apart = config.traits().sumsPartitions() ? 0 : 1;
      OptionalLong common = known ? OptionalLong.empty() : proposal.rollbackVersion(apart);
      if (common.isPresent()) {
        rollBack(common.getAsLong());
        return;
      }
      boolean all = registry.readyServers().size() == config.places().servers();
      rollbackVersion = all ? OptionalLong.empty() : rollbackVersion;
    }
    if (!replacesMembers() || !proposal.complete()) {
      return;
    }
    boolean first = membership.epoch() == 0;
    membership = proposal.finish(membership);
    registry.published(membership);
    if (first) {
      events.started(config, membership, parameters());
    }
    decisions.accept(new Publish(membership));
    drains.check();
  }

  /**
   * Removes all servers, so that each comes back at this version. One of them has gone back further
   * than repeated steps can make up; from a common version the job repeats the same rounds with
   * bit-identical results.
   */
  private void rollBack(long version) {
    rollbackVersion = OptionalLong.of(version);
    String reason =
        "all servers go back to version %s, which each of them has kept".formatted(version);
    List.copyOf(registry.of(Role.SERVER)).forEach(server -> removeLost(server, reason));
  }

  // ---- Rules with a state of their own

  /** The progress of a job, from what its members have reported. */
  static final class JobProgress {

    private final CoordinatorConfig config;
    private final MemberRegistry registry;
    private final Map<Integer, Long> steps = new HashMap<>();
    private final Map<Integer, Long> versions = new HashMap<>();
    private long version;
    private long latestVersion;
    private long samples;
    private boolean anyFinished;

    JobProgress(CoordinatorConfig config, MemberRegistry registry) {
      this.config = config;
      this.registry = registry;
    }

    /** Takes a member's status; for a worker also the progress of its rank. */
    void onStatus(Admission from, MemberStatus status) {
      onStatus(status);
      if (status instanceof WorkerStatus worker) {
        steps.merge(from.rank(), worker.step(), Math::max);
        versions.merge(from.rank(), worker.version(), Math::max);
        latestVersion = worker.version();
        samples = Math.max(samples, worker.samples());
      }
    }

    /** Takes version and samples of a status that has them. */
    void onStatus(MemberStatus status) {
      updateVersion(status.reached().orElse(0));
      if (status instanceof ServerStatus server) {
        samples = Math.max(samples, server.samples());
      }
    }

    void updateVersion(long reached) {
      version = Math.max(version, reached);
    }

    void workerFinished() {
      anyFinished = true;
    }

    /** Returns how many steps the workers of a rank have reported as completed. */
    long steps(int rank) {
      return steps.getOrDefault(rank, 0L);
    }

    /** Returns the highest version that the workers of each rank have reported. */
    SortedMap<Integer, Long> versions() {
      return new TreeMap<>(versions);
    }

    /** Returns the highest version of any partition that was reported. */
    long version() {
      return version;
    }

    /** Returns the version that a worker reported last, or all went back to since. */
    long latestVersion() {
      return latestVersion;
    }

    void wentBack(long to) {
      latestVersion = to;
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
    boolean ended() {
      return anyFinished || version >= config.lastVersion();
    }

    /**
     * Returns whether the end waits for a missing rank: without servers the final version is the
     * mean of all replicas. An early end takes the mean of those that are left.
     */
    boolean waitsForRanks() {
      return config.places().servers() == 0
          && registry.of(Role.WORKER).stream().noneMatch(MemberRecord::ended)
          && registry.readyWorkers() < config.places().minimumWorkers();
    }

    /**
     * Returns whether a server that went back to a checkpoint needs updates again, whatever version
     * others have reported.
     */
    boolean hasServerBehind() {
      return !anyFinished
          && registry.readyServers().stream()
              .anyMatch(
                  server -> server.restored() && server.version().orElse(0) < config.lastVersion());
    }

    /**
     * Returns whether all steps are done; without servers the workers stay, because they hold the
     * model.
     */
    boolean complete() {
      Collection<MemberRecord> workers = registry.of(Role.WORKER);
      return config.places().servers() > 0
          ? anyFinished && workers.isEmpty()
          : !workers.isEmpty()
              && !waitsForRanks()
              && workers.stream()
                  .allMatch(w -> w.ended() || w.version().orElse(0) >= config.lastVersion());
    }
  }

  /** A condition that is tolerated for a limited time. */
  private static final class ConditionTimer {

    private final long limitMillis;
    private long sinceMillis = Long.MIN_VALUE;

    ConditionTimer(long limitMillis) {
      this.limitMillis = limitMillis;
    }

    /** Returns whether the condition {@code holds} and has held without a break for the limit. */
    boolean exceeds(boolean holds, long nowMillis) {
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
    String limitText() {
      return limitMillis % 1_000 == 0 ? limitMillis / 1_000 + " s" : limitMillis + " ms";
    }
  }

  /** Compares test results and training time with the job's stop settings. */
  static final class EarlyStop {

    private static final double MILLIS_PER_MINUTE = 60_000;

    private final StopConfig config;
    private long trainedMillis;
    private long checkedMillis;

    /**
     * Starts the count of training time.
     *
     * @param nowMillis monotonic
     */
    EarlyStop(StopConfig config, long nowMillis) {
      this.config = config;
      checkedMillis = nowMillis;
    }

    /**
     * Returns an early end if this test is good enough; a test of the initial parameters never is.
     */
    Optional<EarlyEnd> checkTest(Evaluated test) {
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
    Optional<EarlyEnd> checkTrainingTime(long nowMillis, boolean trains, long version) {
      trainedMillis += trains ? nowMillis - checkedMillis : 0;
      checkedMillis = nowMillis;
      double minutes = trainedMillis / MILLIS_PER_MINUTE;
      return config.minutes().isPresent() && minutes >= config.minutes().getAsDouble()
          ? Optional.of(new EarlyEnd("minutes", config.minutes().getAsDouble(), minutes, version))
          : Optional.empty();
    }
  }

  /**
   * Chooses the versions at which all members write a checkpoint, when checkpoints are timed.
   *
   * <p>Members without common versions write theirs at once. Elsewhere, a version lies far enough
   * ahead that every member knows it before it gets there. A member that learns of it too late
   * writes none, and the job can then go back to the checkpoint before. The interval grows with the
   * cost of writing ({@link io.vertigrad.job.CheckpointConfig#intervalMillis}). Everything is
   * measured by what live members report: after a loss they repeat versions, which are saved again.
   */
  private static final class CheckpointPlan {

    /** Greatest age of the progress that members last reported. */
    private static final long LEAD_MILLIS = 2_000;

    /** Checkpoints so many times as far apart as the job file says are announced. */
    private static final double MISSED = 1.5;

    private final CoordinatorConfig config;
    private final MemberRegistry registry;
    private final CoordinatorEvents events;
    private final Pauses pauses;
    private final Deque<Long> chosen = new ArrayDeque<>();
    private long chosenVersion;
    private boolean trained;
    private long chosenMillis;
    private long checkedMillis;
    private long checkedVersion;
    private double versionsPerMilli;
    private long metMillis;
    private boolean announced;

    CheckpointPlan(
        CoordinatorConfig config,
        MemberRegistry registry,
        CoordinatorEvents events,
        Pauses pauses) {
      this.config = config;
      this.registry = registry;
      this.events = events;
      this.pauses = pauses;
    }

    /** Chooses the next version when it is time; called a few times a second. */
    void check(boolean trains, long nowMillis) {
      if (!config.checkpoint().isTimed()) {
        return;
      }
      List<MemberRecord> holders =
          registry.of(config.places().servers() > 0 ? Role.SERVER : Role.WORKER).stream()
              .filter(holder -> holder.published() && holder.version().isPresent())
              .toList();
      long version =
          holders.stream().mapToLong(holder -> holder.version().orElse(0)).max().orElse(0);
      if (!trains || !trained || holders.isEmpty()) {
        trained |= trains && !holders.isEmpty();
        // The version chosen now is written {@code LEAD_MILLIS} later, so the interval starts
        // earlier.
        chosenMillis = nowMillis - LEAD_MILLIS;
        metMillis = nowMillis;
        startMeasuring(nowMillis, version);
        return;
      }
      // Members write side by side, so their times are not added up.
      long cost = holders.stream().mapToLong(MemberRecord::saveMillis).max().orElse(0);
      announceMiss(cost, nowMillis);
      long interval = config.checkpoint().intervalMillis(cost);
      if (config.traits().stepsTogether()) {
        choose(version, interval, nowMillis);
      } else if (nowMillis - chosenMillis >= interval && version != chosenVersion) {
        save(version, nowMillis);
      }
    }

    private void startMeasuring(long nowMillis, long version) {
      checkedMillis = nowMillis;
      checkedVersion = version;
    }

    private void choose(long version, long intervalMillis, long nowMillis) {
      long every = config.traits().exchangesEvery();
      long ahead = 2 + (long) Math.ceil(versionsPerMilli * LEAD_MILLIS) + spread();
      long at = (version + ahead + every - 1) / every * every;
      chosen.removeIf(known -> known <= version);
      if (version < checkedVersion) {
        // All went back: what lay ahead before is far away now.
        chosen.removeIf(known -> known >= at);
        chosenVersion = chosen.isEmpty() ? Math.min(chosenVersion, version) : chosen.getLast();
        startMeasuring(nowMillis, version);
      } else if (nowMillis - checkedMillis >= LEAD_MILLIS) {
        versionsPerMilli = (version - checkedVersion) / (double) (nowMillis - checkedMillis);
        startMeasuring(nowMillis, version);
      }
      boolean due = nowMillis - chosenMillis >= intervalMillis && versionsPerMilli > 0;
      // Closer together, a worker that is ahead deletes what one behind has not written yet.
      boolean apart = at >= chosenVersion + Math.max(1, spread());
      if (due && apart && at < config.lastVersion() && chosen.size() < Pause.MOST_SAVES) {
        chosen.add(at);
        save(at, nowMillis);
      }
    }

    private void save(long at, long nowMillis) {
      pauses.save(at);
      chosenVersion = at;
      chosenMillis = nowMillis;
    }

    /** Returns how many steps a worker may be ahead of another one; 0 with servers. */
    private long spread() {
      return config.places().servers() == 0 ? config.places().workers() : 0;
    }

    /** Announces once that checkpoints are further apart than the job file says, and why. */
    private void announceMiss(long cost, long nowMillis) {
      long every = config.traits().stepsTogether() ? config.traits().exchangesEvery() : 1;
      long exchangeMillis =
          every > 1 && versionsPerMilli > 0 ? Math.round(every / versionsPerMilli) : 0;
      long writeMillis = config.checkpoint().intervalMillis(cost);
      long apartMillis = Math.max(exchangeMillis, writeMillis);
      if (apartMillis <= MISSED * 1_000 * config.checkpoint().seconds()) {
        metMillis = nowMillis;
      } else if (!announced && nowMillis - metMillis >= 2 * apartMillis + LEAD_MILLIS) {
        announced = true;
        events.checkpointsDelayed(
            apartMillis / 1_000.0,
            config.checkpoint().seconds(),
            writeMillis >= exchangeMillis
                ? "writing one costs %s ms, and at most 2 %% of the time goes to it; a faster disk helps"
                    .formatted(cost)
                : "workers write them after an exchange, every %s steps (strategy.syncEvery)"
                    .formatted(every));
      }
    }
  }

  /**
   * Gives the rank of a lost worker to another worker's process: that process starts a second
   * worker, which joins under the rank. A worker that comes later takes the rank over.
   *
   * <p>The process with the fewest workers is asked first. If the rank is still empty after {@value
   * #REQUEST_INTERVAL_MILLIS} ms, a process is asked again.
   */
  private static final class RankAdoption {

    /** A process that is restarted at once may be quicker than the command. */
    private static final long WAIT_MILLIS = 250;

    private static final long REQUEST_INTERVAL_MILLIS = 10_000;

    /** After so many failures of a rank's workers, the next one is expected to fail as well. */
    private static final int FAILURES = 3;

    private final CoordinatorConfig config;
    private final MemberRegistry registry;
    private final JobProgress progress;
    private final Drains drains;
    private final Consumer<Decision> decisions;
    private final Map<Integer, Long> nextRequestMillis = new HashMap<>();
    private final Map<Integer, Integer> failures = new HashMap<>();

    RankAdoption(
        CoordinatorConfig config,
        MemberRegistry registry,
        JobProgress progress,
        Drains drains,
        Consumer<Decision> decisions) {
      this.config = config;
      this.registry = registry;
      this.progress = progress;
      this.drains = drains;
      this.decisions = decisions;
    }

    /** Records that a worker left. */
    void onLeft(int rank, LeaveReason reason) {
      if (reason.kind() == LeaveReason.Kind.FAILED) {
        failures.merge(rank, 1, Integer::sum);
      }
    }

    /** Returns why a rank is given up; empty while none is. */
    Optional<String> failureReason() {
      return failures.entrySet().stream()
          .filter(rank -> rank.getValue() >= (losesModel() ? 1 : FAILURES))
          .findFirst()
          .map(
              rank ->
                  (losesModel()
                          ? "%s broke down (failure %s), and nothing was kept that a replacement could go"
                              + " on from: %s"
                          : "%s broke down %s times, its replacements included: %s")
                      .formatted(
                          config.names().of(Role.WORKER, rank.getKey()),
                          rank.getValue(),
                          registry.departures()));
    }

    /**
     * Returns whether a lost worker takes its part of the model with it: it is a pipeline stage and
     * writes no checkpoints. A replacement would silently start from the initial parameters.
     */
    private boolean losesModel() {
      return !config.places().holdsWhenTooFew() && !config.checkpoint().isOn();
    }

    /** Looks for ranks without a worker; called a few times a second while steps are left. */
    void check(long nowMillis) {
      if (progress.anyFinished()) {
        nextRequestMillis.clear();
        return;
      }
      Map<String, Integer> asked = new HashMap<>();
      for (int rank = 0; rank < config.places().workers(); rank++) {
        if (registry.has(Role.WORKER, rank)) {
          nextRequestMillis.remove(rank);
        } else if (nowMillis
            >= nextRequestMillis.computeIfAbsent(rank, r -> nowMillis + WAIT_MILLIS)) {
          nextRequestMillis.put(rank, nowMillis + REQUEST_INTERVAL_MILLIS);
          request(rank, asked.isEmpty() ? workersByProcess(asked) : asked);
        }
      }
    }

    /** Asks the process with the fewest workers, and counts the one that it will start. */
    private void request(int rank, Map<String, Integer> inProcess) {
      registry.of(Role.WORKER).stream()
          .filter(worker -> worker.published() && worker.ready())
          .filter(worker -> !drains.isLeaving(worker.admission()))
          .min(
              Comparator.comparingInt((MemberRecord worker) -> inProcess.get(worker.node()))
                  .thenComparingInt(MemberRecord::rank))
          .ifPresent(
              host -> {
                inProcess.merge(host.node(), 1, Integer::sum);
                decisions.accept(new Adopt(host.admission(), rank));
              });
    }

    private Map<String, Integer> workersByProcess(Map<String, Integer> counts) {
      registry.of(Role.WORKER).forEach(worker -> counts.merge(worker.node(), 1, Integer::sum));
      return counts;
    }
  }
}
