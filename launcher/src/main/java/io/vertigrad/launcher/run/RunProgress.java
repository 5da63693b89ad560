package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.UpdateLedger;
import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/** Derives a run's progress from its events; single-threaded. */
public final class RunProgress {

  private static final double NANOS = 1e9;

  private final LongSupplier nanoClock;
  private final Map<String, WorkerProgress> workers = new TreeMap<>();
  private final Set<String> gone = new HashSet<>();
  private final Map<String, ServerProgress> servers = new TreeMap<>();
  private final ReplicasProgress replicas = new ReplicasProgress();
  private final UpdateLedger updates = new UpdateLedger();
  private final Pace pace = new Pace();
  private JobStarted started;
  private JobEnding ending;
  private JobFinished finished;
  private Evaluated evaluated;
  private Evaluated wholeTestSet;
  private double initialLoss = Double.NaN;
  private double worstLoss = Double.NaN;
  private long startedNanos;
  private long endedNanos;
  private boolean stopped;
  private long progressNanos;
  private boolean startedBefore;
  private int firstIncarnation;
  private long firstVersion;
  private boolean paused;
  private long pausedAtNanos;
  private long pausedNanos;

  /** Creates the progress of a new run; {@code nanoClock} returns monotonic time. */
  public RunProgress(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** Processes the next event. */
  public void apply(TrainingEvent event) {
    replicas.apply(event);
    updates.apply(event);
    if (event instanceof WorkerProgress worker && worker.incarnation() < firstIncarnation) {
      reached(worker.version());
    } else if (event instanceof WorkerProgress worker) {
      workers.put(worker.rank() + "." + worker.incarnation(), worker);
      progressNanos = now();
      reached(worker.version());
      pace.reached(worker.version(), progressNanos);
      noteEnd(worker);
      worsen(worker.loss());
    } else if (event instanceof ServerProgress server) {
      servers.put(server.shard() + "." + server.incarnation(), server);
      reached(server.version());
    } else if (event instanceof Evaluated tested) {
      evaluated = tested;
      wholeTestSet = tested.wholeTestSet() ? tested : wholeTestSet;
      initialLoss = tested.version() == 0 ? tested.loss() : initialLoss;
      worsen(tested.loss());
    } else if (event instanceof JobStarted start && started == null) {
      started = start;
      startedNanos = now();
    } else if (event instanceof MemberLeft left && left.role().equals("worker")) {
      gone.add(left.rank() + "." + left.incarnation());
      endedNanos = left.finished() ? now() : endedNanos;
    } else if (event instanceof JobEnding end && ending == null) {
      ending = end;
    } else if (event instanceof JobFinished finish && finished == null) {
      finished = finish;
      endedNanos = endedNanos == 0 ? Math.max(startedNanos, progressNanos) : endedNanos;
    } else if (event instanceof JobStopped || event instanceof JobFailed) {
      stopped = true;
    } else if (event instanceof JobPaused && !paused) {
      pausedAtNanos = now();
      paused = true;
    } else if (event instanceof JobResumed && paused) {
      pausedNanos = nanoClock.getAsLong() - pausedAtNanos;
      paused = false;
    }
  }

  /**
   * Marks the run as resumed: earlier training does not count into this coordinator's time. Members
   * that kept running report earlier training once more.
   *
   * @param incarnation of the first members that this coordinator admits
   */
  public void startedBefore(int incarnation) {
    startedBefore = true;
    firstIncarnation = incarnation;
  }

  private void worsen(double loss) {
    worstLoss = worstLoss >= loss || Double.isNaN(loss) ? worstLoss : loss;
  }

  private void reached(long version) {
    firstVersion = firstVersion == 0 ? version : firstVersion;
  }

  /** Returns the state of workers that exchange without a server. */
  public ReplicasProgress replicas() {
    return replicas;
  }

  /** Returns the outcome of every update, as far as the servers have reported it. */
  public UpdateLedger updates() {
    return updates;
  }

  public Optional<JobStarted> started() {
    return Optional.ofNullable(started);
  }

  public Optional<JobFinished> finished() {
    return Optional.ofNullable(finished);
  }

  /** Returns why the job ended before its last version, if it did. */
  public Optional<JobEnding> ending() {
    return Optional.ofNullable(ending);
  }

  /** Returns the newest evaluation. */
  public Optional<Evaluated> evaluated() {
    return Optional.ofNullable(evaluated);
  }

  /** Returns the newest evaluation on the whole test set. */
  public Optional<Evaluated> wholeTestSet() {
    return Optional.ofNullable(wholeTestSet);
  }

  /** Returns the loss of the parameters before the first step; NaN when they were not tested. */
  public double initialLoss() {
    return initialLoss;
  }

  /** Returns the highest loss that a worker or a test has reported; NaN before the first. */
  public double worstLoss() {
    return worstLoss;
  }

  /** Returns the highest version that any worker has seen. */
  public long version() {
    long seen =
        workers.values().stream().mapToLong(WorkerProgress::version).max().orElse(resumedAt());
    return finished == null ? seen : Math.max(seen, finished.version());
  }

  /**
   * Returns the steps of the job so far, out of {@link JobStarted#steps()}. It never decreases,
   * whichever worker reported last. When each worker's step makes its own version, one step is that
   * many versions.
   */
  public long step() {
    if (started == null || started.lastVersion() == 0) {
      return 0;
    }
    double share = (double) Math.min(version(), started.lastVersion()) / started.lastVersion();
    return Math.round(share * started.steps());
  }

  /** Stops the clock before the job is ended, because later events are not training. */
  public void stopClock() {
    endedNanos = endedNanos == 0 ? now() : endedNanos;
    stopped = true;
  }

  /** Returns true when the job was stopped or failed; its members leave for that reason. */
  public boolean stopped() {
    return stopped;
  }

  /** Returns the epoch of the worker that is furthest ahead. */
  public int epoch() {
    return workers.values().stream().mapToInt(WorkerProgress::epoch).max().orElse(0);
  }

  /**
   * Returns the samples applied: at the end as the servers counted them, until then as the workers
   * did.
   */
  public long samples() {
    return finished == null ? sum(workers.values(), WorkerProgress::samples) : finished.samples();
  }

  /** Returns true while no worker begins another step. */
  public boolean paused() {
    return paused;
  }

  /**
   * Returns the seconds of training without pauses, from the start until now. The time ends with
   * {@link #stopClock()} or when the last worker leaves a finished job.
   */
  public double seconds() {
    if (started == null) {
      return 0;
    }
    boolean running = finished == null && !(stopped && endedNanos != 0);
    return ((running ? now() : endedNanos) - startedNanos) / NANOS;
  }

  /**
   * Returns the estimated seconds to the last version. It is empty before an estimate is possible
   * (a fiftieth of the versions, or ten seconds), in a pause, and at the end.
   */
  public OptionalDouble secondsLeft() {
    return started == null || endedNanos != 0 || stopped || paused
        ? OptionalDouble.empty()
        : pace.secondsTo(started.lastVersion(), now());
  }

  /** Returns the samples applied per second since this coordinator started the job. */
  public double samplesPerSecond() {
    boolean earlier = startedBefore && finished != null && version() > 0;
    double share = earlier ? 1 - (double) firstVersion / version() : 1;
    return seconds() == 0 ? 0 : share * samples() / seconds();
  }

  /** Returns the version at which this coordinator resumed the run; 0 for a run that it started. */
  public long resumedAt() {
    return startedBefore ? firstVersion : 0;
  }

  /**
   * Returns the mean of the latest training losses of the present workers; NaN before the first.
   */
  public double trainingLoss() {
    boolean nobody = gone.containsAll(workers.keySet());
    return workers.entrySet().stream()
        .filter(worker -> nobody || !gone.contains(worker.getKey()))
        .map(Map.Entry::getValue)
        .filter(worker -> worker.samples() > 0)
        .mapToDouble(WorkerProgress::loss)
        .average()
        .orElse(Double.NaN);
  }

  /**
   * Returns the mean of the workers' latest training accuracies in percent; NaN before the first,
   * or when unknown.
   */
  public double trainingAccuracy() {
    return workers.values().stream()
        .filter(worker -> worker.samples() > 0)
        .mapToDouble(WorkerProgress::accuracy)
        .average()
        .orElse(Double.NaN);
  }

  /** Returns how many gradients were applied at each staleness, over all workers. */
  public Map<Integer, Long> staleness() {
    Map<Integer, Long> histogram = new TreeMap<>();
    workers
        .values()
        .forEach(w -> w.staleness().forEach((k, n) -> histogram.merge(k, n, Long::sum)));
    return histogram;
  }

  /** Returns the mean of {@link #staleness()}, 0 before the first gradient. */
  public double meanStaleness() {
    Map<Integer, Long> histogram = staleness();
    long count = histogram.values().stream().mapToLong(Long::longValue).sum();
    double total = 0;
    for (Map.Entry<Integer, Long> entry : histogram.entrySet()) {
      total += (double) entry.getKey() * entry.getValue();
    }
    return count == 0 ? 0 : total / count;
  }

  /** Returns the sum of a counter over all workers ever admitted. */
  public double ofWorkers(ToDoubleFunction<WorkerProgress> counter) {
    return workers.values().stream().mapToDouble(counter).sum();
  }

  /** Returns the sum of a counter over all servers ever admitted. */
  public long ofServers(ToLongFunction<ServerProgress> counter) {
    return sum(servers.values(), counter);
  }

  /**
   * Stops the clock when the first worker reaches the last version. Workers that hold the model
   * stay in the job after their last step.
   */
  private void noteEnd(WorkerProgress worker) {
    if (started != null && endedNanos == 0 && worker.version() >= started.lastVersion()) {
      endedNanos = now();
    }
  }

  /** Returns the time without pauses; it does not advance while the job is paused. */
  private long now() {
    return paused ? pausedAtNanos : nanoClock.getAsLong() - pausedNanos;
  }

  private static <T> long sum(Collection<T> values, ToLongFunction<T> counter) {
    return values.stream().mapToLong(counter).sum();
  }
}
