package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * A job whose roles run in one JVM each, and the events that it has recorded so far. It takes some
 * five steps a second until it is released.
 */
record ProcessRun(Path folder, CompletableFuture<CommandRun> command) {

  private static final Duration LIMIT = Duration.ofSeconds(240);

  /** Starts a job that lasts at least a minute, or until it is released. */
  static ProcessRun start(Path folder, String job, String... settings) {
    List<String> arguments = arguments(folder, job, settings);
    arguments.add("--processes");
    String[] all = arguments.toArray(String[]::new);
    return new ProcessRun(folder, CompletableFuture.supplyAsync(() -> CommandRun.of(all)));
  }

  /** Trains the same job at full speed, with all roles in this JVM. */
  static CommandRun inThisJvm(Path folder, String job, String... settings) throws IOException {
    Pace.of(folder).release();
    return CommandRun.of(arguments(folder, job, settings).toArray(String[]::new));
  }

  private static List<String> arguments(Path folder, String job, String... settings) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/" + job + ".json", "--set", "steps=300"));
    arguments.addAll(List.of("--run-dir", folder.toString(), "--set", "workers.batch=64"));
    arguments.addAll(List.of("--set", "data.train=2000", "--set", "data.test=500"));
    Stream.concat(Pace.of(folder).settings(3).stream(), Stream.of(settings))
        .forEach(setting -> arguments.addAll(List.of("--set", setting)));
    return arguments;
  }

  /**
   * Waits for the condition or the run's end. It ignores exceptions of other threads, because a
   * thread of a closed Hazelcast may still throw one.
   */
  void await(Callable<Boolean> condition) {
    Awaitility.await()
        .dontCatchUncaughtExceptions()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(50))
        .until(() -> command.isDone() || condition.call());
  }

  /** Lets the job continue at full speed. */
  void release() throws IOException {
    Pace.of(folder).release();
  }

  /** Releases the job and waits for its end. */
  CommandRun ended() throws Exception {
    release();
    return command.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  static void signal(String name, ProcessHandle to) throws Exception {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(to.pid())).start();
    assertEquals(0, kill.waitFor(), "kill -" + name);
  }

  /** Returns the running process that joined last with this role and rank. */
  ProcessHandle process(String role, int rank) throws IOException {
    return events("memberJoined")
        .filter(event -> event.getString("role").equals(role) && event.getInteger("rank") == rank)
        .map(event -> Long.parseLong(event.getString("node").replaceAll(".* pid ", "")))
        .flatMap(pid -> ProcessHandle.of(pid).stream())
        .reduce((before, newest) -> newest)
        .orElseThrow(
            () ->
                new AssertionError(
                    "no process of %s %d runs; the command: %s"
                        .formatted(role, rank, command.isDone() ? command.join() : "runs")));
  }

  long count(String type) throws IOException {
    return events(type).count();
  }

  /** Returns the samples of a step of each worker, once they were divided by speed. */
  Optional<List<Integer>> shares() throws IOException {
    return events("batchesDivided")
        .map(event -> event.getJsonArray("shares").stream().map(Integer.class::cast).toList())
        .reduce((before, newest) -> newest);
  }

  /** Returns true when an event of this type named this role and incarnation. */
  boolean happened(String type, String role, int incarnation) throws IOException {
    return events(type)
        .filter(event -> event.getString("role").equals(role))
        .anyMatch(event -> event.getInteger("incarnation") == incarnation);
  }

  /** Returns true when an event of this type named this role, rank and incarnation. */
  boolean happened(String type, String role, int rank, int incarnation) throws IOException {
    return events(type)
        .filter(event -> event.getString("role").equals(role) && event.getInteger("rank") == rank)
        .anyMatch(event -> event.getInteger("incarnation") == incarnation);
  }

  JsonObject summary() throws IOException {
    return new JsonObject(Files.readString(folder.resolve("summary.json")));
  }

  private Stream<JsonObject> events(String type) throws IOException {
    Path file = folder.resolve("events.jsonl");
    return (Files.exists(file) ? Files.readString(file) : "")
        .lines()
        .filter(line -> line.startsWith("{\"type\":\"" + type + "\"") && line.endsWith("}"))
        .map(JsonObject::new);
  }
}
