package io.vertigrad.launcher.comparison;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Compares runs that are over. */
public final class Comparison {

  private final List<FinishedRun> runs;
  private final ComparisonTable table;

  private Comparison(List<FinishedRun> runs) {
    this.runs = runs;
    table = ComparisonTable.of(runs);
  }

  /**
   * Reads the runs.
   *
   * @param folders the runs' folders
   * @throws io.vertigrad.launcher.job.InputException naming the folder and what is missing there
   */
  public static Comparison of(List<Path> folders) {
    return new Comparison(folders.stream().map(FinishedRun::read).toList());
  }

  /** Returns the lines of the table, and a sentence that names the best run if they compare. */
  public List<String> lines() {
    List<String> lines = new ArrayList<>(ComparisonText.of(table));
    RunRanking.verdict(runs.stream().map(FinishedRun::row).toList()).ifPresent(lines::add);
    return lines;
  }
}
