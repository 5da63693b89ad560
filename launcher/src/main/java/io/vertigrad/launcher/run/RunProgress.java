package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.observability.EventFold;
import io.vertigrad.observability.UpdateOutliers;
import io.vertigrad.run.RunView;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/**
 * A {@link RunView} with what only the terminal and the summary need: how long training has taken
 * on this machine, and at which pace it goes on. Single-threaded.
 */
public final class RunProgress {

  /** A run of this many steps ends when it is stopped. */
  public static final long ENDLESS = 1_000_000_000_000L;

  /** Scalar of a worker: the privacy that its updates have lost, see docs/guide/own-data.md. */
  private static final String EPSILON = "privacy.epsilon";

  private static final double NANOS = 1e9;

  private final LongSupplier nanoClock;
  private final int firstIncarnation;
  private final RunView view;
  private final ReplicasProgress replicas;
  private final OwnSamplesProgress own = new OwnSamplesProgress();
  private final UpdateOutliers outliers = new UpdateOutliers();
  private final Pace pace = new Pace();
  private double initialLoss = Double.NaN;
  private double worstLoss = Double.NaN;
  private double epsilon = Double.NaN;
  private boolean started;
  private long startedNanos;
  private long endedNanos;
  private boolean stopped;
  private long progressNanos;
  private long firstVersion;
  private long undoneVersion;
  private long refused;
  private boolean paused;
  private long pausedAtNanos;
  private long pausedNanos;
  private final EventFold fold =
      new EventFold()
          .on(WorkerProgress.class, this::progressed)
          .on(ServerProgress.class, server -> reached(server.version()))
          .on(PeerExchange.class, this::exchanged)
          .on(SamplesCounted.class, counted -> own.apply(counted))
          .on(ScalarReported.class, this::reported)
          .on(Evaluated.class, this::tested)
          .on(UpdateRefused.class, update -> refused++)
          .on(ShardRolledBack.class, this::rolledBack)
          .on(JobStarted.class, this::started)
          .on(MemberLeft.class, this::left)
          .on(JobFinished.class, this::finished)
          .on(JobPaused.class, this::paused)
          .on(JobResumed.class, this::resumed);

  /** Creates the progress of a new run; {@code nanoClock} returns monotonic time. */
  public RunProgress(LongSupplier nanoClock) {
    this(nanoClock, 0);
  }

  /**
   * Creates the progress of a run that this coordinator may resume: earlier training does not count
   * into its time. Members that kept running report earlier training once more.
   *
   * @param nanoClock returns monotonic time
   * @param firstIncarnation incarnation of the first members that this coordinator admits; 0 for a
   *     new run
   */
  public RunProgress(LongSupplier nanoClock, int firstIncarnation) {
    this.nanoClock = nanoClock;
    this.firstIncarnation = firstIncarnation;
    view = new RunView(firstIncarnation);
    replicas = new ReplicasProgress(view);
  }

  /** Processes the next event. */
  public void apply(TrainingEvent event) {
    view.apply(event);
    outliers.apply(event);
    fold.apply(event);
  }

  private void progressed(WorkerProgress worker) {
    reached(worker.version());
    if (worker.incarnation() >= firstIncarnation) {
      progressNanos = now();
      pace.reached(worker.version(), progressNanos);
      noteEnd(worker);
      worsen(worker.loss());
    }
  }

  private void exchanged(PeerExchange exchange) {
    replicas.apply(exchange);
  }

  private void reported(ScalarReported scalar) {
    own.apply(scalar);
    if (scalar.name().equals(EPSILON) && !(epsilon >= scalar.value())) {
      epsilon = scalar.value();
    }
  }

  private void tested(Evaluated tested) {
    initialLoss = tested.version() == 0 ? tested.loss() : initialLoss;
    worsen(tested.loss());
  }

  private void started(JobStarted start) {
    if (!started) {
      started = true;
      startedNanos = now();
    }
  }

  private void left(MemberLeft left) {
    if (left.role() == Role.WORKER) {
      endedNanos = left.finished() ? now() : endedNanos;
    }
  }

  private void finished(JobFinished finish) {
    endedNanos = endedNanos == 0 ? Math.max(startedNanos, progressNanos) : endedNanos;
  }

  private void paused(JobPaused pause) {
    if (!paused) {
      pausedAtNanos = now();
      paused = true;
    }
  }

  private void resumed(JobResumed resume) {
    if (paused) {
      pausedNanos = nanoClock.getAsLong() - pausedAtNanos;
      paused = false;
    }
  }

  private void rolledBack(ShardRolledBack back) {
    undoneVersion = Math.max(undoneVersion, back.known());
  }

  private void worsen(double loss) {
    worstLoss = worstLoss >= loss || Double.isNaN(loss) ? worstLoss : loss;
  }

  private void reached(long version) {
    firstVersion = firstVersion == 0 ? version : firstVersion;
  }

  /** Returns the state of the run by its events, without what depends on the time. */
  public RunView view() {
    return view;
  }

  /** Returns the workers whose updates do not fit those of the others. */
  public UpdateOutliers outliers() {
    return outliers;
  }

  /** Returns sentences about ranks that were taken by a node with other samples, each once. */
  public List<String> takeExchangedSamples() {
    return own.takeExchanged();
  }

  /** Returns the state of workers that exchange without a server. */
  ReplicasProgress replicas() {
    return replicas;
  }

  /** Returns what workers have that do not share their samples. */
  OwnSamplesProgress own() {
    return own;
  }

  /**
   * Returns how far workers that exchange without a server were apart when they were averaged last;
   * 0 before, and empty when they exchange with servers.
   */
  public OptionalDouble consensusDistance() {
    return replicas.present()
        ? OptionalDouble.of(replicas.consensusDistance())
        : OptionalDouble.empty();
  }

  /** Returns the loss of the parameters before the first step; NaN when they were not tested. */
  public double initialLoss() {
    return initialLoss;
  }

  /** Returns the highest loss that a worker or a test has reported; NaN before the first. */
  public double worstLoss() {
    return worstLoss;
  }

  /** Returns the highest epsilon that a worker's updates have; NaN if they have no noise. */
  double epsilon() {
    return epsilon;
  }

  /** Returns the highest version that any worker has seen. */
  public long version() {
    return view.workers().isEmpty() ? Math.max(view.version(), resumedAt()) : view.version();
  }

  /**
   * Returns the steps of the job so far, out of {@link JobStarted#steps()}. It never decreases,
   * whichever worker reported last. When each worker's step makes its own version, one step is that
   * many versions.
   */
  public long step() {
    return view.started().filter(job -> job.lastVersion() != 0).map(this::stepOf).orElse(0L);
  }

  /** Returns how many events have reported a refused update. */
  public long refused() {
    return refused;
  }

  /** Returns the highest version that the job went back from; 0 if it never did. */
  long undoneVersion() {
    return undoneVersion;
  }

  private long stepOf(JobStarted job) {
    if (job.steps() > 0 && job.lastVersion() % job.steps() == 0) {
      return Math.min(version(), job.lastVersion()) / (job.lastVersion() / job.steps());
    }
    double share = (double) Math.min(version(), job.lastVersion()) / job.lastVersion();
    return Math.round(share * job.steps());
  }

  /** Stops the clock before the job is ended, because later events are not training. */
  public void stopClock() {
    endedNanos = endedNanos == 0 ? now() : endedNanos;
    stopped = true;
  }

  /** Returns true when the job was stopped or failed; its members leave for that reason. */
  public boolean stopped() {
    return stopped || view.phase() == RunView.Phase.STOPPED || view.phase() == RunView.Phase.FAILED;
  }

  /**
   * Returns the samples applied: at the end as the servers counted them, until then as the workers
   * did.
   */
  public long samples() {
    return view.finished().map(JobFinished::samples).orElseGet(view::samples);
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
    if (!started) {
      return 0;
    }
    boolean running = view.finished().isEmpty() && !(stopped() && endedNanos != 0);
    return ((running ? now() : endedNanos) - startedNanos) / NANOS;
  }

  /**
   * Returns the estimated seconds to the last version. It is empty before an estimate is possible
   * (a fiftieth of the versions, or ten seconds), in a pause, and at the end.
   */
  public OptionalDouble secondsLeft() {
    return !started || endedNanos != 0 || stopped() || paused || endless()
        ? OptionalDouble.empty()
        : pace.secondsTo(view.started().orElseThrow().lastVersion(), now());
  }

  /** Returns true when the job has no last step. */
  private boolean endless() {
    return view.started().filter(job -> job.steps() >= ENDLESS).isPresent();
  }

  /** Returns the samples applied per second since this coordinator started the job. */
  public double samplesPerSecond() {
    boolean earlier = firstIncarnation > 0 && view.finished().isPresent() && version() > 0;
    double share = earlier ? 1 - (double) firstVersion / version() : 1;
    return seconds() == 0 ? 0 : share * samples() / seconds();
  }

  /** Returns the version at which this coordinator resumed the run; 0 for a run that it started. */
  public long resumedAt() {
    return firstIncarnation > 0 ? firstVersion : 0;
  }

  /** Returns how many gradients were applied at each staleness, over all workers. */
  public Map<Integer, Long> staleness() {
    Map<Integer, Long> histogram = new TreeMap<>();
    view.workers().forEach(w -> w.staleness().forEach((k, n) -> histogram.merge(k, n, Long::sum)));
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
    return view.workers().stream().mapToDouble(counter).sum();
  }

  /**
   * Stops the clock when the first worker reaches the last version. Workers that hold the model
   * stay in the job after their last step.
   */
  private void noteEnd(WorkerProgress worker) {
    if (started
        && endedNanos == 0
        && worker.version() >= view.started().orElseThrow().lastVersion()) {
      endedNanos = now();
    }
  }

  /** Returns the time without pauses; it does not advance while the job is paused. */
  private long now() {
    return paused ? pausedAtNanos : nanoClock.getAsLong() - pausedNanos;
  }
}
