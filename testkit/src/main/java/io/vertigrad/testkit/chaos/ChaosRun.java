package io.vertigrad.testkit.chaos;

import io.vertigrad.testkit.chaos.RunEnd.Strike;
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
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Runs one job in its own processes and disturbs it by a plan until it ends. When its coordinator
 * is killed, it resumes the run, unless a standby does that.
 *
 * <p>One thread uses it, and it blocks. It needs Linux, because it finds processes in {@code
 * /proc}.
 */
final class ChaosRun {

  private static final long LIMIT_SECONDS = 900;
  private static final long VICTIM_SECONDS = 30;
  private static final long STANDBY_SECONDS = 60;
  private static final long LAST_WORDS_SECONDS = 20;
  private static final long NODE_SECONDS = 60;
  private static final long POLL_MILLIS = 100;
  private static final int LAST_LINES = 12;
  private static final int KILLED = 137;

  /** The distance from the cluster's port to the port where nodes join. */
  private static final int JOIN_ABOVE_CLUSTER = 100;

  private static final String LOOPBACK = "127.0.0.1";

  private final List<String> command;
  private final Optional<NetworkLink> link;
  private final Path folder;
  private final Path run;
  private final RunProcesses processes;
  private final List<Strike> strikes = new ArrayList<>();
  private final Map<Process, List<String>> nodes = new HashMap<>();
  private Process last;
  private int commands;

  /**
   * Creates a run that has not started.
   *
   * @param command the words before {@code train} and {@code resume}
   * @param link a link with one worker as a node at its far end and all other members at its near
   *     end; empty for members on this host
   * @param folder an empty folder with a unique name, for all files of the run
   */
  ChaosRun(List<String> command, Optional<NetworkLink> link, Path folder) {
    this.command = List.copyOf(command);
    this.link = link;
    this.folder = folder.toAbsolutePath();
    this.run = this.folder.resolve("run");
    this.processes = new RunProcesses(run);
  }

  /**
   * Trains to the end.
   *
   * @param job a whole job file
   * @param data folder with the data set's files; empty for none
   * @param plan the disturbances, in order
   * @param hasStandby whether a standby process replaces a killed coordinator
   * @param apart whether every member has its own process
   * @param spares number of workers more than the job has places for, each in its own process; they
   *     wait until a place is free
   */
  RunEnd train(
      JsonObject job,
      String data,
      List<Disturbance> plan,
      boolean hasStandby,
      boolean apart,
      int spares)
      throws IOException, InterruptedException {
    Path file = Files.writeString(folder.resolve("job.json"), job.encodePrettily());
    List<String> words = new ArrayList<>(List.of("train", file.toString()));
    words.addAll(List.of("--run-dir", run.toString()));
    if (link.isPresent()) {
      int here = job.getJsonObject("workers").getInteger("count", 2) - 1;
      words.addAll(List.of("--workers-here", Integer.toString(here)));
      words.addAll(List.of("--insecure", "--host", NetworkLink.NEAR_HOST));
    }
    if (apart) {
      words.add("--processes");
    }
    if (!data.isEmpty()) {
      words.addAll(List.of("--data", data));
    }
    long begun = System.nanoTime();
    double planned = plan.stream().mapToDouble(ChaosRun::seconds).sum();
    long limit = begun + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS + (long) planned);
    try {
      start(words);
      if (link.isPresent()) {
        await(limit, () -> isOver() || Files.exists(run.resolve("secret")));
        String far = NetworkLink.FAR_HOST;
        startNode(link.get().far(command(node(job, data, NetworkLink.NEAR_HOST, far))));
      }
      if (spares > 0) {
        await(limit, () -> isOver() || !events("jobStarted").isEmpty());
      }
      for (int i = 0; i < spares; i++) {
        String host = link.isPresent() ? NetworkLink.NEAR_HOST : LOOPBACK;
        List<String> node = command(node(job, data, host, host));
        startNode(link.map(some -> some.near(node)).orElse(node));
      }
      if (!plan.isEmpty()) {
        await(limit, () -> isOver() || !events("jobStarted").isEmpty());
      }
      for (Disturbance next : plan) {
        if (!next.inRecovery()) {
          await(limit, () -> isOver() || hasRecovered());
        }
        long due = System.nanoTime() + (long) (1e9 * next.waitSeconds());
        await(Math.min(due, limit), this::isOver);
        if (!isOver()) {
          strike(next, hasStandby);
        }
        if (!isOver()) {
          startNodesAgain();
        }
      }
      await(limit, this::isOver);
      return end(isOver(), (System.nanoTime() - begun) / 1e9);
    } finally {
      processes.all().forEach(ProcessHandle::destroyForcibly);
    }
  }

  private static double seconds(Disturbance one) {
    return one.waitSeconds() + one.stoppedSeconds();
  }

  private boolean hasRecovered() {
    return strikes.isEmpty()
        || Double.isFinite(RunEnd.gap(events(""), strikes.get(strikes.size() - 1).millis()));
  }

  private void strike(Disturbance next, boolean hasStandby)
      throws IOException, InterruptedException {
    if (next.victim().equals(Disturbance.LINK)) {
      cut(next);
      return;
    }
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(VICTIM_SECONDS);
    await(limit, () -> isOver() || !victims(next.victim()).isEmpty());
    List<ProcessHandle> victims = victims(next.victim());
    if (victims.isEmpty()) {
      return;
    }
    long now = System.currentTimeMillis();
    System.err.println("    " + next + " " + victims.stream().map(ProcessHandle::pid).toList());
    if (!next.isKill()) {
      signal("STOP", victims);
      TimeUnit.SECONDS.sleep(next.stoppedSeconds());
      signal("CONT", victims);
      strikes.add(new Strike(next, now, 0));
      return;
    }
    Optional<ProcessHandle> coordinator = processes.coordinator();
    now = System.currentTimeMillis();
    victims.forEach(ProcessHandle::destroyForcibly);
    // A command that has just started does not hold the lock yet.
    boolean ended =
        coordinator.filter(victims::contains).isPresent() || victims.contains(last.toHandle());
    await(limit, () -> victims.stream().noneMatch(processes.all()::contains));
    strikes.add(new Strike(next, now, ended ? goOn(next, hasStandby) : 0));
  }

  private void cut(Disturbance next) throws IOException, InterruptedException {
    System.err.println("    " + next);
    long now = System.currentTimeMillis();
    link.orElseThrow().cut();
    try {
      TimeUnit.SECONDS.sleep(next.stoppedSeconds());
    } finally {
      link.orElseThrow().restore();
    }
    strikes.add(new Strike(next, now, 0));
  }

  /**
   * Resumes the run, or waits for the standby if only the coordinator was killed; returns the time
   * when that began.
   */
  private long goOn(Disturbance next, boolean hasStandby) throws IOException, InterruptedException {
    if (hasStandby && next.victim().equals(Disturbance.COORDINATOR)) {
      long now = System.currentTimeMillis();
      long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(STANDBY_SECONDS);
      await(limit, () -> isOver() || processes.coordinator().isPresent());
      if (processes.coordinator().isPresent() || !summary().isEmpty()) {
        return now;
      }
      throw new IOException("no standby took the coordinator's place; see " + run);
    }
    if (isFinished()) {
      return 0;
    }
    long now = System.currentTimeMillis();
    start(List.of("resume", run.toString()));
    return now;
  }

  private List<ProcessHandle> victims(String name) {
    return switch (name) {
      case Disturbance.EVERYTHING -> processes.all();
      case Disturbance.MEMBERS -> processes.members();
      case Disturbance.COORDINATOR -> processes.coordinator().stream().toList();
      default -> processes.member(name, events("memberJoined")).stream().toList();
    };
  }

  /** Returns true when the command has ended by itself, or no process of the run is left. */
  private boolean isOver() {
    return !last.isAlive()
        && processes.coordinator().isEmpty()
        && (last.exitValue() != KILLED || isFinished() || processes.all().isEmpty());
  }

  private boolean isFinished() {
    return summary().getString("state", "").equals("finished");
  }

  private RunEnd end(boolean isOver, double seconds) throws IOException, InterruptedException {
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(isOver ? LAST_WORDS_SECONDS : 0);
    await(limit, () -> processes.all().isEmpty());
    List<String> leftBehind = processes.all().stream().map(RunProcesses::text).toList();
    int exit = last.isAlive() ? -1 : last.exitValue();
    boolean ofStandby = exit == KILLED && isFinished();
    return new RunEnd(
        ofStandby ? 0 : exit, seconds, summary(), events(""), strikes, leftBehind, output());
  }

  private void start(List<String> words) throws IOException {
    List<String> all = command(words);
    last = process(link.map(some -> some.near(all)).orElse(all));
  }

  /** Returns the command of a worker that waits for the job's join port, and for a place. */
  private List<String> node(JsonObject job, String data, String coordinator, String host) {
    int port = job.getJsonObject("cluster").getInteger("port") + JOIN_ABOVE_CLUSTER;
    List<String> words = new ArrayList<>(List.of("node", coordinator + ":" + port));
    words.addAll(List.of("--secret", run.resolve("secret").toString(), "--wait"));
    words.addAll(List.of(Long.toString(NODE_SECONDS), "--insecure", "--host", host));
    words.addAll(List.of("--role", job.containsKey("pipeline") ? "stage" : "worker"));
    // All members are on this host: a node continues from the checkpoints of the member before it.
    words.addAll(List.of("--set", "checkpoint.directory=" + run.resolve("checkpoints")));
    if (!data.isEmpty()) {
      words.addAll(List.of("--data", data));
    }
    return words;
  }

  private void startNode(List<String> words) throws IOException {
    nodes.put(process(words), words);
  }

  /** Starts nodes that have ended, which nobody else does. */
  private void startNodesAgain() throws IOException {
    for (Process node : List.copyOf(nodes.keySet())) {
      if (!node.isAlive()) {
        startNode(nodes.remove(node));
      }
    }
  }

  private List<String> command(List<String> words) {
    List<String> all = new ArrayList<>(command);
    all.addAll(words);
    return all;
  }

  private Process process(List<String> words) throws IOException {
    return new ProcessBuilder(words)
        .redirectErrorStream(true)
        .redirectOutput(output(++commands).toFile())
        .start();
  }

  private Path output(int number) {
    return folder.resolve("output-" + number);
  }

  private String output() throws IOException {
    StringBuilder text = new StringBuilder();
    for (int number = 1; number <= commands; number++) {
      List<String> lines = Files.readAllLines(output(number));
      lines
          .subList(Math.max(0, lines.size() - LAST_LINES), lines.size())
          .forEach(line -> text.append(line).append(System.lineSeparator()));
    }
    return text.toString();
  }

  private JsonObject summary() {
    try {
      return new JsonObject(Files.readString(run.resolve("summary.json")));
    } catch (IOException | DecodeException notYet) {
      return new JsonObject();
    }
  }

  /**
   * Returns the events of one type, or all for an empty type. It leaves out a line that a kill cut
   * off.
   */
  private List<JsonObject> events(String type) {
    String begin = type.isEmpty() ? "{" : "{\"type\":\"" + type + "\"";
    try {
      return Files.readString(run.resolve("events.jsonl"))
          .lines()
          .filter(line -> line.startsWith(begin) && line.endsWith("}"))
          .map(JsonObject::new)
          .toList();
    } catch (IOException notYet) {
      return List.of();
    }
  }

  private static void await(long limitNanos, BooleanSupplier condition)
      throws InterruptedException {
    while (System.nanoTime() < limitNanos && !condition.getAsBoolean()) {
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
  }

  /**
   * Signals all processes at once. One of them may have ended already, for example a hung one that
   * was replaced.
   */
  private static void signal(String name, List<ProcessHandle> to)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("kill", "-" + name));
    to.forEach(process -> command.add(Long.toString(process.pid())));
    new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .start()
        .waitFor();
  }
}
