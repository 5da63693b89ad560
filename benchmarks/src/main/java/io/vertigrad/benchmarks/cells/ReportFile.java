package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.report.Machine;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * A report on disk: every measurement as JSON, and beside it the table as Markdown. Both are
 * written anew after each measurement, so that a report that was interrupted can go on.
 */
final class ReportFile {

  /** The conditions that must be the same for all measurements of a report. */
  private static final List<String> SAME = List.of("revision", "cpu", "cores", "jvm", "system");

  private final Path file;
  private final JsonObject machine;
  private final String date;
  private final List<String> commands = new ArrayList<>();
  private final List<Measured> measurements = new ArrayList<>();
  private final Map<String, String> skipped = new LinkedHashMap<>();
  private final Set<String> notes = new LinkedHashSet<>();
  private ReportOptions options;

  private ReportFile(Path file, JsonObject machine, String date, ReportOptions options) {
    this.file = file;
    this.machine = machine;
    this.date = date;
    this.options = options;
  }

  /** Begins a report of this machine. */
  static ReportFile begin(Path file, Machine machine, ReportOptions options) {
    String date = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    return new ReportFile(file, machine.toJson(), date, options);
  }

  /**
   * Reads a report that goes on.
   *
   * @throws IllegalArgumentException when it is no report, or one of another revision or machine
   */
  static ReportFile read(Path file, Machine here) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException("--resume %s: found no such file".formatted(file));
    }
    ReportFile report;
    try {
      report = fromJson(file, new JsonObject(Files.readString(file)));
    } catch (DecodeException | ClassCastException | NullPointerException e) {
      throw new IllegalArgumentException(
          "--resume %s: expected the JSON file of an earlier report".formatted(file), e);
    }
    JsonObject now = here.toJson();
    for (String key : SAME) {
      if (!now.getValue(key).equals(report.machine.getValue(key))) {
        throw new IllegalArgumentException(
            "--resume %s: %s: found %s here, expected %s as in the report"
                .formatted(file, key, now.getValue(key), report.machine.getValue(key)));
      }
    }
    return report;
  }

  private static ReportFile fromJson(Path file, JsonObject json) {
    ReportFile report =
        new ReportFile(
            file,
            json.getJsonObject("machine").copy(),
            json.getString("date"),
            ReportOptions.fromJson(json.getJsonObject("options")));
    json.getJsonArray("commands").forEach(command -> report.commands.add((String) command));
    json.getJsonObject("skipped")
        .forEach(entry -> report.skipped.put(entry.getKey(), (String) entry.getValue()));
    json.getJsonArray("notes", new JsonArray()).forEach(note -> report.notes.add((String) note));
    json.getJsonArray("measurements")
        .forEach(one -> report.measurements.add(Measured.fromJson((JsonObject) one)));
    return report;
  }

  /**
   * Notes how the report is made from here on.
   *
   * @param command as it was typed
   * @param cells those that cannot be measured, with the reason
   */
  void start(String command, ReportOptions with, Map<String, String> cells) throws IOException {
    commands.add(command);
    options = with;
    skipped.clear();
    skipped.putAll(cells);
    write();
  }

  /** Lists cells as skipped that were to be measured, with the reason. */
  void skip(List<String> cells, String reason) throws IOException {
    cells.forEach(cell -> skipped.put(cell, reason));
    write();
  }

  /** Adds a sentence about how everything is measured; it is written with the next measurement. */
  void note(String sentence) {
    notes.add(sentence);
  }

  /** Adds a measurement, in place of one of the same turn that failed. */
  void add(Measured measured) throws IOException {
    measurements.removeIf(measured::repeats);
    measurements.add(measured);
    write();
  }

  /** Returns whether something was measured in a turn without a failure. */
  boolean has(int turn, String cell, Optional<String> peer) {
    return measurements.stream()
        .anyMatch(
            one ->
                one.turn() == turn
                    && one.cell().equals(cell)
                    && one.peer().equals(peer)
                    && one.failure().isEmpty());
  }

  /** Returns the names of the cells with figures, in the order of their first measurement. */
  List<String> measuredCells() {
    return measurements.stream()
        .filter(one -> one.peer().isEmpty() && one.failure().isEmpty())
        .map(Measured::cell)
        .distinct()
        .toList();
  }

  /** Returns the key of the peer that was measured beside a cell. */
  private Optional<String> peerOf(String cell) {
    return measurements.stream()
        .filter(one -> one.peer().isPresent() && Cell.isNamedBy(one.cell(), cell))
        .map(Measured::cell)
        .max(Comparator.comparingInt(String::length));
  }

  /** Returns the versions of PyTorch that were measured, at least one; empty texts as measured. */
  List<String> versions() {
    List<String> versions =
        measurements.stream().flatMap(one -> one.peer().stream()).distinct().toList();
    return versions.isEmpty() ? List.of("") : versions;
  }

  /** Returns the values of a figure of the peer of a cell by turn. */
  Map<Integer, Double> ofPeer(String cell, String version, Figure figure) {
    return peerOf(cell).map(key -> byTurn(key, Optional.of(version), figure)).orElse(Map.of());
  }

  /** Returns the values of a figure of a cell by turn. */
  Map<Integer, Double> byTurn(String cell, Figure figure) {
    return byTurn(cell, Optional.empty(), figure);
  }

  private Map<Integer, Double> byTurn(String name, Optional<String> peer, Figure figure) {
    Map<Integer, Double> values = new TreeMap<>();
    measurements.stream()
        .filter(one -> one.peer().equals(peer) && one.cell().equals(name))
        .filter(one -> one.figures().containsKey(figure))
        .forEach(one -> values.put(one.turn(), one.figures().get(figure)));
    return values;
  }

  /** Returns the file of the table. */
  Path table() {
    return file.resolveSibling(file.getFileName().toString().replaceFirst("\\.json$", "") + ".md");
  }

  Path file() {
    return file;
  }

  JsonObject machine() {
    return machine;
  }

  String date() {
    return date;
  }

  ReportOptions options() {
    return options;
  }

  List<String> commands() {
    return List.copyOf(commands);
  }

  List<Measured> measurements() {
    return List.copyOf(measurements);
  }

  Map<String, String> skipped() {
    return skipped;
  }

  Set<String> notes() {
    return notes;
  }

  private void write() throws IOException {
    JsonArray all = new JsonArray();
    measurements.forEach(one -> all.add(one.toJson()));
    JsonObject json =
        new JsonObject()
            .put("date", date)
            .put("machine", machine)
            .put("commands", new JsonArray(List.copyOf(commands)))
            .put("options", options.toJson())
            .put("skipped", new JsonObject(new LinkedHashMap<>(skipped)))
            .put("notes", new JsonArray(List.copyOf(notes)))
            .put("measurements", all);
    Files.createDirectories(file.toAbsolutePath().getParent());
    Path next = file.resolveSibling(file.getFileName() + ".next");
    Files.writeString(next, json.encodePrettily() + "\n");
    Files.move(next, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    Files.writeString(table(), new ReportTable(this).toString());
  }
}
