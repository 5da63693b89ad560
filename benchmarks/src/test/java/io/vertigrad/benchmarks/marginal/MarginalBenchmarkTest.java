package io.vertigrad.benchmarks.marginal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.benchmarks.marginal.MarginalBenchmark.Spent;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.UnknownCaseException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TransportKind;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MarginalBenchmarkTest {

  private static final double START_SECONDS = 7;
  private static final double TOLERANCE = 1e-9;

  @TempDir Path folder;

  @Test
  void shouldSubtractTheStartOfARun() throws Exception {
    List<BenchmarkRow> rows = rows("mlp, sync, one JVM", Optional.empty());

    assertEquals(
        List.of("mlp, sync, one JVM: wall", "mlp, sync, one JVM: CPU"),
        rows.stream().map(BenchmarkRow::name).toList());
    assertEquals(5, rows.get(0).measured().median(), TOLERANCE);
    assertEquals(8, rows.get(1).measured().median(), TOLERANCE);
  }

  @Test
  void shouldCompareProcessesWithOneJvmWhereThePeerHasNoFigure() throws Exception {
    List<BenchmarkRow> rows = rows("mlp, sync", Optional.empty());

    BenchmarkRow streams = row(rows, "mlp, sync, stream: wall");
    assertEquals("mlp, sync, one JVM: wall", streams.over());
    assertEquals(2, streams.ratio().orElseThrow(), TOLERANCE);
  }

  @Test
  void shouldCompareWithThePeerWhereItHasAFigure() throws Exception {
    Path file = folder.resolve("peer.csv");
    Files.writeString(file, "# gloo\n\nmlp,sync, 10, 16\nmlp,async,1,2\n");

    List<BenchmarkRow> rows = rows("mlp, sync", Optional.of(file));

    assertEquals(10, row(rows, "mlp, sync, peer: wall").measured().median(), TOLERANCE);
    assertEquals(0.5, row(rows, "mlp, sync, one JVM: wall").ratio().orElseThrow(), TOLERANCE);
    assertEquals(1, row(rows, "mlp, sync, stream: CPU").ratio().orElseThrow(), TOLERANCE);
  }

  @Test
  void shouldNameTheLineOfThePeersFileThatIsNotAsExpected() throws Exception {
    Path file = folder.resolve("peer.csv");
    Files.writeString(file, "mlp,sync,6.7,11.0\nmlp,async,6.7\n");

    String message =
        assertThrows(IllegalArgumentException.class, () -> PeerFigures.read(file)).getMessage();

    assertEquals(
        file
            + ": line 2: found 'mlp,async,6.7', expected MODEL,STRATEGY,WALL,CPU in milliseconds"
            + " per round",
        message);
  }

  @Test
  void shouldRefuseAFilterThatMatchesNoCase() {
    assertThrows(UnknownCaseException.class, () -> rows("mlp, gossip", Optional.empty()));
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

  private List<BenchmarkRow> rows(String only, Optional<Path> peer) throws Exception {
    BenchmarkReport report = new BenchmarkReport("marginal", true);
    new MarginalBenchmark(only, 100, peer, MarginalBenchmarkTest::spent).run(report, true);
    return report.rows();
  }

  private static Spent spent(MarginalCase one, int rounds) {
    double factor = one.processes() ? 2 : 1;
    return new Spent(START_SECONDS + factor * 0.005 * rounds, 3 + factor * 0.008 * rounds);
  }

  private static BenchmarkRow row(List<BenchmarkRow> rows, String name) {
    return rows.stream().filter(row -> row.name().equals(name)).findFirst().orElseThrow();
  }
}
