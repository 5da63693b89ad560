package io.vertigrad.benchmarks.marginal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.benchmarks.process.ThreadKind;
import io.vertigrad.benchmarks.process.ThreadSampler.Sample;
import io.vertigrad.benchmarks.process.TrainCommandLine.Sampled;
import io.vertigrad.benchmarks.process.TrainCommandLine.Trained;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.UnknownCaseException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TransportKind;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class MarginalBenchmarkTest {

  private static final long START = 1_000_000;
  private static final double TOLERANCE = 1e-9;

  private final List<Integer> steps = new ArrayList<>();

  @Test
  void shouldMeasureOneRunOfTwiceTheRounds() throws Exception {
    List<BenchmarkRow> rows = report("mlp, sync, one JVM").rows();

    assertEquals(List.of(1, 200), steps);
    assertEquals(
        List.of(
            "mlp, sync, one JVM: first, wall",
            "mlp, sync, one JVM: first, CPU",
            "mlp, sync, one JVM: steady, wall",
            "mlp, sync, one JVM: steady, CPU"),
        rows.stream().map(BenchmarkRow::name).toList());
    assertEquals(
        List.of(5.0, 8.0, 5.0, 8.0),
        rows.stream().map(row -> Math.rint(row.measured().median() * 1e6) / 1e6).toList());
  }

  @Test
  void shouldKeepTheProcessorTimeOfThreadsAsDetails() throws Exception {
    List<BenchmarkRow> details = report("mlp, sync, one JVM").details();

    assertEquals(
        50, row(details, "mlp, sync, one JVM: steady from").measured().median(), TOLERANCE);
    assertEquals(8, row(details, "mlp, sync, one JVM: workers").measured().median(), TOLERANCE);
    assertEquals(0, row(details, "mlp, sync, one JVM: compilers").measured().median(), TOLERANCE);
  }

  @Test
  void shouldCompareProcessesWithOneJvm() throws Exception {
    BenchmarkRow streams = row(report("mlp, sync").rows(), "mlp, sync, stream: steady, wall");

    assertEquals("mlp, sync, one JVM: steady, wall", streams.over());
    assertEquals(2, streams.ratio().orElseThrow(), TOLERANCE);
  }

  @Test
  void shouldTakeFewerRoundsOfLargeModelsButSome() throws Exception {
    report("convnet, sync, one JVM");
    report("mlp25m, sync, one JVM");

    assertEquals(List.of(1, 200, 1, 20), steps);
  }

  @Test
  void shouldRefuseAFilterThatMatchesNoCase() {
    assertThrows(UnknownCaseException.class, () -> report("mlp, gossip"));
  }

  @Test
  void shouldMeasureEveryTransportWithJobsThatCanBeRead() {
    List<MarginalCase> cases = MarginalCase.all();

    for (MarginalCase one : cases) {
      JobConfig job = JobConfig.read(one.toString(), one.job(10));
      assertEquals(10, job.steps());
    }
    assertEquals(
        EnumSet.complementOf(EnumSet.of(TransportKind.AUTO)),
        cases.stream()
            .filter(MarginalCase::processes)
            .map(one -> JobConfig.read(one.toString(), one.job(1)).exchange().transport())
            .collect(Collectors.toCollection(() -> EnumSet.noneOf(TransportKind.class))));
  }

  private BenchmarkReport report(String only) throws Exception {
    BenchmarkReport report = new BenchmarkReport("marginal", true);
    new MarginalBenchmark(only, 100, false, this::train).run(report, true);
    return report;
  }

  /** Returns a run whose rounds take 5 ms, and 8 ms of a worker's; twice as long in processes. */
  private Sampled train(MarginalCase one, int rounds) {
    steps.add(rounds);
    long factor = one.processes() ? 2 : 1;
    long end = START + factor * 5 * rounds;
    List<JsonObject> events =
        List.of(
            new JsonObject().put("type", "jobStarted").put("timeMillis", START),
            new JsonObject()
                .put("type", "workerProgress")
                .put("timeMillis", end)
                .put("rank", 0)
                .put("step", rounds));
    List<Sample> samples =
        List.of(
            new Sample(START, Map.of(ThreadKind.WORKERS, 7_000_000L)),
            new Sample(end, Map.of(ThreadKind.WORKERS, (7 + factor * 8 * rounds) * 1_000_000L)));
    return new Sampled(new Trained(new JsonObject(), events, List.of()), samples);
  }

  private static BenchmarkRow row(List<BenchmarkRow> rows, String name) {
    return rows.stream().filter(row -> row.name().equals(name)).findFirst().orElseThrow();
  }
}
