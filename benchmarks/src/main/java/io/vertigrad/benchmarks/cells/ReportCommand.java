package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.report.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * {@code benchmarks/run report}: measures cells in turns, so that a machine that slows down slows
 * all of them equally, and each peer beside the cells that it is compared with.
 */
public final class ReportCommand {

  /** The command's name. */
  public static final String NAME = "report";

  private static final long NANOS_PER_MINUTE = 60_000_000_000L;
  private static final DateTimeFormatter STAMP =
      DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT);

  private final ReportFile file;
  private final List<Cell> cells;
  private final PeerCommands peers;
  private final LongSupplier nanos;
  private int failures;

  ReportCommand(ReportFile file, List<Cell> cells, PeerCommands peers, LongSupplier nanos) {
    this.file = file;
    this.cells = cells;
    this.peers = peers;
    this.nanos = nanos;
  }

  /**
   * Makes a report, or goes on with one.
   *
   * @param folder where a new report is written, by default with its time in the name
   * @return the exit code: 1 when something could not be measured
   * @throws IllegalArgumentException when an option or a file is not as expected
   */
  public static int run(UnaryOperator<String> property, boolean quick, Path folder)
      throws Exception {
    Machine here = Machine.here();
    String resumed = ReportOptions.text(property, "resume", "");
    ReportFile file;
    ReportOptions options;
    if (resumed.isEmpty()) {
      options = ReportOptions.read(property, quick);
      String stamp = "report-" + STAMP.format(Instant.now().atZone(ZoneOffset.UTC));
      String name = ReportOptions.text(property, "name", stamp);
      file = ReportFile.begin(folder.resolve(name + ".json"), here, options);
    } else {
      file = ReportFile.read(Path.of(resumed), here);
      options = ReportOptions.resume(property, quick, file.options());
    }
    List<Cell> all = Cells.all(options);
    List<Cell> chosen =
        all.stream().filter(cell -> options.cells().matcher(cell.name()).find()).toList();
    List<String> names = all.stream().map(Cell::name).toList();
    if (chosen.isEmpty()) {
      throw new IllegalArgumentException(
          "--cells: found '%s', expected part of one of: %s"
              .formatted(options.cells(), String.join("; ", names)));
    }
    PeerCommands peers =
        options.peer().isEmpty()
            ? PeerCommands.NONE
            : PeerCommands.read(Path.of(options.peer()), names);
    Cells.prepare(chosen, options).forEach(file::note);
    Optional.of(ReportOptions.text(property, "note", ""))
        .filter(note -> !note.isEmpty())
        .ifPresent(file::note);
    ReportCommand command = new ReportCommand(file, chosen, peers, System::nanoTime);
    int code = command.run(ReportOptions.text(property, "command", ""), options);
    System.out.print(Files.readString(file.table()));
    System.out.printf("%nwritten to %s and %s%n", file.table(), file.file());
    return code;
  }

  /** Measures what the file does not have yet; returns 1 when something failed. */
  int run(String typed, ReportOptions options) throws Exception {
    Map<String, String> skipped = new LinkedHashMap<>();
    cells.forEach(cell -> cell.missing().ifPresent(reason -> skipped.put(cell.name(), reason)));
    file.start(typed, options, skipped);
    List<Cell> measurable = cells.stream().filter(cell -> cell.missing().isEmpty()).toList();
    long start = nanos.getAsLong();
    long limit = options.minutes() == 0 ? Long.MAX_VALUE : options.minutes() * NANOS_PER_MINUTE;
    for (int turn = 1; turn <= options.turns(); turn++) {
      for (Cell cell : measurable) {
        if (nanos.getAsLong() - start >= limit) {
          skipUnmeasured(measurable, "the %s minutes are over".formatted(options.minutes()));
          return exitCode();
        }
        measure(turn, cell.name(), Optional.empty(), cell.measurement());
        Optional<String> peer = peers.keyOf(cell.name());
        if (peer.isPresent()) {
          measurePeer(turn, peer.get(), cell.figures(), options);
        }
      }
    }
    return exitCode();
  }

  /** Measures a peer once with each Python. */
  private void measurePeer(int turn, String key, List<Figure> figures, ReportOptions options)
      throws IOException, InterruptedException {
    Map<String, String> pythons = options.pythons().isEmpty() ? Map.of("", "") : options.pythons();
    for (Map.Entry<String, String> python : pythons.entrySet()) {
      measure(
          turn,
          key,
          Optional.of(python.getKey()),
          () -> peers.measure(key, figures, options.rounds(), python.getValue()));
    }
  }

  private void skipUnmeasured(List<Cell> measurable, String reason) throws IOException {
    Set<String> tried =
        file.measurements().stream().map(Measured::cell).collect(Collectors.toSet());
    file.skip(
        measurable.stream().map(Cell::name).filter(name -> !tried.contains(name)).toList(), reason);
  }

  private int exitCode() {
    return failures > 0 ? 1 : 0;
  }

  private void measure(int turn, String name, Optional<String> peer, Cell.Measurement measurement)
      throws IOException, InterruptedException {
    if (file.has(turn, name, peer)) {
      return;
    }
    String what = "turn %s, %s%s".formatted(turn, ReportTable.program(peer), name);
    String at = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    double load = Machine.load();
    Map<Figure, Double> figures = Map.of();
    Optional<String> failure = Optional.empty();
    System.err.printf("%s ...%n", what);
    try {
      figures = measurement.measure();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      failures++;
      failure = Optional.of(String.valueOf(e.getMessage()));
      System.err.printf("FAILED: %s: %s%n", what, e.getMessage());
    }
    file.add(new Measured(turn, name, peer, at, load, figures, failure));
  }
}
