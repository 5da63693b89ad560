package io.vertigrad.benchmarks.process;

import java.io.File;
import java.util.List;
import java.util.stream.Stream;

/**
 * The processors that a child may use, so that two children do not take them from each other.
 *
 * @param prefix what goes before a command line to keep it there; empty for all processors
 */
public record Processors(List<String> prefix) {

  private static final String TASKSET = "taskset";
  private static final int COUNT = Runtime.getRuntime().availableProcessors();

  public Processors {
    prefix = List.copyOf(prefix);
  }

  /** Whether this machine has two processors and a command that keeps processes apart. */
  public static boolean canBeSplit() {
    return COUNT > 1
        && Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
            .anyMatch(folder -> new File(folder, TASKSET).canExecute());
  }

  /** All of them. */
  public static Processors any() {
    return new Processors(List.of());
  }

  /** All but the last one. */
  public static Processors first() {
    return new Processors(List.of(TASKSET, "-c", COUNT == 2 ? "0" : "0-" + (COUNT - 2)));
  }

  /** The last one, which {@link #first()} leaves free. */
  public static Processors last() {
    return new Processors(List.of(TASKSET, "-c", String.valueOf(COUNT - 1)));
  }
}
