package io.vertigrad.run;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.BatchesDivided;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * The state of a run, computed from its events: phase, members, versions, samples, losses, tests
 * and the outcome of updates. Terminals, pages and trackers read it, so that all of them show the
 * same run; what only one of them shows is computed there.
 *
 * <p>Pass it every event of the run, in order. It reads no clock and does no I/O. Its size depends
 * on the number of ranks, not on the length of the run. Used by one thread.
 */
public final class RunView {

  private final int firstIncarnation;
  private final Map<MemberName, Member> members = new LinkedHashMap<>();
  private final Map<Integer, IncarnationReports<WorkerProgress>> workers = new TreeMap<>();
  private final Map<Integer, Long> samplesBefore = new HashMap<>();
  private final UpdateLedger updates = new UpdateLedger();
  private final Map<Integer, StreamTests> streams = new TreeMap<>();
  private final Map<MemberName, MemberVitals> vitals = new HashMap<>();
  private Phase phase = Phase.WAITING;
  private JobStarted started;
  private JobEnding ending;
  private JobFinished finished;
  private BatchesDivided divided;
  private Evaluated evaluated;
  private Evaluated wholeTestSet;
  private ReplicasAveraged averaged;
  private long version;
  private int epoch;

  /** The phases of a run. */
  public enum Phase {
    /** Members join. */
    WAITING,
    /** Workers take steps. */
    RUNNING,
    /** No worker begins another step. */
    PAUSED,
    /** The job has reached its last version, or the version at which it ends early. */
    FINISHED,
    /** The job was stopped early by a request. */
    STOPPED,
    /** The job cannot continue. */
    FAILED
  }

  /** The conditions of a member. */
  public enum Condition {
    /** It takes part. */
    UP,
    /** It takes part and has been silent for longer than the suspect limit. */
    SUSPECT,
    /** It left in good order. */
    LEFT,
    /** It failed or was evicted. */
    LOST
  }

  /**
   * The newest incarnation of one rank of a role.
   *
   * @param node name of its process, for display; empty if only reports of it have arrived, and not
   *     the event of its admission
   * @param reason why it left; empty for a member that takes part
   */
  public record Member(
      Role role, int rank, int incarnation, String node, Condition condition, String reason) {

    /**
     * Returns whether the member takes part; a suspected member does.
     *
     * @return false once it has left or was evicted
     */
    public boolean present() {
      return condition == Condition.UP || condition == Condition.SUSPECT;
    }
  }

  private record MemberName(Role role, int rank) {}

  /** Creates the view of a run before its first event. */
  public RunView() {
    this(0);
  }

  /**
   * Creates the view of a coordinator that resumes a run. Workers that kept running report the
   * training for an earlier coordinator once more; it counts as {@link #samplesBefore()} only.
   *
   * @param firstIncarnation incarnation of the first members that this coordinator admits; 0 for a
   *     run that it starts
   */
  public RunView(int firstIncarnation) {
    this.firstIncarnation = firstIncarnation;
  }

  /**
   * Processes the next event of the run.
   *
   * @param event any event; some kinds do not change the view
   */
  public void apply(TrainingEvent event) {
    updates.apply(event);
    if (event instanceof WorkerProgress worker) {
      progressed(worker);
    } else if (event instanceof ServerProgress server) {
      onReport(Role.SERVER, server.shard(), server.incarnation());
    } else if (event instanceof PeerExchange peer) {
      onReport(Role.WORKER, peer.rank(), peer.incarnation());
    } else if (event instanceof MemberVitals vitals) {
      onReport(vitals.role(), vitals.rank(), vitals.incarnation());
      this.vitals.put(new MemberName(vitals.role(), vitals.rank()), vitals);
    } else if (event instanceof Evaluated test) {
      evaluated = test;
      wholeTestSet = test.wholeTestSet() ? test : wholeTestSet;
    } else if (event instanceof StreamTested test) {
      streams.put(test.rank(), test.tests());
    } else if (event instanceof ReplicasAveraged newest) {
      averaged = newest;
    } else if (event instanceof MemberJoined joined) {
      joined(joined);
    } else if (event instanceof MemberSuspected silent) {
      Member member = member(silent.role(), silent.rank(), silent.incarnation());
      put(inCondition(member, Condition.SUSPECT, ""));
    } else if (event instanceof MemberLeft left) {
      Member member = member(left.role(), left.rank(), left.incarnation());
      Condition condition = left.inGoodOrder() ? Condition.LEFT : Condition.LOST;
      put(inCondition(member, condition, left.reason()));
    } else {
      applyToJob(event);
    }
  }

  private void applyToJob(TrainingEvent event) {
    if (event instanceof JobStarted start) {
      started = start;
      phase = Phase.RUNNING;
    } else if (event instanceof BatchesDivided newest) {
      divided = newest;
    } else if (event instanceof JobPaused) {
      phase = Phase.PAUSED;
    } else if (event instanceof JobResumed) {
      phase = Phase.RUNNING;
    } else if (event instanceof JobEnding end && ending == null) {
      ending = end;
    } else if (event instanceof JobFinished finish) {
      finished = finish;
      phase = Phase.FINISHED;
      version = Math.max(version, finish.version());
    } else if (event instanceof JobStopped) {
      phase = Phase.STOPPED;
    } else if (event instanceof JobFailed) {
      phase = Phase.FAILED;
    }
  }

  private void progressed(WorkerProgress worker) {
    if (worker.incarnation() < firstIncarnation) {
      samplesBefore.put(worker.rank(), worker.samples());
      return;
    }
    onReport(Role.WORKER, worker.rank(), worker.incarnation());
    workers
        .computeIfAbsent(worker.rank(), rank -> new IncarnationReports<>(RunView::sum))
        .put(worker.incarnation(), worker);
    version = Math.max(version, worker.version());
    epoch = Math.max(epoch, worker.epoch());
  }

  private void joined(MemberJoined event) {
    // Members are kept in the order in which they joined last.
    members.remove(new MemberName(event.role(), event.rank()));
    put(
        new Member(
            event.role(), event.rank(), event.incarnation(), event.node(), Condition.UP, ""));
  }

  /** Records a sign of life; a member that has left stays away until it joins again. */
  private void onReport(Role role, int rank, int incarnation) {
    Member member = member(role, rank, incarnation);
    if (incarnation > member.incarnation()) {
      put(new Member(role, rank, incarnation, "", Condition.UP, ""));
    } else if (incarnation == member.incarnation() && member.present()) {
      put(inCondition(member, Condition.UP, ""));
    }
  }

  private Member member(Role role, int rank, int incarnation) {
    return members.getOrDefault(
        new MemberName(role, rank), new Member(role, rank, incarnation, "", Condition.UP, ""));
  }

  private void put(Member member) {
    members.put(new MemberName(member.role(), member.rank()), member);
  }

  private static Member inCondition(Member member, Condition condition, String reason) {
    return new Member(
        member.role(), member.rank(), member.incarnation(), member.node(), condition, reason);
  }

  /**
   * Returns the phase of the run.
   *
   * @return the phase by the newest event
   */
  public Phase phase() {
    return phase;
  }

  /**
   * Returns the start of the job.
   *
   * @return the newest start; a run that was resumed has several
   */
  public Optional<JobStarted> started() {
    return Optional.ofNullable(started);
  }

  /**
   * Returns how the samples of a round are divided among the workers.
   *
   * @return empty while all workers have equal batches
   */
  public Optional<BatchesDivided> divided() {
    return Optional.ofNullable(divided);
  }

  /**
   * Returns why the job ends before its last version.
   *
   * @return empty while it does not
   */
  public Optional<JobEnding> ending() {
    return Optional.ofNullable(ending);
  }

  /**
   * Returns the end of a job that has reached its last version, or ended early in good order.
   *
   * @return empty before, and for a job that was stopped or failed
   */
  public Optional<JobFinished> finished() {
    return Optional.ofNullable(finished);
  }

  /**
   * Returns a member of which anything is known.
   *
   * @param role the member's role
   * @param rank the member's rank
   * @return its newest incarnation
   */
  public Optional<Member> member(Role role, int rank) {
    return Optional.ofNullable(members.get(new MemberName(role, rank)));
  }

  /**
   * Returns the members that were admitted and have not left.
   *
   * @return in the order in which they joined
   */
  public List<Member> members() {
    return members.values().stream()
        .filter(member -> member.present() && !member.node().isEmpty())
        .toList();
  }

  /**
   * Returns the members of one role that were admitted and have not left.
   *
   * @param role the role
   * @return in the order in which they joined
   */
  public List<Member> members(Role role) {
    return members().stream().filter(member -> member.role() == role).toList();
  }

  /**
   * Returns what a member has measured of its process.
   *
   * @param member a member, as {@link #member} returns it
   * @return its last report; empty before the first, and once it has left
   */
  public Optional<Vitals> vitals(Member member) {
    return Optional.ofNullable(vitals.get(new MemberName(member.role(), member.rank())))
        .filter(last -> member.present() && last.incarnation() == member.incarnation())
        .map(MemberVitals::vitals);
  }

  /**
   * Returns the counters of a worker.
   *
   * @param rank the worker's rank
   * @return its last report, with counters added up over all incarnations
   */
  public Optional<WorkerProgress> worker(int rank) {
    return Optional.ofNullable(workers.get(rank)).map(IncarnationReports::total);
  }

  /**
   * Returns the counters of all workers that have reported.
   *
   * @return one report for each rank, as {@link #worker} returns it, by rank
   */
  public List<WorkerProgress> workers() {
    return workers.values().stream().map(IncarnationReports::total).toList();
  }

  /**
   * Returns the counters of a server.
   *
   * @param shard the server's shard
   * @return its last report, with counters of updates added up over all incarnations
   */
  public Optional<ServerProgress> server(int shard) {
    return updates.server(shard);
  }

  /**
   * Returns the highest version that a worker has seen.
   *
   * @return at least the last version, once the job has finished; 0 before the first report
   */
  public long version() {
    return version;
  }

  /**
   * Returns the epoch of the worker that is furthest ahead.
   *
   * @return passes over the training set; 0 before the first report
   */
  public int epoch() {
    return epoch;
  }

  /**
   * Returns the number of samples that workers have trained on, as they report it. The servers'
   * count at the end is in {@link #finished()}.
   *
   * @return samples of all workers and incarnations
   */
  public long samples() {
    return workers().stream().mapToLong(WorkerProgress::samples).sum();
  }

  /**
   * Returns the number of samples that workers which kept running have trained on for an earlier
   * coordinator.
   *
   * @return 0 for a run that was not resumed
   */
  public long samplesBefore() {
    return samplesBefore.values().stream().mapToLong(Long::longValue).sum();
  }

  /**
   * Returns the mean of the latest training losses of the workers that take part, or of all workers
   * if none does. Workers without samples, such as the first stages of a pipeline, do not count.
   *
   * @return the loss; NaN before the first report
   */
  public double trainingLoss() {
    boolean nobody = reports().noneMatch(this::isCurrent);
    return mean(reports().filter(worker -> nobody || isCurrent(worker)), WorkerProgress::loss);
  }

  /**
   * Returns the mean of the latest training accuracies of all workers.
   *
   * @return the accuracy in percent; NaN before the first report, or if the model does not report
   *     it
   */
  public double trainingAccuracy() {
    return mean(reports(), WorkerProgress::accuracy);
  }

  /**
   * Returns the newest test.
   *
   * @return empty before the first
   */
  public Optional<Evaluated> evaluated() {
    return Optional.ofNullable(evaluated);
  }

  /**
   * Returns the newest test on the whole test set.
   *
   * @return empty before the first
   */
  public Optional<Evaluated> wholeTestSet() {
    return Optional.ofNullable(wholeTestSet);
  }

  /**
   * Returns the tests of the samples of a stream, which were tested before they were trained on.
   *
   * @return the tests of all workers; empty before the first, and without a stream
   */
  public Optional<StreamTests> stream() {
    return streams.values().stream().reduce(StreamTests::plus);
  }

  /**
   * Returns the newest average of the workers' parameters, in a job without servers.
   *
   * @return empty before the first
   */
  public Optional<ReplicasAveraged> averaged() {
    return Optional.ofNullable(averaged);
  }

  /**
   * Returns the outcome of every update, as far as the servers have reported it.
   *
   * @return the ledger, which follows later events
   */
  public UpdateLedger updates() {
    return updates;
  }

  /** Returns the newest report of each of the newest incarnations of all workers. */
  private Stream<WorkerProgress> reports() {
    return workers.values().stream().flatMap(reports -> reports.newest().values().stream());
  }

  /** Returns whether the member that reported takes part, and has not joined again since. */
  private boolean isCurrent(WorkerProgress report) {
    Member member = members.get(new MemberName(Role.WORKER, report.rank()));
    return member.present() && member.incarnation() == report.incarnation();
  }

  private static double mean(
      Stream<WorkerProgress> reports, ToDoubleFunction<WorkerProgress> figure) {
    return reports
        .filter(worker -> worker.samples() > 0)
        .mapToDouble(figure)
        .average()
        .orElse(Double.NaN);
  }

  private static WorkerProgress sum(WorkerProgress earlier, WorkerProgress later) {
    return new WorkerProgress(
        later.timeMillis(),
        later.rank(),
        later.incarnation(),
        Math.max(earlier.step(), later.step()),
        later.version(),
        later.epoch(),
        earlier.samples() + later.samples(),
        later.loss(),
        later.accuracy(),
        earlier.secondsComputing() + later.secondsComputing(),
        earlier.secondsExchanging() + later.secondsExchanging(),
        earlier.secondsWaitingForData() + later.secondsWaitingForData(),
        earlier.bytesSent() + later.bytesSent(),
        earlier.bytesSaved() + later.bytesSaved(),
        earlier.bytesReceived() + later.bytesReceived(),
        sum(earlier.staleness(), later.staleness()),
        sum(earlier.sentTo(), later.sentTo()),
        sum(earlier.receivedFrom(), later.receivedFrom()));
  }

  private static Map<Integer, Long> sum(Map<Integer, Long> earlier, Map<Integer, Long> later) {
    Map<Integer, Long> sums = new TreeMap<>(earlier);
    later.forEach((key, count) -> sums.merge(key, count, Long::sum));
    return sums;
  }
}
