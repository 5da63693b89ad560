package io.vertigrad.benchmarks.goodput;

import io.vertigrad.benchmarks.goodput.LostTime.Fault;
import io.vertigrad.benchmarks.goodput.LostTime.Part;
import io.vertigrad.benchmarks.goodput.LostTime.Size;
import io.vertigrad.benchmarks.goodput.LostTime.Undisturbed;
import io.vertigrad.benchmarks.process.ArchiveCommandLine;
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
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Measures the samples that count per second while a worker is killed, stopped or cut off every 29
 * s, over those of the same run without faults, and where the lost time goes.
 */
public final class GoodputBenchmark implements Benchmark {

  private static final int WORKERS = 8;
  private static final int QUICK_WORKERS = 4;
  private static final int PORT = 19_800;

  /** Ports of a run, and of those that a trial may need besides. */
  private static final int PORTS = 50;

  /** A run's first seconds compile code, and do not count. */
  private static final int MARGIN_SECONDS = 3;

  private static final int STEPS_MULTIPLE = 20;
  private static final double MILLIS = 1e-3;

  /** Creates the benchmark. */
  public GoodputBenchmark() {}

  @Override
  public String name() {
    return "goodput";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    GoodputOptions options = GoodputOptions.read(System::getProperty, quick);
    List<GoodputCase> all = GoodputCase.all(quick ? QUICK_WORKERS : WORKERS);
    List<GoodputCase> cases = all.stream().filter(o -> o.name().equals(options.only())).toList();
    if (cases.isEmpty()) {
      cases = Cases.named(options.only(), all, GoodputCase::name);
    }
    try {
      ArchiveCommandLine.make(List.of());
    } catch (IOException e) {
      report.remark("no class archive, so processes start more slowly: " + e.getMessage());
    }
    Optional<NetworkLink> link = link(report);
    Path folder = Files.createTempDirectory("vertigrad-goodput-");
    try {
      for (GoodputCase one : cases) {
        measure(report, options, one, link, Files.createDirectory(folder.resolve(one.name())));
      }
    } finally {
      link.ifPresent(NetworkLink::close);
    }
    if (report.failures().isEmpty()) {
      TrainCommandLine.delete(folder);
    } else {
      report.remark("what the runs left is kept in " + folder);
    }
  }

  private static Optional<NetworkLink> link(BenchmarkReport report) throws InterruptedException {
    try {
      return Optional.of(NetworkLink.create());
    } catch (IOException missing) {
      report.remark(
          "no cuts: they need Linux, iproute2 and the right to make network namespaces, such as"
              + " root's: "
              + missing.getMessage());
      return Optional.empty();
    }
  }

  private static void measure(
      BenchmarkReport report,
      GoodputOptions options,
      GoodputCase one,
      Optional<NetworkLink> link,
      Path folder)
      throws IOException, InterruptedException {
    ChaosPlan plan = one.plan(options);
    List<Disturbance> disturbances = options.plan(one.workers(), link.isPresent());
    int least = GoodputOptions.WARM_UP_SECONDS + options.undisturbedSeconds();
    ChaosTrial.Launch alone =
        launch(one, options, Files.createDirectory(folder.resolve("a")), PORT, link);
    RunEnd steady = ChaosTrial.run(plan, List.of(), steps(one, least), new JsonObject(), alone);
    Size size = new Size(one.workers(), one.batch());
    if (steady.exit() != 0) {
      report.fail("%s, without faults: %s".formatted(one.name(), steady.output()));
      return;
    }
    RunRecord without = record(plan, steady, alone, size);
    double from = without.startedSeconds() + GoodputOptions.WARM_UP_SECONDS;
    double to = without.endedSeconds();
    Undisturbed normal =
        new Undisturbed(without.samples(from, to) / (to - from), without.gradientSeconds(from, to));

    Path beside = Files.createDirectory(folder.resolve("b"));
    ChaosTrial.Launch launch = launch(one, options, beside, PORT + PORTS, link);
    int seconds =
        GoodputOptions.WARM_UP_SECONDS
            + (1 + disturbances.size()) * options.everySeconds()
            + MARGIN_SECONDS;
    int steps = steps(one, seconds);
    ChaosTrial trial = ChaosTrial.of(plan, disturbances, steps, new JsonObject(), launch);
    RunRecord with = record(plan, trial.disturbed(), launch, size);
    List<Fault> faults = faults(trial.disturbed().strikes(), with, options.everySeconds());
    if (faults.isEmpty()) {
      report.fail(one.name() + ", with faults: it ended early: " + trial.violations());
      trial.disturbed().output().lines().forEach(line -> report.remark("it said: " + line));
      return;
    }
    List<LostTime> lost = LostTime.of(with, normal, size, faults, options.everySeconds());
    report(report, options, one, trial, with, normal, lost);
  }

  private static RunRecord record(ChaosPlan plan, RunEnd end, ChaosTrial.Launch launch, Size size)
      throws IOException {
    Path file = ChaosTrial.disturbedRun(plan, launch).resolve("timeline.json");
    List<JsonObject> timeline =
        end.exit() == 0 && Files.exists(file)
            ? new JsonArray(Files.readString(file)).stream().map(JsonObject.class::cast).toList()
            : List.of();
    return RunRecord.of(end.events(), timeline, size.workers() * size.batch());
  }

  /** Returns the steps of a run that takes so many seconds even if nothing slows it down. */
  private static int steps(GoodputCase one, int seconds) {
    int steps = seconds * one.stepsPerSecond();
    return steps + STEPS_MULTIPLE - steps % STEPS_MULTIPLE;
  }

  /** Returns the faults that the run outlasted by the time that belongs to each. */
  private static List<Fault> faults(List<Strike> strikes, RunRecord run, int everySeconds) {
    List<Fault> faults = new ArrayList<>();
    for (Strike strike : strikes) {
      Disturbance done = strike.disturbance();
      double begin = MILLIS * strike.millis();
      boolean cut = done.victim().equals(Disturbance.LINK);
      int rank =
          cut
              ? run.rankAt(NetworkLink.FAR_HOST, begin)
              : Integer.parseInt(done.victim().replaceFirst(".* ", ""));
      String kind = cut ? "cut" : done.isKill() ? "kill" : "stop";
      if (begin + everySeconds <= run.endedSeconds()) {
        faults.add(new Fault(kind, rank, begin, begin + done.stoppedSeconds()));
      }
    }
    return faults;
  }

  private static ChaosTrial.Launch launch(
      GoodputCase one, GoodputOptions options, Path folder, int port, Optional<NetworkLink> link) {
    String classes = Path.of("benchmarks", "target", "classes").toAbsolutePath().toString();
    List<String> quick = command(classes, 0);
    List<String> paced = command(classes, one.paceMillis());
    return new ChaosTrial.Launch(
        quick, paced, Path.of("."), "", folder, port, false, link, options.spares());
  }

  /** Returns the start script with the paced engine on its class path, and small heaps. */
  private static List<String> command(String classes, int paceMillis) {
    String options = "-Xmx256m -D%s=%s".formatted(PacedEngine.MILLIS, paceMillis);
    return List.of(
        "env", "VERTIGRAD_CLASSPATH=" + classes, "VERTIGRAD_JAVA_OPTS=" + options, "./vertigrad");
  }

  private static void report(
      BenchmarkReport report,
      GoodputOptions options,
      GoodputCase one,
      ChaosTrial trial,
      RunRecord with,
      Undisturbed normal,
      List<LostTime> lost)
      throws IOException {
    String name = one.name();
    double from = lost.get(0).fault().begin();
    double to = lost.get(lost.size() - 1).fault().begin() + options.everySeconds();
    double rate = with.samples(from, to) / (to - from);
    double goodput = rate / normal.samplesPerSecond();
    String aim = one.aim() == 0 ? "" : String.format(Locale.ROOT, "at least %.2f", one.aim());
    report.add(row(name + ": without faults", "samples/s", List.of(normal.samplesPerSecond())));
    report.add(row(name + ": with faults", "samples/s", List.of(rate)));
    report.add(row(name + ": goodput", "of undisturbed", List.of(goodput)).withAim(aim));
    Map<String, List<LostTime>> kinds = new TreeMap<>();
    lost.forEach(
        time -> kinds.computeIfAbsent(time.fault().kind(), k -> new ArrayList<>()).add(time));
    List<String> table = new ArrayList<>();
    table.add("| %s, after | faults | %s | lost |".formatted(name, headings()));
    table.add("| --- | " + "--- | ".repeat(Part.values().length + 2).strip());
    kinds.forEach(
        (kind, times) -> {
          report.add(seconds(name + ": lost by a " + kind, times, t -> t.seconds()));
          times(report, name + ": noticed after a " + kind, times, LostTime::noticed);
          times(report, name + ": rank is back after a " + kind, times, LostTime::back);
          table.add(line(kind, times));
        });
    table.forEach(report::remark);
    report.remark(
        String.format(
            Locale.ROOT,
            "%s: %d of %d faults in %.0f s, seed %d, evictMillis %d, %d spares, updates %s, hash %s: %s",
            name,
            lost.size(),
            options.faults(),
            to - from,
            options.seed(),
            options.evictMillis(),
            options.spares(),
            trial.disturbed().summary().getJsonObject("updates", new JsonObject()).encode(),
            trial.disturbed().hash(),
            trial.violations().isEmpty() ? "nothing is lost" : "it left traces"));
    trial.violations().forEach(found -> report.fail(name + ": " + found));
    if (!trial.violations().isEmpty()) {
      trial.disturbed().output().lines().forEach(line -> report.remark(name + " said: " + line));
    }
  }

  private static String headings() {
    List<String> headings = new ArrayList<>();
    for (Part part : Part.values()) {
      headings.add(part.toString());
    }
    return String.join(" | ", headings);
  }

  /** Returns a row of the table: the means of all faults of a kind. */
  private static String line(String kind, List<LostTime> times) {
    List<String> cells = new ArrayList<>(List.of(kind, Integer.toString(times.size())));
    for (Part part : Part.values()) {
      cells.add(mean(times.stream().mapToDouble(time -> time.parts().get(part)).average()));
    }
    cells.add(mean(times.stream().mapToDouble(LostTime::seconds).average()));
    return "| " + String.join(" | ", cells) + " |";
  }

  private static String mean(OptionalDouble seconds) {
    return String.format(Locale.ROOT, "%.2f", seconds.orElseThrow());
  }

  private static void times(
      BenchmarkReport report,
      String name,
      List<LostTime> times,
      Function<LostTime, OptionalDouble> seconds) {
    List<Double> found =
        times.stream()
            .map(seconds)
            .filter(OptionalDouble::isPresent)
            .map(OptionalDouble::getAsDouble)
            .toList();
    if (!found.isEmpty()) {
      report.add(row(name, "s", found));
    }
  }

  private static BenchmarkRow seconds(
      String name, List<LostTime> times, ToDoubleFunction<LostTime> seconds) {
    return row(name, "s", times.stream().mapToDouble(seconds).boxed().toList());
  }

  private static BenchmarkRow row(String name, String unit, List<Double> values) {
    return BenchmarkRow.of(name, unit, Repetitions.of(values));
  }
}
