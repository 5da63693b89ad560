package io.vertigrad.benchmarks.cells;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.benchmarks.report.Machine;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the turns of a report, its table, and how it goes on. */
class ReportCommandTest {

  private static final Machine MACHINE = machine("abc123");

  @TempDir Path folder;
  private final List<String> order = new ArrayList<>();
  private Path json;
  private long nowNanos;

  @BeforeEach
  void nameFile() {
    json = folder.resolve("report.json");
  }

  @Test
  void shouldMeasureCellsInTurnsAndAPeerOnceATurn() throws Exception {
    run(
        begin(2),
        peer("seq, fast", "echo '{\"seconds\": 8}'"),
        one("seq, fast, a", 2, 4),
        one("b", 1, 1),
        one("seq, fast, c", 3, 3));

    assertEquals(
        List.of("seq, fast, a", "b", "seq, fast, c", "seq, fast, a", "b", "seq, fast, c"), order);
    List<String> measured =
        ReportFile.read(json, MACHINE).measurements().stream()
            .map(one -> one.turn() + " " + one.cell() + (one.peer().isPresent() ? ", peer" : ""))
            .toList();
    assertEquals(
        List.of(
            "1 seq, fast, a",
            "1 seq, fast, peer",
            "1 b",
            "1 seq, fast, c",
            "2 seq, fast, a",
            "2 seq, fast, peer",
            "2 b",
            "2 seq, fast, c"),
        measured);
  }

  @Test
  void shouldWriteMediansRangesAndRatiosByTurn() throws Exception {
    Files.writeString(folder.resolve("peer"), "");
    // The peer takes 8, 16 and 24 s: each turn adds a line to its file.
    String command = "echo x >>peer; echo \"{\\\"seconds\\\": $((8 * $(wc -l <peer)))}\"";

    run(begin(3), peer("a", command), one("a", 2, 8, 3), skipped("b", "no --data"));

    List<String> lines = table();
    assertTrue(
        lines.contains(
            "| a | s, wall | less | 3 | 3.00 | 2.00 to 8.00 | 16.0 | 8.00 to 24.0 | 0.25 | 0.13 to 0.50 |  |  |"),
        lines::toString);
    assertTrue(lines.contains("- skipped: b: no --data"), lines::toString);
    assertTrue(lines.contains("| revision | `abc123` |"), lines::toString);
    assertTrue(lines.contains("| machine | EPYC, 2 cores, 8.0 GiB |"), lines::toString);
    assertTrue(lines.contains("| command | `./benchmarks/run report` |"), lines::toString);
    assertFalse(Files.readString(json).contains("NaN"));
  }

  @Test
  void shouldMeasureAPeerOnceATurnWithEachPython() throws Exception {
    Map<String, String> set = Map.of("turns", "2", "pythons", "1.13.1 4\n2.14.0 16");
    ReportFile begun = ReportFile.begin(json, MACHINE, options(set));

    run(
        begun,
        peer("seq", "echo \"{\\\"seconds\\\": $PYTHON}\""),
        one("seq, a", 2, 8),
        one("seq, b", 4, 4));

    ReportFile read = ReportFile.read(json, MACHINE);
    assertEquals(
        List.of("seq, a", "PyTorch 1.13.1 of seq", "PyTorch 2.14.0 of seq", "seq, b"),
        read.measurements().stream()
            .filter(one -> one.turn() == 1)
            .map(one -> ReportTable.program(one.peer()) + one.cell())
            .toList());
    assertTrue(
        table()
            .contains(
                "| cell | unit | better | turns | median | range | PyTorch 1.13.1 | range"
                    + " | ours / PyTorch 1.13.1 | range | PyTorch 2.14.0 | range"
                    + " | ours / PyTorch 2.14.0 | range | over one JVM | range |"),
        table()::toString);
    assertTrue(
        table()
            .contains(
                "| seq, a | s, wall | less | 2 | 5.00 | 2.00 to 8.00 | 4.00 | 4.00 to 4.00 | 1.25"
                    + " | 0.50 to 2.00 | 16.0 | 16.0 to 16.0 | 0.31 | 0.13 to 0.50 |  |  |"),
        table()::toString);

    // The report goes on with both.
    order.clear();
    run(read, peer("seq", "exit 1"), one("seq, a"), one("seq, b"));
    assertEquals(List.of(), order);
  }

  @Test
  void shouldPrintThreadsOnlyOnDemandAndNoteCompilersThatDidNotRest() throws Exception {
    Cell cell = training("m", 0.05);
    run(begin(1), PeerCommands.NONE, cell);
    assertFalse(table().contains("## Threads"), table()::toString);

    ReportFile again = ReportFile.read(json, MACHINE);
    new ReportCommand(again, List.of(cell), PeerCommands.NONE, () -> nowNanos)
        .run("report --threads", options(Map.of("turns", "1", "threads", "true")));

    List<String> lines = table();
    int heading = lines.indexOf("## Threads");
    assertTrue(heading > 0, lines::toString);
    assertEquals(
        List.of(
            "| cell | turns | event loops | workers | strategies | compilers | garbage collectors"
                + " | other threads | all |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            "| m | 1 | 1.00 | 2.00 | 3.00 | 4.00 | 5.00 | 6.00 | 21.0 |"),
        lines.subList(heading + 4, heading + 7));
    assertTrue(
        lines.contains(
            "| m | round, steady from | less | 1 | 700 | 700 to 700 |  |  |  |  |  |  |"));
    assertEquals(
        List.of(
            "- note: m, turn 1: steady is the last quarter of the run, before which the compilers"
                + " took 5.0 % of the processor time, expected less than 2 %: more --rounds"),
        remarks());
  }

  @Test
  void shouldCompareProcessesAndStreamsWithOneJvmByTurn() throws Exception {
    run(
        begin(2),
        PeerCommands.NONE,
        one("m, one JVM", 2, 4),
        one("m, processes", 3, 8),
        one("m, one JVM, pytorch", 5, 5),
        one("m, streams, pytorch", 10, 10),
        one("n, processes", 1, 1));

    List<String> ratios =
        table().stream()
            .filter(line -> line.contains("s, wall"))
            .map(line -> line.substring(line.indexOf("|  |  |  |  |") + 12))
            .toList();
    assertEquals(
        List.of(
            "|  |  |", "| 1.75 | 1.50 to 2.00 |", "|  |  |", "| 2.00 | 2.00 to 2.00 |", "|  |  |"),
        ratios);
  }

  @Test
  void shouldLeaveColumnsOfAPeerEmptyWithoutOne() throws Exception {
    run(begin(1), PeerCommands.NONE, one("a", 2));

    List<String> lines = table();
    assertTrue(
        lines.contains("| a | s, wall | less | 1 | 2.00 | 2.00 to 2.00 |  |  |  |  |  |  |"),
        lines::toString);
  }

  @Test
  void shouldMeasureOnlyTheMissingCellsOfAnInterruptedReport() throws Exception {
    Cell interrupted =
        cell(
            "b",
            Optional.empty(),
            () -> {
              throw new InterruptedException();
            });
    assertThrows(
        InterruptedException.class,
        () -> run(begin(2), PeerCommands.NONE, one("a", 5), interrupted));
    order.clear();

    int code = run(ReportFile.read(json, MACHINE), PeerCommands.NONE, one("a", 7), one("b", 1, 1));

    assertEquals(0, code);
    assertEquals(List.of("b", "a", "b"), order);
    List<String> lines = table();
    assertTrue(
        lines.contains("| a | s, wall | less | 2 | 6.00 | 5.00 to 7.00 |  |  |  |  |  |  |"),
        lines::toString);
    assertEquals(2, new JsonObject(Files.readString(json)).getJsonArray("commands").size());
  }

  @Test
  void shouldMeasureTheOthersWhenACellFailsAndTryItAgainLater() throws Exception {
    Cell failing =
        cell(
            "a",
            Optional.empty(),
            () -> {
              throw new IllegalStateException("no memory\nmore");
            });

    assertEquals(1, run(begin(1), PeerCommands.NONE, failing, one("b", 1)));
    assertTrue(table().contains("- failed: a, turn 1: no memory"), table()::toString);

    assertEquals(0, run(ReportFile.read(json, MACHINE), PeerCommands.NONE, one("a", 4)));
    assertEquals(List.of("b", "a"), order);
    assertFalse(String.join("", table()).contains("failed"), table()::toString);
  }

  @Test
  void shouldKeepNotesOfAnInterruptedReport() throws Exception {
    ReportFile begun = begin(1);
    begun.note("no class archive: found\nan error");
    run(begun, PeerCommands.NONE, one("a", 5));

    ReportFile again = ReportFile.read(json, MACHINE);
    again.note("no class archive: found\nan error");
    run(again, PeerCommands.NONE, one("b", 5));

    assertEquals(
        List.of("- note: no class archive: found"),
        table().stream().filter(line -> line.startsWith("- note")).toList());
  }

  @Test
  void shouldNotContinueWithAnotherRevision() throws Exception {
    run(begin(1), PeerCommands.NONE, one("a", 2));

    String message =
        assertThrows(IllegalArgumentException.class, () -> ReportFile.read(json, machine("def456")))
            .getMessage();

    assertEquals(
        "--resume %s: revision: found def456 here, expected abc123 as in the report"
            .formatted(json),
        message);
  }

  @Test
  void shouldNameAFileThatIsNoReport() throws Exception {
    assertEquals("--resume %s: found no such file".formatted(json), refusal());
    Files.writeString(json, "{\"rows\": []}");
    assertEquals(
        "--resume %s: expected the JSON file of an earlier report".formatted(json), refusal());
    Files.writeString(json, "# Measured");
    assertEquals(
        "--resume %s: expected the JSON file of an earlier report".formatted(json), refusal());
  }

  @Test
  void shouldTabulateWhatMoreWorkersGain() throws Exception {
    Cell one = rounds("weak scaling, m, sync, 1 worker, processes", 100, 10, 200, 12);
    Cell four = rounds("weak scaling, m, sync, 4 workers, processes", 300, 60, 400, 80);
    Cell two = rounds("weak scaling, m, sync, 2 workers, processes", 190, 22, 300, 22);
    Cell alone = rounds("weak scaling, m, sync, 2 workers, one JVM", 50, 8, 50, 8);
    PeerCommands peers =
        new PeerCommands(
            folder.resolve("peers.json"),
            Map.of(
                "weak scaling, m, sync, 1 worker",
                "echo '{\"samplesPerSecond\": 80, \"cpuMillisPerRound\": 5}'",
                "weak scaling, m, sync, 4 workers",
                "echo '{\"samplesPerSecond\": 160, \"cpuMillisPerRound\": 40}'"));

    run(begin(2), peers, one, four, two, alone, one("other", 1, 1));

    List<String> lines = table();
    int heading = lines.indexOf("## Weak scaling");
    assertTrue(
        heading
            > lines.indexOf(
                "| other | s, wall | less | 2 | 1.00 | 1.00 to 1.00 |  |  |  |  |  |  |"),
        lines::toString);
    assertEquals(
        List.of(
            "| m, sync, processes | 1 | 2 | 1.00 | 1.00 to 1.00 | 1.00 | 11.0 | 10.0 to 12.0 | 1.00 | 1.00 to 1.00 | 1.00 | 5.00 | 5.00 to 5.00 | 1.00 | 1.00 to 1.00 | 2.20 | 2.00 to 2.40 |",
            "| m, sync, processes | 2 | 2 | 1.70 | 1.50 to 1.90 | 0.85 | 11.0 | 11.0 to 11.0 |  |  |  |  |  |  |  |  |  |",
            "| m, sync, processes | 4 | 2 | 2.50 | 2.00 to 3.00 | 0.63 | 17.5 | 15.0 to 20.0 | 2.00 | 2.00 to 2.00 | 0.50 | 10.0 | 10.0 to 10.0 | 1.25 | 1.00 to 1.50 | 1.75 | 1.50 to 2.00 |",
            "| m, sync, one JVM | 2 | 2 |  |  |  | 4.00 | 4.00 to 4.00 |  |  |  |  |  |  |  |  |  |"),
        lines.subList(heading + 6, heading + 10));
  }

  @Test
  void shouldHaveNoTableOfWeakScalingWithoutItsCells() throws Exception {
    run(begin(1), PeerCommands.NONE, one("a", 2));

    assertFalse(table().contains("## Weak scaling"), table()::toString);
  }

  @Test
  void shouldBeginNoCellAfterTheLastMinute() throws Exception {
    ReportFile begun = begin(2, 25);
    Cell slow =
        cell(
            "slow",
            Optional.empty(),
            () -> {
              nowNanos += TimeUnit.MINUTES.toNanos(13);
              return Map.of(Figure.SECONDS, 780.0);
            });

    int code =
        run(begun, PeerCommands.NONE, one("a", 1, 2), slow, skipped("b", "no --data"), one("c", 3));

    assertEquals(0, code);
    assertEquals(List.of("a", "c", "a"), order);
    assertEquals(List.of("- skipped: b: no --data"), remarks());
  }

  @Test
  void shouldListACellThatWasNotReachedAndMeasureItLater() throws Exception {
    Cell slow =
        cell(
            "slow",
            Optional.empty(),
            () -> {
              nowNanos += TimeUnit.MINUTES.toNanos(25);
              return Map.of(Figure.SECONDS, 1500.0);
            });

    int code = run(begin(2, 25), peer("slow", "echo '{\"seconds\": 8}'"), slow, one("late", 3));

    assertEquals(0, code);
    assertEquals(List.of("- skipped: late: the 25 minutes are over"), remarks());
    assertTrue(
        table().stream().anyMatch(line -> line.startsWith("| slow |") && line.contains("| 8.00 |")),
        table()::toString);

    run(ReportFile.read(json, MACHINE), PeerCommands.NONE, one("late", 3, 3));
    assertEquals(List.of("late", "late"), order);
    assertEquals(List.of(), remarks());
  }

  private List<String> remarks() throws IOException {
    return table().stream().filter(line -> line.startsWith("- ")).toList();
  }

  private String refusal() {
    return assertThrows(IllegalArgumentException.class, () -> ReportFile.read(json, MACHINE))
        .getMessage();
  }

  private int run(ReportFile file, PeerCommands peers, Cell... cells) throws Exception {
    return new ReportCommand(file, List.of(cells), peers, () -> nowNanos)
        .run("./benchmarks/run report", file.options());
  }

  private ReportFile begin(int turns) {
    return begin(turns, 1_000);
  }

  private ReportFile begin(int turns, int minutes) {
    return ReportFile.begin(
        json, MACHINE, options(Map.of("turns", "" + turns, "minutes", "" + minutes)));
  }

  private static ReportOptions options(Map<String, String> set) {
    return ReportOptions.read(name -> set.get(name.substring(name.lastIndexOf('.') + 1)), false);
  }

  private PeerCommands peer(String key, String command) {
    return new PeerCommands(folder.resolve("peers.json"), Map.of(key, command));
  }

  /** Returns a cell that takes so many seconds, turn by turn. */
  private Cell one(String name, double... seconds) {
    Iterator<Double> turns = Arrays.stream(seconds).iterator();
    return cell(
        name,
        Optional.empty(),
        () -> {
          order.add(name);
          return Map.of(Figure.SECONDS, turns.next());
        });
  }

  /** Returns a cell with samples per second and milliseconds of CPU, by turns. */
  private static Cell rounds(String name, double... values) {
    Iterator<Double> turns = Arrays.stream(values).iterator();
    return new Cell(
        name,
        List.of(Figure.SAMPLES_PER_SECOND, Figure.CPU_MILLIS_PER_ROUND),
        Optional.empty(),
        () ->
            Map.of(
                Figure.SAMPLES_PER_SECOND, turns.next(),
                Figure.CPU_MILLIS_PER_ROUND, turns.next()));
  }

  /** Returns a cell of training, with a millisecond more of each kind of thread. */
  private static Cell training(String name, double compilerShare) {
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    Figure.ofThreads().forEach(figure -> figures.put(figure, 1.0 + figures.size()));
    figures.put(Figure.CPU_MILLIS_PER_ROUND, 21.0);
    figures.put(Figure.STEADY_FROM_ROUND, 700.0);
    figures.put(Figure.COMPILER_SHARE, compilerShare);
    return new Cell(name, Figure.TRAINING, Optional.empty(), () -> figures);
  }

  private Cell skipped(String name, String reason) {
    return cell(name, Optional.of(reason), () -> Map.of());
  }

  private static Cell cell(String name, Optional<String> missing, Cell.Measurement measurement) {
    return new Cell(name, List.of(Figure.SECONDS), missing, measurement);
  }

  private List<String> table() throws IOException {
    return Files.readAllLines(folder.resolve("report.md"));
  }

  private static Machine machine(String revision) {
    return new Machine("EPYC", 2, 8L << 30, "OpenJDK 17", "Linux 6", revision, 0.1);
  }
}
