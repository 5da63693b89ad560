package io.vertigrad.testkit.chaos;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Finds the processes of one run: those whose command line contains its folder. Needs Linux. */
final class RunProcesses {

  private final Path run;

  RunProcesses(Path run) {
    this.run = run;
  }

  /** Returns all processes, the coordinator included. */
  List<ProcessHandle> all() {
    return ProcessHandle.allProcesses().filter(this::belongs).toList();
  }

  /** Returns all processes except the coordinator's; none while the coordinator is unknown. */
  List<ProcessHandle> members() {
    Optional<ProcessHandle> coordinator = coordinator();
    return coordinator.isEmpty()
        ? List.of()
        : all().stream().filter(process -> !process.equals(coordinator.get())).toList();
  }

  /** Returns the running process that last joined with this role and rank. */
  Optional<ProcessHandle> member(String place, List<JsonObject> events) {
    return events.stream()
        .filter(event -> event.getString("type").equals("memberJoined"))
        .filter(event -> place.equals(event.getString("role") + " " + event.getInteger("rank")))
        .max(Comparator.comparingLong(event -> event.getLong("timeMillis")))
        .map(event -> event.getString("node").replaceAll(".* pid ", ""))
        .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid)))
        .filter(this::belongs)
        .filter(process -> coordinator().filter(process::equals).isEmpty());
  }

  /** Returns the running process that holds the run's lock. */
  Optional<ProcessHandle> coordinator() {
    try {
      return Files.readString(run.resolve("lock"))
          .lines()
          .findFirst()
          .filter(text -> !text.isBlank())
          .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid.strip())))
          .filter(this::belongs);
    } catch (IOException notYet) {
      return Optional.empty();
    }
  }

  /** Returns the process id and command line, for messages. */
  static String text(ProcessHandle process) {
    String line = commandLine(process);
    return "process %s: ... %s"
        .formatted(process.pid(), line.substring(Math.max(0, line.length() - 200)));
  }

  /**
   * Returns true for a process of the run. The command line of a process that has ended, or is a
   * zombie, is empty.
   */
  private boolean belongs(ProcessHandle process) {
    return process.pid() != ProcessHandle.current().pid()
        && commandLine(process).contains(run.toString());
  }

  private static String commandLine(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"))
          .replace('\0', ' ');
    } catch (IOException gone) {
      return "";
    }
  }
}
