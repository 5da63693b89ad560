package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.gpu.CheckRow.Figure;
import io.vertigrad.benchmarks.gpu.CheckRow.Measurement;
import io.vertigrad.benchmarks.gpu.RowResult.Outcome;
import io.vertigrad.benchmarks.report.Repetitions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Measures the rows one after the other, each beside its peer by turns. A row that fails or takes
 * too long does not stop the others; rows that would begin after the last minute are not run.
 */
public final class GpuCheck {

  private static final int TURNS = 2;

  private final Sitting sitting;
  private final List<CheckRow> rows;
  private final ResultFiles files;
  private final LongSupplier nanos;
  private final long start;

  GpuCheck(Sitting sitting, List<CheckRow> rows, ResultFiles files, LongSupplier nanos) {
    this.sitting = sitting;
    this.rows = rows;
    this.files = files;
    this.nanos = nanos;
    this.start = nanos.getAsLong();
  }

  /**
   * Checks, prints the table and exits with 1 when a row failed or missed its aim.
   *
   * @param arguments the options of {@code benchmarks/gpu/run}
   */
  public static void main(String[] arguments) throws Exception {
    GpuCheckOptions options;
    try {
      options =
          GpuCheckOptions.read(
              List.of(arguments),
              Path.of(System.getProperty("vertigrad.gpu.home", ".")),
              Path.of(System.getProperty("vertigrad.gpu.check", "benchmarks")));
    } catch (IllegalArgumentException e) {
      System.err.println("benchmarks/gpu/run: " + e.getMessage());
      System.exit(2);
      return;
    }
    System.exit(run(options));
  }

  /** Returns the exit code: 1 when a row failed or missed its aim, 2 when there is no such row. */
  static int run(GpuCheckOptions options) throws Exception {
    Sitting sitting = new Sitting(options);
    Peers peers = Peers.find(options);
    List<CheckRow> all = CheckRows.all(options, peers);
    List<CheckRow> chosen =
        all.stream().filter(row -> options.only().matcher(row.name()).find()).toList();
    if (options.list() || chosen.isEmpty()) {
      all.forEach(row -> System.out.println(row.name()));
      if (!options.list()) {
        System.err.printf(
            "benchmarks/gpu/run: --only: found '%s', expected part of a name above%n",
            options.only());
      }
      return options.list() ? 0 : 2;
    }
    ResultFiles files = new ResultFiles(options, SittingFacts.find(options, peers));
    List<RowResult> results = new GpuCheck(sitting, chosen, files, System::nanoTime).run();
    System.out.print(files.table(results));
    System.out.printf("%nwritten to %s%n", options.out().resolve(ResultFiles.TABLE));
    return results.stream().anyMatch(RowResult::isWrong) ? 1 : 0;
  }

  /** Measures all rows; the files are complete after each. */
  List<RowResult> run() throws IOException, InterruptedException {
    List<RowResult> results = new ArrayList<>();
    for (CheckRow row : rows) {
      RowResult result = result(row);
      System.err.printf(
          "%s: %s%s%n",
          row.name(),
          result.value().isPresent()
              ? Aim.number(result.value().getAsDouble()) + " " + row.unit() + ", "
              : "",
          result.outcome() + (result.remark().isEmpty() ? "" : " (" + result.remark() + ")"));
      results.add(result);
      files.write(results);
    }
    return results;
  }

  private RowResult result(CheckRow row) throws InterruptedException {
    if (row.missing().isPresent()) {
      return RowResult.without(row, Outcome.SKIPPED, 0, row.missing().get());
    }
    long left = leftNanos();
    if (left <= 0) {
      String why = "the %s minutes are over".formatted(Aim.number(sitting.options().minutes()));
      return RowResult.without(row, Outcome.NOT_RUN, 0, why);
    }
    System.err.printf("%s ...%n", row.name());
    long began = nanos.getAsLong();
    try {
      return measured(row, began);
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) {
      String why = e.getMessage() == null ? e.toString() : e.getMessage();
      return RowResult.without(row, Outcome.FAILED, seconds(began), why);
    }
  }

  private RowResult measured(CheckRow row, long began) throws Exception {
    List<Double> values = new ArrayList<>();
    List<Double> peers = new ArrayList<>();
    List<Double> ratios = new ArrayList<>();
    Set<String> remarks = new LinkedHashSet<>();
    int turns = row.peer().isEmpty() || sitting.options().quick() ? 1 : TURNS;
    for (int turn = 0; turn < turns && (turn == 0 || leftNanos() > 0); turn++) {
      Figure figure = measure(row, row.ours());
      values.add(figure.value());
      if (turn == 0 && !figure.remark().isEmpty()) {
        remarks.add(figure.remark());
      }
      if (row.peer().isPresent()) {
        try {
          Figure peer = measure(row, row.peer().get());
          peers.add(peer.value());
          ratios.add(row.unit().ratio(figure.value(), peer.value()));
          if (turn == 0 && !peer.remark().isEmpty()) {
            remarks.add("PyTorch: " + peer.remark());
          }
        } catch (InterruptedException e) {
          throw e;
        } catch (Exception e) {
          remarks.add("PyTorch: " + e.getMessage());
        }
      }
    }
    double value = Repetitions.of(values).median();
    OptionalDouble ratio = median(ratios);
    return new RowResult(
        row,
        outcome(row, value, ratio),
        OptionalDouble.of(value),
        median(peers),
        ratio,
        seconds(began),
        String.join("; ", remarks));
  }

  private Figure measure(CheckRow row, Measurement measurement) throws Exception {
    sitting.endAt(System.nanoTime() + (long) (row.limitSeconds() * 1e9));
    return measurement.measure(sitting);
  }

  /** Without a peer's figure there is nothing to judge a ratio by. */
  private Outcome outcome(CheckRow row, double value, OptionalDouble ratio) {
    boolean judged =
        !row.aim().equals(Aim.NONE)
            && !(row.aim().isOfSpeed() && (sitting.options().rehearsal() || ratio.isEmpty()));
    if (!judged) {
      return Outcome.MEASURED;
    }
    return row.aim().reached(value, ratio) ? Outcome.PASSED : Outcome.MISSED;
  }

  private static OptionalDouble median(List<Double> values) {
    return values.isEmpty()
        ? OptionalDouble.empty()
        : OptionalDouble.of(Repetitions.of(values).median());
  }

  private long leftNanos() {
    return start + (long) (sitting.options().minutes() * 60e9) - nanos.getAsLong();
  }

  private double seconds(long sinceNanos) {
    return (nanos.getAsLong() - sinceNanos) / 1e9;
  }
}
