package io.vertigrad.benchmarks.process;

import java.io.File;
import java.util.List;
import java.util.stream.Stream;

/**
 * The processors that a child may use, so that two children do not compete for one.
 *
 * @param prefix words before a command line that keep it on these processors; empty for all
 *     processors
 */
public record Processors(List<String> prefix) {

  private static final String TASKSET = "taskset";
  private static final int COUNT = Runtime.getRuntime().availableProcessors();

  public Processors {
    prefix = List.copyOf(prefix);
  }

  /**
   * Returns whether this machine has two processors and a command that assigns processes to them.
   */
  public static boolean canBeSplit() {
    return COUNT > 1
        && Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
            .anyMatch(folder -> new File(folder, TASKSET).canExecute());
  }

  /** Returns all processors. */
  public static Processors any() {
    return new Processors(List.of());
  }

  /** Returns all processors but the last. */
  public static Processors first() {
    return new Processors(List.of(TASKSET, "-c", COUNT == 2 ? "0" : "0-" + (COUNT - 2)));
  }

  /** Returns the last processor, which {@link #first()} leaves free. */
  public static Processors last() {
    return new Processors(List.of(TASKSET, "-c", String.valueOf(COUNT - 1)));
  }
}
