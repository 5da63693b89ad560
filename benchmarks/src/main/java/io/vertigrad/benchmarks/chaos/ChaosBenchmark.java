package io.vertigrad.benchmarks.chaos;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.testkit.chaos.ChaosPlan;
import io.vertigrad.testkit.chaos.ChaosTrial;
import io.vertigrad.testkit.chaos.Disturbance;
import io.vertigrad.testkit.chaos.NetworkLink;
import io.vertigrad.testkit.chaos.RunEnd;
import io.vertigrad.testkit.chaos.RunEnd.Strike;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Kills, stops or cuts off processes of runs by a seeded plan, and runs the same job undisturbed
 * beside each. It reports whether the disturbances left a trace, how long no step was taken, and
 * what they cost.
 */
public final class ChaosBenchmark implements Benchmark {

  private static final int PORT = 19_500;
  private static final String ANY_KILL = "any kill";
  private static final String RESUMED = "start of resume";

  private final String data;

  /** Disturbs jobs on the data of a folder; an empty text means generated digits. */
  public ChaosBenchmark(String data) {
    this.data = data;
  }

  @Override
  public String name() {
    return "chaos";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    ChaosOptions options = ChaosOptions.read(System::getProperty, quick);
    String only = options.only();
    ChaosFault fault = options.fault();
    List<ChaosPlan> plans =
        ChaosPlan.all().stream().anyMatch(plan -> plan.name().equals(only))
            ? ChaosPlan.all().stream().filter(plan -> plan.name().equals(only)).toList()
            : Cases.named(only, ChaosPlan.all(), ChaosPlan::name);
    String done =
        options.cutSeconds() > 0
            ? "--cut " + options.cutSeconds()
            : options.stopAll() > 0
                ? "--seed %s --stop-all %s".formatted(options.seed(), options.stopAll())
                : "--seed %s --kills %s --stops %s"
                    .formatted(options.seed(), options.kills(), options.stops());
    report.remark(
        "repeat with: benchmarks/run chaos%s%s %s --every %s%s%s%s"
            .formatted(
                quick ? " --quick" : "",
                only.isEmpty() ? "" : " --plan " + only,
                done,
                options.everySeconds(),
                options.victim().isEmpty() ? "" : " --victim " + options.victim().replace(' ', '-'),
                fault == ChaosFault.NONE ? "" : " --fault " + fault.word(),
                data.isEmpty() ? "" : " --data " + data));
    if (options.cutSeconds() == 0) {
      run(report, options, plans, Optional.empty(), quick);
      return;
    }
    NetworkLink link;
    try {
      link = NetworkLink.create();
    } catch (IOException missing) {
      report.remark(
          "skipped: --cut needs Linux, iproute2 and the right to make network namespaces, such as"
              + " root's: "
              + missing.getMessage());
      return;
    }
    try (link) {
      run(report, options, plans, Optional.of(link), quick);
    }
  }

  private void run(
      BenchmarkReport report,
      ChaosOptions options,
      List<ChaosPlan> plans,
      Optional<NetworkLink> link,
      boolean quick)
      throws Exception {
    ChaosFault fault = options.fault();
    Path folder = Files.createTempDirectory("vertigrad-chaos-");
    boolean clean = true;
    for (ChaosPlan plan : plans) {
      if (options.stopAll() > 0) {
        clean &= stopAll(report, plan, options, launch(folder, fault, !quick, link));
        continue;
      }
      List<Disturbance> disturbances = options.disturbances(plan);
      int rate = data.isEmpty() ? plan.stepsPerSecond() : plan.stepsPerSecond() / 5;
      double seconds = Disturbance.seconds(disturbances, options.everySeconds());
      if (link.isPresent()) {
        // Most workers train on meanwhile; the link has to be back well before the end.
        seconds *= 2;
      }
      int steps = (int) (rate * Math.max(10, seconds));
      ChaosTrial.Launch launch = launch(folder, fault, !quick, link);
      ChaosTrial trial = ChaosTrial.of(plan, disturbances, steps, fault.changes(), launch);
      boolean timed = !quick && link.isEmpty();
      report(report, plan.name(), trial, disturbances.size(), fault, timed);
      clean &= fault != ChaosFault.NONE || trial.violations().isEmpty();
    }
    if (clean) {
      TrainCommandLine.delete(folder);
    } else {
      report.remark("what the runs left is kept in " + folder);
    }
  }

  /**
   * Runs jobs in which all members are stopped early; returns true when none of them left a trace.
   */
  private static boolean stopAll(
      BenchmarkReport report, ChaosPlan plan, ChaosOptions options, ChaosTrial.Launch launch)
      throws IOException, InterruptedException {
    List<Double> seconds = new ArrayList<>();
    List<Long> evicted = new ArrayList<>();
    List<ChaosTrial> traces = new ArrayList<>();
    ChaosTrial.ofEach(
        plan,
        Disturbance.stopAll(options.seed(), options.stopAll()),
        launch,
        trial -> {
          seconds.add(trial.disturbed().seconds());
          evicted.add(trial.disturbed().evictedWorkers());
          if (!trial.violations().isEmpty()) {
            traces.add(trial);
            trial
                .violations()
                .forEach(
                    found ->
                        report.fail(
                            "%s, run %s: %s".formatted(plan.name(), seconds.size(), found)));
            trial
                .disturbed()
                .output()
                .lines()
                .forEach(line -> report.remark("run %s said: %s".formatted(seconds.size(), line)));
          }
        });
    report.add(row(plan.name() + ": all members stopped early", "s", seconds));
    report.remark(
        "%s: %s of %s runs left no trace; both workers were evicted in %s, one in %s"
            .formatted(
                plan.name(),
                seconds.size() - traces.size(),
                seconds.size(),
                evicted.stream().filter(workers -> workers == 2).count(),
                evicted.stream().filter(workers -> workers == 1).count()));
    return traces.isEmpty();
  }

  /**
   * Returns how to start the runs. A quick undisturbed run has one JVM: it ends in the same
   * parameters, but its time cannot be compared.
   */
  private ChaosTrial.Launch launch(
      Path folder, ChaosFault fault, boolean apart, Optional<NetworkLink> link) throws IOException {
    Path root = Path.of(".");
    List<String> command = List.of("./vertigrad");
    if (fault == ChaosFault.NONE) {
      return new ChaosTrial.Launch(command, command, root, data, folder, PORT, apart, link, 0);
    }
    String classPath = System.getProperty("java.class.path");
    Path classes = Files.createDirectories(folder.resolve("fault"));
    return new ChaosTrial.Launch(
        java(classPath),
        java(fault.plant(root, classes, classPath)),
        root,
        data,
        folder,
        PORT,
        apart,
        link,
        0);
  }

  /**
   * Returns a java command, because the start script's class path cannot be preceded by another
   * folder.
   */
  private static List<String> java(String classPath) {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(ChildJvm.productOptions("1g"));
    command.addAll(List.of("-cp", classPath, "io.vertigrad.launcher.VertigradApplication"));
    return command;
  }

  private void report(
      BenchmarkReport report,
      String plan,
      ChaosTrial trial,
      int planned,
      ChaosFault fault,
      boolean timed) {
    RunEnd disturbed = trial.disturbed();
    Map<String, List<Double>> gaps = new TreeMap<>();
    for (Strike strike : disturbed.strikes()) {
      String kind =
          disturbed.overlaps(strike) ? "several at once" : strike.disturbance().toString();
      add(gaps, kind.replaceFirst(" \\d+$", ""), disturbed.gap(strike));
      if (strike.disturbance().isKill()) {
        add(gaps, ANY_KILL, disturbed.gap(strike));
      }
      if (strike.resumedMillis() > 0 && !disturbed.overlaps(strike)) {
        add(gaps, RESUMED, disturbed.resumeSeconds(strike));
      }
    }
    report.add(row(plan + ": undisturbed", "s", List.of(trial.undisturbed().seconds())));
    report.add(row(plan + ": disturbed", "s", List.of(disturbed.seconds())));
    if (timed) {
      report.add(row(plan + ": goodput", "of undisturbed", List.of(trial.goodput())));
    }
    gaps.forEach((kind, all) -> report.add(row(plan + ": no step after " + kind, "s", all)));
    report.remark(
        "%s: %s of %s disturbances, %s, updates %s, hash %s: %s"
            .formatted(
                plan,
                disturbed.strikes().size(),
                planned,
                percentiles(gaps.getOrDefault(ANY_KILL, List.of())),
                disturbed.summary().getJsonObject("updates", new JsonObject()).encode(),
                disturbed.hash(),
                trial.violations().isEmpty() ? "no trace" : "it left traces"));
    if (fault == ChaosFault.NONE) {
      trial.violations().forEach(found -> report.fail(plan + ": " + found));
    } else if (trial.violations().isEmpty()) {
      report.fail(plan + ": the planted fault was not found: " + fault.word());
    } else {
      trial.violations().forEach(found -> report.remark(plan + ": planted and found: " + found));
    }
    if (!trial.violations().isEmpty()) {
      disturbed.output().lines().forEach(line -> report.remark(plan + " said: " + line));
    }
  }

  private static String percentiles(List<Double> gaps) {
    if (gaps.isEmpty()) {
      return "no kill";
    }
    Repetitions all = Repetitions.of(gaps);
    return String.format(
        Locale.ROOT,
        "no step after a kill for %.2f s (p50), %.2f s (p99)",
        all.median(),
        all.percentile(99));
  }

  /** Adds a gap; leaves out one that did not end before the run did. */
  private static void add(Map<String, List<Double>> gaps, String kind, double seconds) {
    if (Double.isFinite(seconds)) {
      gaps.computeIfAbsent(kind, first -> new ArrayList<>()).add(seconds);
    }
  }

  private static BenchmarkRow row(String name, String unit, List<Double> values) {
    return BenchmarkRow.of(name, unit, Repetitions.of(values));
  }
}
