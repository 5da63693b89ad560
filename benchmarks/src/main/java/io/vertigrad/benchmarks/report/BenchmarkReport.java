package io.vertigrad.benchmarks.report;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The results of one benchmark: rows, the machine they were measured on, and remarks. */
public final class BenchmarkReport {

  private final String benchmark;
  private final boolean quick;
  private final Machine machine = Machine.here();
  private final List<BenchmarkRow> rows = new ArrayList<>();
  private final List<BenchmarkRow> details = new ArrayList<>();
  private final List<String> remarks = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private boolean detailed;

  public BenchmarkReport(String benchmark, boolean quick) {
    this.benchmark = benchmark;
    this.quick = quick;
  }

  /** Adds a row, and prints it to standard error, because the whole table may take a while. */
  public void add(BenchmarkRow row) {
    rows.add(row);
    System.err.println(
        "  %s: %s %s"
            .formatted(row.name(), BenchmarkTable.number(row.measured().median()), row.unit()));
  }

  /** Adds a row that is only in the file, unless details are printed. */
  public void addDetail(BenchmarkRow row) {
    details.add(row);
  }

  /** Prints details in a table of their own, below the rows. */
  public void printDetails() {
    detailed = true;
  }

  /**
   * Adds a remark that a reader of the numbers must know, such as a case that was left out and why.
   */
  public void remark(String text) {
    remarks.add(text);
  }

  /** Adds a failure; {@code benchmarks/run} then exits with 1. */
  public void fail(String text) {
    failures.add(text);
    System.err.println("  FAILED: " + text);
  }

  public List<String> failures() {
    return List.copyOf(failures);
  }

  public List<BenchmarkRow> rows() {
    return List.copyOf(rows);
  }

  public List<BenchmarkRow> details() {
    return List.copyOf(details);
  }

  JsonObject toJson() {
    JsonObject json = new JsonObject();
    if (!details.isEmpty()) {
      json.put("details", toJson(details));
    }
    if (!failures.isEmpty()) {
      json.put("failures", new JsonArray(List.copyOf(failures)));
    }
    return json.put("benchmark", benchmark)
        .put("quick", quick)
        .put("machine", machine.toJson())
        .put("rows", toJson(rows))
        .put("remarks", new JsonArray(List.copyOf(remarks)));
  }

  private static JsonArray toJson(List<BenchmarkRow> rows) {
    JsonArray all = new JsonArray();
    rows.forEach(row -> all.add(row.toJson()));
    return all;
  }

  public void print(PrintStream out) {
    out.printf("%n%s%s on %s%n%n", benchmark, quick ? " (quick)" : "", machine);
    out.print(new BenchmarkTable(rows));
    if (detailed) {
      out.printf("%n%s", new BenchmarkTable(details));
    }
    remarks.forEach(remark -> out.println("  * " + remark));
    failures.forEach(failure -> out.println("  FAILED: " + failure));
  }

  /** Writes {@code <benchmark>.json} into a directory and returns the file. */
  public Path write(Path directory) throws IOException {
    Path file = directory.resolve(benchmark + ".json");
    Files.createDirectories(directory);
    return Files.writeString(file, toJson().encodePrettily());
  }
}
