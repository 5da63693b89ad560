package io.vertigrad.observability;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertigrad.run.RunView;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.run.RunView.Phase;
import io.vertigrad.run.ThroughputBook;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/**
 * The newest figures of a job, computed from its events, as meters and probes read them. Unknown
 * figures are NaN, unknown counters 0. Any thread may use it.
 */
final class JobStatus {

  private static final double PERCENT = 100;
  private static final int MOST_SCALARS = 128;
  private static final String INTERRUPTED = "interrupted";

  private final RunView view = new RunView();
  private final ThroughputBook book = new ThroughputBook();
  private final Map<Integer, Double> samplesPerSecond = new HashMap<>();
  private final Map<String, PredictorProgress> predictors = new HashMap<>();
  private final Map<ScalarName, Double> scalars = new HashMap<>();
  private final Map<Integer, WorkerProgress> firstOfWorkers = new HashMap<>();
  private final Map<Integer, ServerProgress> firstOfServers = new HashMap<>();
  private final EventFold fold =
      new EventFold()
          .on(WorkerProgress.class, this::progressed)
          .on(ServerProgress.class, this::progressed)
          .on(PredictorProgress.class, e -> predictors.put(e.predictor(), e))
          .on(ScalarReported.class, this::reported)
          .on(JobPaused.class, e -> samplesPerSecond.clear())
          .on(JobResumed.class, e -> book.resumed(e.timeMillis()))
          .on(MemberLeft.class, this::left)
          .on(JobStopped.class, e -> interrupted = e.interrupted());

  private boolean interrupted;
  private long version;
  private long samples;

  /** A member of the job, of any incarnation. */
  record MemberName(Role role, int rank) {}

  /** A scalar of one source. */
  record ScalarName(String name, String source) {

    static ScalarName of(ScalarReported scalar) {
      return new ScalarName(scalar.name(), scalar.source());
    }
  }

  /** Applies the next event of the job. */
  synchronized void apply(TrainingEvent event) {
    view.apply(event);
    version = Math.max(version, view.version());
    fold.apply(event);
  }

  private void progressed(WorkerProgress progress) {
    firstOfWorkers.putIfAbsent(progress.rank(), progress);
    double trained =
        firstOfWorkers.keySet().stream()
            .mapToDouble(rank -> workerTotal(rank, WorkerProgress::samples))
            .sum();
    samples = Math.max(samples, (long) trained);
    double rate = book.enter(List.of(progress)).workers().get(0).samplesPerSecond();
    samplesPerSecond.put(progress.rank(), rate);
  }

  private void progressed(ServerProgress server) {
    firstOfServers.putIfAbsent(server.shard(), server);
    version = Math.max(version, server.version());
    samples = Math.max(samples, (long) serverTotal(server.shard(), ServerProgress::samples));
  }

  private void reported(ScalarReported scalar) {
    if (tracks(scalar)) {
      scalars.put(ScalarName.of(scalar), scalar.value());
    }
  }

  private void left(MemberLeft left) {
    if (left.role() == Role.WORKER) {
      samplesPerSecond.remove(left.rank());
    }
  }

  /** Returns all phases, as {@code examples/metrics-bridge/README.md} lists them. */
  static List<String> phases() {
    return Stream.concat(Arrays.stream(Phase.values()).map(JobStatus::text), Stream.of(INTERRUPTED))
        .toList();
  }

  /** Returns the phase, one of {@link #phases}. */
  synchronized String phase() {
    return interrupted && view.phase() == Phase.STOPPED ? INTERRUPTED : text(view.phase());
  }

  private static String text(Phase phase) {
    return phase.name().toLowerCase(Locale.ROOT);
  }

  /** Returns whether workers take steps, or will after a pause. */
  synchronized boolean atWork() {
    return view.phase() == Phase.RUNNING || view.phase() == Phase.PAUSED;
  }

  /** Returns how many members of a role take part, suspected ones included. */
  synchronized int present(Role role) {
    return view.members(role).size();
  }

  /** Returns how many servers the job has; empty before its start. */
  synchronized OptionalInt servers() {
    return view.started().map(start -> OptionalInt.of(start.servers())).orElse(OptionalInt.empty());
  }

  /** Returns the highest version of any member. */
  synchronized long version() {
    return version;
  }

  synchronized int epoch() {
    return view.epoch();
  }

  synchronized long samples() {
    return samples;
  }

  /** Returns the samples per second of all workers, between the last two reports of each. */
  synchronized double samplesPerSecond() {
    return samplesPerSecond.values().stream().mapToDouble(Double::doubleValue).sum();
  }

  synchronized double trainingLoss() {
    return view.trainingLoss();
  }

  synchronized double started(ToDoubleFunction<JobStarted> figure) {
    return view.started().map(figure::applyAsDouble).orElse(Double.NaN);
  }

  synchronized double tested(ToDoubleFunction<Evaluated> figure) {
    return view.evaluated().map(figure::applyAsDouble).orElse(Double.NaN);
  }

  /** Returns the value of the last test, if the job's tests have this metric. */
  synchronized double tested(Metric metric) {
    return tested(test -> test.kind() == metric ? test.metricValue() : Double.NaN);
  }

  /** Returns the accuracy of the last test, 0 to 1. */
  synchronized double testAccuracy() {
    return tested(Evaluated::accuracy) / PERCENT;
  }

  /** Returns the share of right labels in the last test, 0 to 1, if that is its metric. */
  synchronized double testLabelAccuracy() {
    return tested(Metric.LABEL_ACCURACY) / PERCENT;
  }

  synchronized double averaged(ToDoubleFunction<ReplicasAveraged> figure) {
    return view.averaged().map(figure::applyAsDouble).orElse(Double.NaN);
  }

  /** Returns a figure of the tests of a stream, by its key in their JSON. */
  synchronized double stream(String key) {
    return view.stream()
        .map(tests -> tests.toJson().getValue(key))
        .filter(Number.class::isInstance)
        .map(found -> ((Number) found).doubleValue())
        .orElse(Double.NaN);
  }

  synchronized boolean isPresent(MemberName member) {
    return view.member(member.role(), member.rank()).filter(Member::present).isPresent();
  }

  /** Returns a figure of a member's process; NaN after the member has left. */
  synchronized double vital(MemberName member, Vital vital) {
    return view.member(member.role(), member.rank())
        .flatMap(view::vitals)
        .map(measured -> measured.value(vital))
        .orElse(Double.NaN);
  }

  /**
   * Returns a total of a worker over all of its incarnations that were seen here. In the process
   * that resumes a run it begins at 0, as Prometheus expects it: a total that continued from a
   * checkpoint would be lower than before, and Prometheus would add all of it once more.
   */
  synchronized double workerTotal(int rank, ToDoubleFunction<WorkerProgress> total) {
    return sinceFirst(
        firstOfWorkers.get(rank), WorkerProgress::incarnation, view.worker(rank), total);
  }

  /** Returns a figure of a worker's last report; NaN before the newest incarnation has reported. */
  synchronized double worker(int rank, ToDoubleFunction<WorkerProgress> figure) {
    return view.worker(rank)
        .filter(report -> isNewest(new MemberName(Role.WORKER, rank), report.incarnation()))
        .map(figure::applyAsDouble)
        .orElse(Double.NaN);
  }

  /** Returns a total of a server over all of its incarnations, as that of a worker. */
  synchronized double serverTotal(int shard, ToDoubleFunction<ServerProgress> total) {
    return sinceFirst(
        firstOfServers.get(shard), ServerProgress::incarnation, view.server(shard), total);
  }

  /**
   * Returns a total, less that of the first report if an earlier process has counted it.
   *
   * @param first null before the first report
   */
  private static <E> double sinceFirst(
      E first, ToIntFunction<E> incarnation, Optional<E> newest, ToDoubleFunction<E> total) {
    double before =
        first != null && incarnation.applyAsInt(first) > 0 ? total.applyAsDouble(first) : 0;
    return newest.map(total::applyAsDouble).orElse(before) - before;
  }

  /** Returns a figure of a server's last report; NaN before the newest incarnation has reported. */
  synchronized double server(int shard, ToDoubleFunction<ServerProgress> figure) {
    return view.server(shard)
        .filter(report -> isNewest(new MemberName(Role.SERVER, shard), report.incarnation()))
        .map(figure::applyAsDouble)
        .orElse(Double.NaN);
  }

  /** Returns a figure of a predictor's last report. */
  synchronized double predictor(String id, ToDoubleFunction<PredictorProgress> figure) {
    PredictorProgress report = predictors.get(id);
    return report == null ? Double.NaN : figure.applyAsDouble(report);
  }

  /** Returns whether there is a gauge for a scalar: for the first {@value #MOST_SCALARS}. */
  synchronized boolean tracks(ScalarReported scalar) {
    return scalars.size() < MOST_SCALARS || scalars.containsKey(ScalarName.of(scalar));
  }

  /** Returns the last value of a scalar. */
  synchronized double scalar(ScalarName name) {
    return scalars.getOrDefault(name, Double.NaN);
  }

  private boolean isNewest(MemberName member, int incarnation) {
    return view.member(member.role(), member.rank())
        .filter(newest -> newest.incarnation() == incarnation)
        .isPresent();
  }
}
