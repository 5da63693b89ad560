package io.vertigrad.launcher.run;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.observability.EventFold;
import io.vertigrad.run.RunView;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyProviders;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Writes one line for each epoch, as the coordinators of published programs log it. Four columns
 * are separated by spaces: epoch from 0, seconds of training so far, training loss, test accuracy
 * in percent. The loss is the mean over the workers of their mean losses in the epoch. RMSE,
 * perplexity or label accuracy replaces the accuracy where the test reports it; {@code
 * evaluator.topK} adds the top-k accuracy.
 *
 * <p>The seconds are those of the slowest worker of each epoch, from each batch to the next
 * parameters; tests and pauses are excluded. An accuracy is that of the version at which the epoch
 * ended, {@code nan} when that version was not tested. Single-threaded.
 */
public final class EpochLog implements AutoCloseable {

  private static final int TESTS_KEPT = 16;

  private final Path file;
  private final JobConfig job;
  private final EvaluationPlan plan;
  private final Consumer<String> onProblem;
  private final RunView view;
  private final TreeMap<Long, Open> open = new TreeMap<>();
  private final TreeMap<Long, Evaluated> tests = new TreeMap<>();
  private final EventFold fold =
      new EventFold()
          .on(EpochTrained.class, this::trained)
          .on(Evaluated.class, this::tested)
          .on(EvaluationSkipped.class, skipped -> tested(skipped.version()));

  private long newestTest;

  /** Number of the newest epoch whose line is written, from 1. */
  private long written;

  private double seconds;
  private boolean full;

  /** An epoch whose line is not written yet. */
  private record Open(long version, Map<Integer, EpochTrained> reports) {}

  /**
   * Opens the log.
   *
   * @param view the run, which includes each event before it is recorded here
   * @param onProblem called once when no more can be written; the run continues
   */
  public EpochLog(Path file, JobConfig job, RunView view, Consumer<String> onProblem) {
    this.file = file;
    this.job = job;
    this.view = view;
    this.plan =
        EvaluationPlan.of(
            job,
            StrategyProviders.configure(job.strategy(), EpochLog.class.getClassLoader()).traits());
    this.onProblem = onProblem;
    goOn();
  }

  /** Continues the file that an earlier coordinator of the run has written. */
  private void goOn() {
    if (!Files.exists(file)) {
      return;
    }
    try {
      for (String line : Files.readAllLines(file)) {
        String[] words = line.split(" ");
        written = Long.parseLong(words[0]) + 1;
        seconds = Double.parseDouble(words[1]);
      }
    } catch (IOException | NumberFormatException | ArrayIndexOutOfBoundsException e) {
      onProblem.accept("%s: cannot be read: %s; epochs are counted anew".formatted(file, e));
    }
  }

  /** Processes the next event; writes the lines that it completes. */
  public void record(TrainingEvent event) {
    fold.apply(event);
    writeComplete();
  }

  private void trained(EpochTrained report) {
    if (report.epoch() > written) {
      open.computeIfAbsent(report.epoch(), epoch -> new Open(report.version(), new HashMap<>()))
          .reports()
          .put(report.rank(), report);
    }
  }

  private void tested(Evaluated test) {
    tests.putIfAbsent(test.version(), test);
    tested(test.version());
    if (tests.size() > TESTS_KEPT) {
      tests.pollFirstEntry();
    }
  }

  private void tested(long version) {
    newestTest = Math.max(newestTest, version);
  }

  /** Writes the lines of the epochs that still lack a report or a test. */
  @Override
  public void close() {
    while (!open.isEmpty()) {
      writeFirst();
    }
  }

  /**
   * Writes complete epochs in order. An epoch that still lacks a report gets its line with the next
   * complete one at the latest.
   */
  private void writeComplete() {
    long complete =
        open.descendingMap().entrySet().stream()
            .filter(epoch -> isComplete(epoch.getValue()))
            .mapToLong(Map.Entry::getKey)
            .findFirst()
            .orElse(0);
    while (!open.isEmpty() && open.firstKey() <= complete) {
      writeFirst();
    }
  }

  private boolean isComplete(Open epoch) {
    int reporters = job.pipeline().isPresent() ? job.replicas() : view.members(Role.WORKER).size();
    boolean awaited = job.evaluator().count() > 0 && plan.isDue(epoch.version());
    return epoch.reports().size() >= reporters && (!awaited || newestTest >= epoch.version());
  }

  private void writeFirst() {
    Map.Entry<Long, Open> first = open.pollFirstEntry();
    Open epoch = first.getValue();
    written = first.getKey();
    seconds += epoch.reports().values().stream().mapToDouble(EpochTrained::seconds).max().orElse(0);
    StringBuilder line = new StringBuilder();
    line.append(format("%d %.3f %.4f", written - 1, seconds, loss(epoch)));
    Evaluated test = tests.get(epoch.version());
    line.append(' ').append(test == null ? "nan" : figure(test));
    if (job.evaluator().topK() > 0) {
      line.append(' ').append(test == null ? "nan" : format("%.2f", test.topAccuracy()));
    }
    append(line.append(System.lineSeparator()).toString());
  }

  /** Returns the test's figure; percentages have no sign here. */
  private static String figure(Evaluated test) {
    double value = test.kind() == Metric.ACCURACY ? test.accuracy() : test.metricValue();
    return test.kind().figure(value).replace(" %", "");
  }

  /**
   * Returns the mean loss. Each worker counts once, whatever its share of the samples, as in the
   * published program.
   */
  private static double loss(Open epoch) {
    return epoch.reports().values().stream()
        .mapToDouble(EpochTrained::loss)
        .average()
        .orElse(Double.NaN);
  }

  private void append(String line) {
    if (full) {
      return;
    }
    try {
      Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      full = true;
      onProblem.accept(
          "%s: no more can be written: %s; training goes on".formatted(file, e.getMessage()));
    }
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
