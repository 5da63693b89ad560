package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.gpu.CheckRow.Figure;
import io.vertigrad.benchmarks.gpu.CheckRow.Measurement;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Pattern;

/**
 * What goes wrong on purpose: killed processes, a card that is too small, one that is not there.
 */
final class Faults {

  /** How long members go on without a coordinator. */
  static final int ORPHAN_SECONDS = 5;

  private static final long LOOK_MILLIS = 50;
  private static final Pattern STACK = Pattern.compile("(?m)^\\s+at [\\w.$/]+\\(");
  private static final Pattern MEMORY = Pattern.compile("(?i)memory");
  private static final Pattern WHAT_TO_CHANGE = Pattern.compile("(?i)batch");

  private Faults() {}

  /** Something that becomes true while a command runs. */
  @FunctionalInterface
  private interface Condition {
    boolean holds() throws IOException;
  }

  /** Kills worker 0 in the middle; the run must end with the hash of an undisturbed one. */
  static Measurement killedWorker(JsonObject job) {
    return sitting -> {
      Path file = write(sitting, "killed-worker", job);
      String expected = hash(sitting.train("undisturbed", List.of(file.toString()), Map.of()));
      Path run = sitting.folder("killed-worker");
      try (LimitedCommand command = processes(sitting, "killed-worker", run, file)) {
        await("a quarter of the steps", command, () -> version(run) >= steps(job) / 4);
        long pid =
            worker(run)
                .orElseThrow(() -> new IllegalStateException("found no process of worker 0"));
        long killed = System.currentTimeMillis();
        kill(pid);
        command.awaitSuccess();
        expectHash(expected, run);
        double back =
            Sitting.events(run).stream()
                .filter(event -> isWorkerZero(event) && event.getLong("timeMillis") > killed)
                .mapToDouble(event -> (event.getLong("timeMillis") - killed) / 1e3)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("worker 0 did not join again"));
        return new Figure(back, "ended with the undisturbed hash");
      } finally {
        killAll(run);
      }
    };
  }

  /**
   * Kills the coordinator in the middle: its members must end, and with them their memory on the
   * card; then the run is resumed.
   */
  static Measurement killedCoordinator(JsonObject job) {
    JsonObject orphaned =
        job.copy()
            .put("exchange", new JsonObject().put("orphanSeconds", ORPHAN_SECONDS))
            .put("checkpoint", new JsonObject().put("seconds", 1));
    return sitting -> {
      Path file = write(sitting, "killed-coordinator", orphaned);
      String expected = hash(sitting.train("undisturbed", List.of(file.toString()), Map.of()));
      OptionalDouble before = Sitting.usedMebibytes();
      Path run = sitting.folder("killed-coordinator");
      try (LimitedCommand command = processes(sitting, "killed-coordinator", run, file)) {
        await("a quarter of the steps", command, () -> version(run) >= steps(job) / 4);
        long killed = System.nanoTime();
        kill(command.handle().pid());
        await("the members' end", sitting, () -> processes(run).isEmpty());
        double gone = (System.nanoTime() - killed) / 1e9;
        OptionalDouble after = Sitting.usedMebibytes();
        try (LimitedCommand resumed =
            sitting.vertigrad(
                "resume", List.of("resume", run.toString(), "--no-dashboard"), Map.of())) {
          resumed.awaitSuccess();
        }
        expectHash(expected, run);
        String memory =
            before.isPresent() && after.isPresent()
                ? String.format(
                    Locale.ROOT,
                    "; %.0f MiB of the card in use before the run, %.0f after its members",
                    before.getAsDouble(),
                    after.getAsDouble())
                : "";
        return new Figure(gone, "resumed to the undisturbed hash" + memory);
      } finally {
        killAll(run);
      }
    };
  }

  /** Trains on a device that is not there: one sentence must say so, without a stack trace. */
  static Measurement refused(JsonObject job, String device, Map<String, String> environment) {
    JsonObject wrong = job.copy();
    wrong.getJsonObject("workers").put("device", device);
    return sitting -> {
      Path file = write(sitting, "refused", wrong);
      LimitedCommand.Output output = failure(sitting, "refused", file, environment);
      expect("the reason to name the device", output, Pattern.compile("(?i)gpu|cuda"));
      return new Figure(output.seconds(), lastLine(output));
    };
  }

  /** Trains with a batch that the card has no room for. */
  static Measurement outOfMemory(JsonObject job) {
    return sitting -> {
      Path file = write(sitting, "out-of-memory", job);
      LimitedCommand.Output output = failure(sitting, "out-of-memory", file, Map.of());
      expect("the reason to be the memory", output, MEMORY);
      expect("a sentence about the batch", output, WHAT_TO_CHANGE);
      return new Figure(output.seconds(), lastLine(output));
    };
  }

  /** Returns the largest memory of a worker's process on the card. */
  static Measurement memoryOfProcesses(JsonObject job) {
    return sitting -> {
      Path file = write(sitting, "memory-of-processes", job);
      Path run = sitting.folder("memory-of-processes");
      Map<Long, Double> most = new HashMap<>();
      try (LimitedCommand command = processes(sitting, "memory-of-processes", run, file)) {
        await(
            "the end",
            sitting,
            () -> {
              used().forEach((pid, mebibytes) -> most.merge(pid, mebibytes, Math::max));
              return !command.isAlive();
            });
        command.awaitSuccess();
      } finally {
        killAll(run);
      }
      List<Long> workers =
          Sitting.events(run).stream()
              .filter(event -> event.getString("type").equals("memberJoined"))
              .filter(event -> event.getString("role").equals("worker"))
              .map(Faults::pid)
              .toList();
      if (most.isEmpty()) {
        throw new IllegalStateException("nvidia-smi names no process, expected the workers'");
      }
      // In a container nvidia-smi may count process ids in another way.
      double largest =
          most.entrySet().stream()
              .filter(one -> workers.contains(one.getKey()))
              .mapToDouble(Map.Entry::getValue)
              .max()
              .orElseGet(() -> most.values().stream().mapToDouble(one -> one).max().orElse(0));
      return new Figure(largest, "MiB by process: " + most.values());
    };
  }

  private static Map<Long, Double> used() {
    Map<Long, Double> used = new HashMap<>();
    Sitting.query("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
        .ifPresent(
            text ->
                text.lines()
                    .map(line -> line.split(", *"))
                    .filter(parts -> parts.length == 2 && parts[1].matches("\\d+"))
                    .forEach(
                        parts -> used.put(Long.parseLong(parts[0]), Double.parseDouble(parts[1]))));
    return used;
  }

  private static LimitedCommand.Output failure(
      Sitting sitting, String label, Path file, Map<String, String> environment)
      throws IOException, InterruptedException {
    Path run = sitting.folder(label);
    try (LimitedCommand command =
        sitting.start(label, run, List.of(file.toString()), environment)) {
      LimitedCommand.Output output = command.await();
      if (output.code() == 0) {
        throw new IllegalStateException("found exit code 0, expected the job to fail");
      }
      if (STACK.matcher(output.text()).find()) {
        throw new IllegalStateException(
            "found a stack trace, expected one sentence: " + output.tail());
      }
      return output;
    }
  }

  private static void expect(String what, LimitedCommand.Output output, Pattern pattern) {
    if (!pattern.matcher(output.text()).find()) {
      throw new IllegalStateException("found '%s', expected %s".formatted(output.tail(), what));
    }
  }

  private static void expectHash(String expected, Path run) throws IOException {
    String found = hash(run);
    if (!found.equals(expected)) {
      throw new IllegalStateException(
          "found hash %s, expected %s of the undisturbed run".formatted(found, expected));
    }
  }

  private static Path write(Sitting sitting, String label, JsonObject job) throws IOException {
    Path file = sitting.options().out().resolve("jobs").resolve(label + ".json");
    Files.createDirectories(file.getParent());
    return Files.writeString(file, job.encodePrettily());
  }

  private static LimitedCommand processes(Sitting sitting, String label, Path run, Path file)
      throws IOException {
    return sitting.start(label, run, List.of(file.toString(), "--processes"), Map.of());
  }

  private static String hash(Path run) throws IOException {
    return Sitting.summary(run).getString("parametersHash");
  }

  private static long steps(JsonObject job) {
    return job.getLong("steps");
  }

  /** Returns the highest version that the run has reported. */
  private static long version(Path run) throws IOException {
    return Sitting.events(run).stream()
        .filter(event -> event.getString("type").endsWith("Progress"))
        .mapToLong(event -> event.getLong("version", 0L))
        .max()
        .orElse(0);
  }

  private static Optional<Long> worker(Path run) throws IOException {
    return Sitting.events(run).stream()
        .filter(Faults::isWorkerZero)
        .map(Faults::pid)
        .reduce((first, last) -> last);
  }

  private static boolean isWorkerZero(JsonObject event) {
    return event.getString("type").equals("memberJoined")
        && event.getString("role").equals("worker")
        && event.getInteger("rank") == 0;
  }

  private static long pid(JsonObject memberJoined) {
    return Long.parseLong(memberJoined.getString("node").replaceAll(".* pid ", ""));
  }

  private static void kill(long pid) {
    ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
  }

  private static void killAll(Path run) {
    processes(run).forEach(ProcessHandle::destroyForcibly);
  }

  /** Returns the processes whose command line contains the run's folder. Needs Linux. */
  private static List<ProcessHandle> processes(Path run) {
    return ProcessHandle.allProcesses()
        .filter(process -> process.pid() != ProcessHandle.current().pid())
        .filter(process -> commandLine(process).contains(run.toString()))
        .toList();
  }

  private static String commandLine(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
    } catch (IOException gone) {
      return "";
    }
  }

  private static void await(String what, LimitedCommand command, Condition condition)
      throws IOException, InterruptedException {
    while (!condition.holds()) {
      if (!command.isAlive()) {
        throw new IllegalStateException(
            "the run ended before %s: %s"
                .formatted(what, new LimitedCommand.Output(0, command.text(), 0).tail()));
      }
      Thread.sleep(LOOK_MILLIS);
    }
  }

  private static void await(String what, Sitting sitting, Condition condition)
      throws IOException, InterruptedException {
    while (!condition.holds()) {
      if (sitting.leftNanos() <= 0) {
        throw new IllegalStateException("waited too long for " + what);
      }
      Thread.sleep(LOOK_MILLIS);
    }
  }

  private static String lastLine(LimitedCommand.Output output) {
    List<String> lines = new ArrayList<>(output.text().strip().lines().toList());
    lines.removeIf(String::isBlank);
    return lines.isEmpty() ? "" : lines.get(lines.size() - 1);
  }
}
