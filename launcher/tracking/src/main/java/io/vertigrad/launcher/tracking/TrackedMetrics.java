package io.vertigrad.launcher.tracking;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.run.RunView;
import io.vertigrad.run.ThroughputBook;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Turns a run's events into points of curves: workers' reports and scalars once a second, every
 * test at once. Single-threaded.
 */
final class TrackedMetrics {

  private static final long INTERVAL_MILLIS = 1_000;

  /** A schedule that depends on epochs has different factors at epoch 0 and at this epoch. */
  private static final double MANY_EPOCHS = 1e6;

  private final JobConfig job;
  private final RunView view;
  private final OptimizerConfig optimizer;
  private final double rateFactor;
  private final ThroughputBook throughput = new ThroughputBook();
  private final List<WorkerProgress> interval = new ArrayList<>();
  private final Map<String, ScalarReported> scalars = new LinkedHashMap<>();
  private long scalarsSince;

  /** By rank, samples of the steps before the first report to a coordinator that resumes a run. */
  private final Map<Integer, Long> samplesBefore = new HashMap<>();

  /** Tests of a stream that are no points yet. */
  private Optional<StreamTests> untold = Optional.empty();

  private long untoldMillis;
  private long streamedMillis;

  /** Samples that the workers had trained on at the end of the interval. */
  private long samples;

  /** Creates the curves of a run; {@code view} includes each event before it is recorded here. */
  TrackedMetrics(JobConfig job, RunView view) {
    this.job = job;
    this.view = view;
    this.optimizer = job.optimizer();
    boolean scaled =
        Boolean.TRUE.equals(job.strategy().settings().toJson().getValue("scaleLearningRate"));
    this.rateFactor = scaled ? job.workers().count() : 1;
  }

  /** Returns the points that this event completes; usually none. */
  List<Metric> record(TrainingEvent event) {
    if (event instanceof WorkerProgress worker) {
      return worker.samples() > 0 ? report(worker) : List.of();
    }
    if (event instanceof Evaluated tested) {
      return test(tested);
    }
    if (event instanceof ReplicasAveraged averaged) {
      return points(averaged.version(), averaged.timeMillis())
          .with("workers/consensus_distance", averaged.consensusDistance())
          .list();
    }
    if (event instanceof ScalarReported scalar) {
      return scalar(scalar);
    }
    if (event instanceof StreamTested) {
      boolean over = event.timeMillis() - streamedMillis >= INTERVAL_MILLIS;
      untold = view.stream();
      untoldMillis = event.timeMillis();
      return over ? stream() : List.of();
    }
    if (event instanceof JobResumed) {
      throughput.resumed(event.timeMillis());
    }
    return List.of();
  }

  /** Returns the points of the reports and scalars since the last points. */
  List<Metric> rest() {
    List<Metric> all = takeScalars();
    all.addAll(stream());
    all.addAll(workers());
    return all;
  }

  /** Returns the newest tests of a stream, accuracies in percent as those of other tests. */
  private List<Metric> stream() {
    streamedMillis = untoldMillis;
    Points points = points(view.version(), untoldMillis);
    untold.ifPresent(
        tests -> {
          String figure = tests.values() ? "rmse" : "accuracy";
          points
              .with("stream/" + figure, tests.asTest(tests.figure()))
              .with("stream/window_" + figure, tests.asTest(tests.windowFigure()));
        });
    untold = Optional.empty();
    return points.list();
  }

  private List<Metric> workers() {
    if (interval.isEmpty()) {
      return List.of();
    }
    WorkerProgress last = interval.get(interval.size() - 1);
    long version = interval.stream().mapToLong(WorkerProgress::version).max().orElseThrow();
    Points points = points(version, last.timeMillis());
    Map<Integer, List<WorkerProgress>> byRank =
        interval.stream()
            .collect(
                Collectors.groupingBy(WorkerProgress::rank, TreeMap::new, Collectors.toList()));
    List<Double> losses = new ArrayList<>();
    List<Double> accuracies = new ArrayList<>();
    byRank.forEach(
        (rank, reports) -> {
          double loss = reports.stream().mapToDouble(WorkerProgress::loss).average().orElse(0);
          losses.add(loss);
          accuracies.add(
              reports.stream().mapToDouble(WorkerProgress::accuracy).average().orElse(Double.NaN));
          points.with("workers/%s/loss".formatted(rank), loss);
        });
    points
        .with("train/loss", mean(losses))
        .with("train/accuracy", mean(accuracies))
        .with("train/samples_per_second", throughput.enter(interval).samplesPerSecond());
    learningRate(version).ifPresent(rate -> points.with("train/learning_rate", rate));
    interval.clear();
    return points.list();
  }

  private List<Metric> report(WorkerProgress worker) {
    boolean over =
        !interval.isEmpty()
            && worker.timeMillis() - interval.get(0).timeMillis() >= INTERVAL_MILLIS;
    List<Metric> points = over ? workers() : List.of();
    interval.add(worker);
    if (job.run().resumes() > 0) {
      samplesBefore.computeIfAbsent(worker.rank(), rank -> samplesBefore(worker));
    }
    samples =
        view.samples()
            + view.samplesBefore()
            + samplesBefore.values().stream().mapToLong(Long::longValue).sum();
    return points;
  }

  /** Returns the samples of the steps of a worker's rank that this report does not count. */
  private long samplesBefore(WorkerProgress worker) {
    return Math.max(0, worker.step() * job.workers().batch() - worker.samples());
  }

  /** Keeps the newest value of each scalar until the oldest report among them is a second old. */
  private List<Metric> scalar(ScalarReported scalar) {
    boolean over = scalar.timeMillis() - scalarsSince >= INTERVAL_MILLIS;
    List<Metric> points = over ? takeScalars() : List.of();
    if (scalars.isEmpty()) {
      scalarsSince = scalar.timeMillis();
    }
    String source = scalar.source().replace(' ', '_');
    scalars.put("scalars/%s/%s".formatted(scalar.name(), source), scalar);
    return points;
  }

  private List<Metric> takeScalars() {
    List<Metric> points = new ArrayList<>();
    scalars.forEach(
        (curve, newest) ->
            points.addAll(
                points(newest.version(), newest.timeMillis()).with(curve, newest.value()).list()));
    scalars.clear();
    return points;
  }

  private static List<Metric> test(Evaluated tested) {
    Points points =
        points(tested.version(), tested.timeMillis())
            .with("test/loss", tested.loss())
            .with("test/accuracy", isLabels(tested) ? Double.NaN : tested.accuracy());
    if (tested.kind() != io.vertigrad.compute.Metric.ACCURACY) {
      points.with("test/" + curve(tested.kind()), tested.metricValue());
    }
    return (tested.topK() > 0 ? points.with("test/top_accuracy", tested.topAccuracy()) : points)
        .list();
  }

  private static boolean isLabels(Evaluated tested) {
    return tested.kind() == io.vertigrad.compute.Metric.LABEL_ACCURACY;
  }

  private static String curve(io.vertigrad.compute.Metric kind) {
    return kind.label().replace(' ', '_').toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the learning rate of the next update; empty when it depends on epochs and the number of
   * samples is unknown.
   */
  private OptionalDouble learningRate(long version) {
    double factor =
        optimizer
            .schedule()
            .factor(version, (double) samples / Math.max(1, job.trainingSamples().orElse(1)));
    boolean known =
        job.trainingSamples().isPresent()
            || optimizer.schedule().factor(version, 0)
                == optimizer.schedule().factor(version, MANY_EPOCHS);
    return known
        ? OptionalDouble.of(optimizer.learningRate() * rateFactor * factor)
        : OptionalDouble.empty();
  }

  private static double mean(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).average().orElse(Double.NaN);
  }

  private static Points points(long step, long timeMillis) {
    return new Points(step, timeMillis, new ArrayList<>());
  }

  /** Points of several curves at one step; values that are not finite are left out. */
  private record Points(long step, long timeMillis, List<Metric> list) {

    Points with(String name, double value) {
      if (Double.isFinite(value)) {
        list.add(new Metric(name, step, timeMillis, value));
      }
      return this;
    }
  }
}
