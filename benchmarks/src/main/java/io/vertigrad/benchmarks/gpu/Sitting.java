package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;

/**
 * Runs the commands of the rows: trainings, programs of this package, and peers. Each has a log,
 * and ends at the deadline of its row.
 */
final class Sitting {

  /** The engine that is checked. */
  static final String ENGINE = "pytorch";

  private static final String HEAP = "4g";
  private static final int QUERY_SECONDS = 10;

  /** What the start script sets for native libraries, for the programs that start without it. */
  private static final Map<String, String> NATIVE =
      Map.of(
          "OMP_NUM_THREADS", "1",
          "OMP_WAIT_POLICY", "PASSIVE",
          "OPENBLAS_NUM_THREADS", "1",
          "MALLOC_ARENA_MAX", "1");

  /**
   * Folders with the libraries of CUDA that {@code pack} brought; empty for those of the machine.
   * Peers must not find them.
   */
  private static final String LIBRARIES =
      System.getenv().getOrDefault("VERTIGRAD_GPU_LIBRARIES", "");

  private final GpuCheckOptions options;
  private long deadlineNanos;
  private int commands;

  Sitting(GpuCheckOptions options) {
    this.options = options;
  }

  GpuCheckOptions options() {
    return options;
  }

  /** Sets when the commands that follow are killed. */
  void endAt(long nanos) {
    deadlineNanos = nanos;
  }

  /** Returns the time until the deadline; negative when it is over. */
  long leftNanos() {
    return deadlineNanos - System.nanoTime();
  }

  /**
   * Trains a job to its end.
   *
   * @param label name of the log and of the run's folder
   * @param words what follows {@code train}: a job file, options, {@code --set}
   * @return the run's folder
   */
  Path train(String label, List<String> words, Map<String, String> environment)
      throws IOException, InterruptedException {
    Path run = folder(label);
    try (LimitedCommand command = start(label, run, words, environment)) {
      command.awaitSuccess();
    }
    return run;
  }

  /** Starts a training in a folder of {@link #folder}. */
  LimitedCommand start(String label, Path run, List<String> words, Map<String, String> environment)
      throws IOException {
    List<String> command = new ArrayList<>(List.of(vertigrad().toString(), "train"));
    command.addAll(words);
    command.addAll(List.of("--no-dashboard", "--run-dir", run.toString()));
    return start(label, command, withLibraries(environment));
  }

  /** Returns a folder that no other run has. */
  Path folder(String label) {
    return options.out().resolve("runs").resolve(++commands + "-" + label);
  }

  /** Starts any command of the start script. */
  LimitedCommand vertigrad(String label, List<String> words, Map<String, String> environment)
      throws IOException {
    List<String> command = new ArrayList<>(List.of(vertigrad().toString()));
    command.addAll(words);
    return start(label, command, withLibraries(environment));
  }

  /** Runs a main class of this package, whose last line of output is JSON. */
  JsonObject java(String label, Class<?> main, Map<String, String> environment, String... words)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(ChildJvm.settledOptions(HEAP));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(words));
    Map<String, String> all = new HashMap<>(NATIVE);
    all.putAll(environment);
    return answer(label, command, withLibraries(all));
  }

  /** Runs the peer program, whose last line of output is JSON. */
  JsonObject peer(String label, List<String> words) throws IOException, InterruptedException {
    List<String> command =
        new ArrayList<>(
            List.of(
                options.python(),
                options.check().resolve("peers/train.py").toString(),
                "--device",
                options.device().toString()));
    command.addAll(words);
    return answer(label, command, Map.of());
  }

  /**
   * Runs test classes of the engine with JUnit's console.
   *
   * @return the seconds that it took
   */
  double test(List<String> classes, String classPath) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(ChildJvm.settledOptions(HEAP));
    command.addAll(List.of("-cp", classPath, "org.junit.platform.console.ConsoleLauncher"));
    command.addAll(List.of("execute", "--disable-banner", "--details=tree"));
    for (String name : classes) {
      command.addAll(List.of("--select-class", "io.vertigrad.engine.pytorch." + name));
    }
    try (LimitedCommand one = start("tests", command, withLibraries(NATIVE))) {
      return one.awaitSuccess().seconds();
    }
  }

  /** Returns the summary of a run. */
  static JsonObject summary(Path run) throws IOException {
    return new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  /** Returns the events of a run so far; a line that is being written is left out. */
  static List<JsonObject> events(Path run) throws IOException {
    Path file = run.resolve("events.jsonl");
    List<JsonObject> events = new ArrayList<>();
    if (Files.exists(file)) {
      for (String line : Files.readAllLines(file)) {
        try {
          events.add(new JsonObject(line));
        } catch (DecodeException unfinished) {
          break;
        }
      }
    }
    return events;
  }

  /** Returns the memory in use on the GPU, in MiB; empty where {@code nvidia-smi} says nothing. */
  static OptionalDouble usedMebibytes() {
    return query("--query-gpu=memory.used", "--format=csv,noheader,nounits")
        .map(text -> OptionalDouble.of(Double.parseDouble(text.lines().findFirst().orElse("0"))))
        .orElse(OptionalDouble.empty());
  }

  /** Returns the output of {@code nvidia-smi}, if there is one that works. */
  static Optional<String> query(String... words) {
    List<String> command = new ArrayList<>(List.of("nvidia-smi"));
    command.addAll(List.of(words));
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      if (!process.waitFor(QUERY_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return Optional.empty();
      }
      String text = new String(process.getInputStream().readAllBytes()).strip();
      return process.exitValue() == 0 && !text.isEmpty() ? Optional.of(text) : Optional.empty();
    } catch (IOException none) {
      return Optional.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  private static Map<String, String> withLibraries(Map<String, String> environment) {
    if (LIBRARIES.isEmpty()) {
      return environment;
    }
    Map<String, String> all = new HashMap<>(environment);
    String own = System.getenv("LD_LIBRARY_PATH");
    all.put("LD_LIBRARY_PATH", own == null ? LIBRARIES : LIBRARIES + ":" + own);
    return all;
  }

  private Path vertigrad() {
    Path released = options.home().resolve("bin/vertigrad");
    return Files.exists(released) ? released : options.home().resolve("vertigrad");
  }

  private JsonObject answer(String label, List<String> command, Map<String, String> environment)
      throws IOException, InterruptedException {
    try (LimitedCommand one = start(label, command, environment)) {
      String text = one.awaitSuccess().text().strip();
      String last = text.substring(text.lastIndexOf('\n') + 1);
      try {
        return new JsonObject(last);
      } catch (DecodeException e) {
        throw new IOException("%s: found '%s', expected JSON".formatted(label, last), e);
      }
    }
  }

  private LimitedCommand start(String label, List<String> command, Map<String, String> environment)
      throws IOException {
    Path log = options.out().resolve("logs").resolve(++commands + "-" + label + ".log");
    return new LimitedCommand(command, environment, options.home(), log, deadlineNanos);
  }
}
