package io.vertigrad.benchmarks.runlist;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunRecorder;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Measures what {@code vertigrad ui} does to list 200 finished runs and to read the curves of all
 * of them on two threads: for the first time in its process, after every file has changed, and
 * without {@code curves.json}.
 */
public final class RunsBenchmark implements Benchmark {

  private static final int RUNS = 200;
  private static final int EVENTS = 10_000;
  private static final int READERS = 2;
  private static final double NANOS_PER_MILLI = 1e6;

  @Override
  public String name() {
    return "runs";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    Path folder = Files.createTempDirectory("vertigrad-runs");
    List<String> names = Stream.iterate(0, i -> i + 1).limit(RUNS).map(i -> "run-" + i).toList();
    Path first = folder.resolve(names.get(0));
    make(first);
    for (String name : names.subList(1, names.size())) {
      copy(first, folder.resolve(name));
    }
    long bytes = Files.size(first.resolve("events.jsonl"));
    ExecutorService readers = Executors.newFixedThreadPool(READERS);
    try {
      RunList runs = new RunList(folder);
      report.add(row("list", List.of(millis(runs::list))));
      report.add(row("list again", repeat(quick ? 3 : 20, runs::list)));
      Callable<?> overlay = () -> overlay(runs, names, readers);
      report.add(row("curves", List.of(millis(overlay))));
      report.add(row("curves again", repeat(quick ? 3 : 20, overlay)));
      List<Double> changed = new ArrayList<>();
      for (int i = 0; i < (quick ? 2 : 10); i++) {
        touch(folder, names, i);
        changed.add(millis(overlay));
      }
      report.add(row("curves, all files changed", changed));
      List<Double> unsaved = new ArrayList<>();
      for (String name : names) {
        Files.delete(new RunDirectory(folder.resolve(name)).curves());
      }
      for (int i = 0; i < (quick ? 2 : 5); i++) {
        touch(folder, names, 100 + i);
        unsaved.add(millis(overlay));
      }
      report.add(row("curves, all files changed, without curves.json", unsaved));
    } finally {
      readers.shutdownNow();
      for (String name : names) {
        new RunDirectory(folder.resolve(name)).delete();
      }
      Files.delete(folder);
    }
    report.remark(
        String.format(
            Locale.ROOT,
            "%d runs of %,d events, %,d bytes each, in the cache of the operating system; %d threads.",
            RUNS,
            EVENTS,
            bytes,
            READERS));
  }

  private static Void overlay(RunList runs, List<String> names, ExecutorService readers)
      throws Exception {
    List<Future<?>> curves = new ArrayList<>();
    for (String name : names) {
      curves.add(readers.submit(() -> runs.curves(name, () -> false)));
    }
    for (Future<?> read : curves) {
      read.get();
    }
    return null;
  }

  private static BenchmarkRow row(String name, List<Double> millis) {
    return BenchmarkRow.of(name, "ms", Repetitions.of(millis));
  }

  private static List<Double> repeat(int times, Callable<?> action) throws Exception {
    List<Double> millis = new ArrayList<>();
    for (int i = 0; i < times; i++) {
      millis.add(millis(action));
    }
    return millis;
  }

  private static double millis(Callable<?> action) throws Exception {
    long begun = System.nanoTime();
    action.call();
    return (System.nanoTime() - begun) / NANOS_PER_MILLI;
  }

  private static void touch(Path folder, List<String> names, int round) throws IOException {
    for (String name : names) {
      Files.setLastModifiedTime(
          folder.resolve(name).resolve("events.jsonl"), FileTime.fromMillis(1_000L * (round + 1)));
    }
  }

  /** Makes the folder of a run with the mixture of events of a job of two workers. */
  private static void make(Path run) throws IOException {
    Files.createDirectory(run);
    Files.writeString(
        run.resolve("job.json"), JobConfig.read("runs", new JsonObject()).json().encodePrettily());
    List<TrainingEvent> events = new ArrayList<>();
    long now = 1_700_000_000_000L;
    events.add(new JobStarted(now, "sync", 2, 1, 1_960, 100_000, 100_000));
    int version = 0;
    while (events.size() < EVENTS) {
      now += 1_000;
      version += 60;
      for (int rank = 0; rank < 2; rank++) {
        events.add(progress(now, rank, version));
      }
      events.add(new ServerProgress(now, 0, 0, version, 128L * version, 2L * version, 0, 0, 0, 0));
      for (int rank = 0; rank < 4; rank++) {
        events.add(
            new MemberVitals(
                now,
                Role.WORKER,
                rank,
                0,
                "127.0.0.1 pid 17605",
                new Vitals(
                    Map.of(
                        Vital.CORES,
                        0.7201984535646736,
                        Vital.PROCESSORS,
                        2.0,
                        Vital.HEAP,
                        103_047_352.0,
                        Vital.HEAP_LIMIT,
                        5_618_794_496.0,
                        Vital.OFF_HEAP,
                        5_760.0,
                        Vital.RESIDENT,
                        239_296_512.0,
                        Vital.ROUND_TRIP_MEDIAN,
                        1.027,
                        Vital.ROUND_TRIP_99,
                        41.375),
                    103_293,
                    Map.of(500, 2L, 1_000, 2L, 2_000, 2L, 5_000, 1L, 50_000, 3L))));
      }
      for (int i = 1; i <= 6; i++) {
        double loss = 2.3 / (1 + version / 5_000.0) + i / 300.0;
        events.add(
            new Evaluated(
                now + i, version + 10 * i, 500, loss, 100 - 30 * loss, false, "703a6e0468a68654"));
      }
    }
    Files.write(
        run.resolve("events.jsonl"),
        events.stream().limit(EVENTS).map(event -> event.toJson().encode()).toList());
    JsonObject summary =
        JsonObject.of("state", "finished", "version", version, "samples", 128L * version)
            .put("accuracy", 95.5)
            .put("loss", 0.25)
            .put("testSamples", 500);
    Files.writeString(run.resolve("summary.json"), summary.encodePrettily());
    // Writes curves.json as a run does at its end.
    new RunRecorder(new RunDirectory(run), problem -> {}).close();
  }

  private static void copy(Path run, Path copy) throws IOException {
    Files.createDirectory(copy);
    for (String file : List.of("job.json", "events.jsonl", "summary.json", "curves.json")) {
      Files.copy(run.resolve(file), copy.resolve(file));
    }
  }

  private static WorkerProgress progress(long now, int rank, int version) {
    double loss = 2.3 / (1 + version / 5_000.0) + rank / 30.0;
    return new WorkerProgress(
        now,
        rank,
        0,
        version,
        version,
        0,
        64L * version,
        loss,
        96.42857142857143,
        0.0022610785 * version,
        0.00282804153 * version,
        0.000255563365 * version,
        7_840L * version,
        0,
        7_840L * version,
        Map.of(0, (long) version),
        Map.of(0, 7_840L * version),
        Map.of(0, 7_840L * version));
  }
}
