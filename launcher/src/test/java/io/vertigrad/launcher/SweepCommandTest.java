package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.sweep.Sweep;
import io.vertigrad.sweep.Sweep.Standing;
import io.vertigrad.sweep.Sweep.Task;
import io.vertigrad.sweep.SweepPlan;
import io.vertigrad.sweep.SweepPlan.Trial;
import io.vertigrad.sweep.TrialResult;
import io.vertigrad.sweep.TrialResult.Order;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SweepCommandTest {

  private static final Duration LIMIT = Duration.ofSeconds(240);

  @TempDir private Path folder;

  private final List<Process> nodes = new ArrayList<>();
  private Process process;

  @AfterEach
  void nobodyIsLeftBehind() {
    nodes.forEach(Process::destroyForcibly);
    if (process != null) {
      kill();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--set optimizer.learningRte=0.1,0.3 | optimizer.learningRte is not a known key",
        "--set workers.batch=16,x | workers.batch is \"x\", expected a whole number",
        "--set workers.batch=16,0 | workers.batch is 0, expected a whole number",
        "--set workers.batch= | a value is missing",
        "--set workers.batch=a..c | a is not a number",
        "--set steps=10,20 | --set steps: the length of a trial is what a sweep decides",
        "--set workers.batch=16 | no --set has several values",
        "--set workers.batch=16,32 --trials 3 | there are only 2 combinations",
        "--set workers.batch=16,32 --name ../x | expected letters, digits",
        "--set workers.batch=16,32 --least 0 | expected a number of steps from 1",
        "--set workers.batch=16,32 --parallel 0 | expected a number from 1 to 256",
        "--set workers.batch=16,32 --workers-here 2 | expected a number from 0 to 1, fewer than",
        "--set workers.batch=16,32,64 --set strategy.name=allreduce --workers-here 0 | has no servers (strategy allreduce)",
        "--set workers.batch=16,32 --workers-here 1 --parallel 250 | expected at most 249",
        "--resume none | there is no such file, expected the folder of a sweep",
        "--resume none --full | expected no other option than --parallel",
        "none.json --set workers.batch=16,32 | there is no such job file",
      })
  void shouldSayInOneLineWhatIsWrongBeforeAnythingStarts(String arguments, String error) {
    List<String> words = new ArrayList<>(List.of("sweep"));
    words.addAll(List.of(arguments.split(" ")));
    CommandRun run = CommandRun.of(words.toArray(String[]::new));

    assertEquals(2, run.exit(), run.err());
    assertEquals("", run.out());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().contains(error), run.err());
  }

  /**
   * Kills a sweep of nine trials over two processes, and its processes, after some results, and
   * goes on with it. The trial that is trained to its end was stopped at two rungs, and perhaps
   * killed: it has the parameters of a training without any of that.
   */
  @Test
  @Tag("slow")
  void shouldFindTheParametersOfATrainingAloneWhenTheSweepAndItsProcessesAreKilled()
      throws Exception {
    start(
        "sweep",
        "--name",
        "s",
        "--parallel",
        "2",
        "--least",
        "4",
        "--set",
        "steps=36",
        "--set",
        "data.train=2000",
        "--set",
        "data.test=500",
        "--set",
        "optimizer.learningRate=0.001..0.1",
        "--set",
        "workers.batch=16,32,64");
    await(() -> journal().lines().filter(line -> line.contains("\"result\"")).count() > 2);

    kill();
    long before = journal().lines().filter(line -> line.contains("\"result\"")).count();
    start("sweep", "--resume", "s", "--parallel", "2");

    assertEquals(0, exit(), output());
    assertTrue(output().contains("resumes: "), output());
    List<String> results =
        journal()
            .lines()
            .filter(line -> line.contains("\"result\""))
            .map(line -> line.replaceFirst(",\"result.*", ""))
            .toList();
    assertTrue(results.size() > before, journal());
    assertEquals(results.size(), results.stream().distinct().count(), "nothing runs twice");
    Standing best;
    try (Sweep sweep = Sweep.resume(folder.resolve("runs/s"))) {
      best = sweep.best().orElseThrow();
      assertEquals(9, sweep.ranking().size());
      assertEquals(9, sweep.results(0));
      assertTrue(sweep.results(1) >= 3 && sweep.results(1) < 9, journal());
      assertTrue(sweep.results(2) >= 1, journal());
    }
    int number = best.task().trial().number();
    Path trial = folder.resolve("runs/s-" + number);
    assertEquals(
        JsonObject.of(
            "sweep",
            "s",
            "trial",
            number,
            "settings",
            new JsonObject(Map.copyOf(best.task().trial().settings())),
            "steps",
            36,
            "most",
            36),
        json(trial.resolve("sweep.json")));
    JsonObject listed = new JsonObject(new RunList(folder.resolve("runs")).list());
    assertEquals(9, listed.getJsonArray("runs").size(), "the sweep is no run");
    start("sweep", "--name", "s", "--set", "workers.batch=16,32");
    assertEquals(2, exit(), output());
    assertTrue(output().contains("runs/s is there already"), output());
    start("train", "runs/s/best.json", "--run-dir", "alone", "--no-dashboard");
    assertEquals(0, exit(), output());
    assertEquals(
        json(folder.resolve("alone/summary.json")).getString("parametersHash"),
        json(trial.resolve("summary.json")).getString("parametersHash"));
  }

  @Test
  @Tag("slow")
  void shouldTrainTheOtherTrialsWhenOneDivergesOrItsProcessIsKilled() throws Exception {
    Path until = folder.resolve("until");
    start(
        "sweep",
        "--name",
        "s",
        "--parallel",
        "1",
        "--full",
        "--set",
        "steps=30",
        "--set",
        "data.name=paced",
        "--set",
        "data.of=digits",
        "--set",
        "data.until=" + until,
        "--set",
        "data.train=2000",
        "--set",
        "data.test=500",
        "--set",
        "optimizer.learningRate=0.02,1000,0.01");
    await(() -> read(folder.resolve("runs/s-1/events.jsonl")).contains("\"jobStarted\""));

    process.children().forEach(ProcessHandle::destroyForcibly);
    Files.createFile(until);

    assertEquals(0, exit(), output());
    assertTrue(output().matches("(?s).*trial 1 .* ended with exit code 137; log: .*"), output());
    try (Sweep sweep = Sweep.resume(folder.resolve("runs/s"))) {
      assertEquals(3, sweep.best().orElseThrow().task().trial().number(), output());
      assertFalse(sweep.ranking().get(0).result().isWorst());
    }
    CommandRun resumed = CommandRun.of("resume", folder.resolve("runs/s").toString());
    assertEquals(2, resumed.exit(), resumed.out());
    assertTrue(resumed.err().contains("sweep --resume s"), resumed.err());
  }

  /** Another process of the sweep, which was resumed, may train the trial by then. */
  @Test
  @Tag("slow")
  void shouldLeaveTheFolderOfATrialAloneWhenTheSweepHasEndedBeforeItBegan() throws Exception {
    Path other = Files.createDirectories(folder.resolve("runs/s-1")).resolve("notes.json");
    Files.writeString(other, "{}");
    JsonObject job =
        JsonObject.of(
            "job",
            "digits",
            "steps",
            30,
            "data",
            JsonObject.of("name", "digits", "train", 2000, "test", 500));
    Path tasks = folder.resolve("tasks");
    Files.writeString(
        tasks,
        JsonObject.of(
                    "sweep", "s", "trial", 1, "settings", new JsonObject(), "steps", 30, "most", 30)
                .put("folder", "runs/s-1")
                .put("job", job)
                .encode()
            + "\n");
    process =
        new ProcessBuilder(JavaCommand.of("512m", "trials"))
            .directory(folder.toFile())
            .redirectInput(tasks.toFile())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("output").toFile())
            .start();

    assertEquals(130, exit(), output());
    assertTrue(output().contains("\"interrupted\":true"), output());
    assertTrue(Files.exists(other), output());
  }

  /** The nodes wait for one trial after the other, and for those that go on. */
  @Test
  @Tag("slow")
  void shouldFindTheParametersOfATrainingAloneWhenTheWorkersAreNodes() throws Exception {
    start(onNodes());
    await(() -> output().contains("2 nodes for process 1: ") || !process.isAlive());
    List<String> words = PastedCommand.after("2 nodes for process 1:", output()).words();
    for (int rank = 0; rank < 2; rank++) {
      Path log = folder.resolve("node-" + rank);
      nodes.add(
          new ProcessBuilder(JavaCommand.of("512m", words.toArray(String[]::new)))
              .directory(Files.createDirectory(folder.resolve("place-" + rank)).toFile())
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start());
    }

    assertEquals(0, exit(), output());
    try (Sweep sweep = Sweep.resume(folder.resolve("runs/n"))) {
      assertEquals(4, sweep.results(0));
      assertTrue(sweep.results(1) >= 1 && sweep.results(1) < 4, journal("n"));
      Standing best = sweep.best().orElseThrow();
      Path run = SweepRun.run(sweep.plan(), best.task().trial());
      JsonObject found = json(folder.resolve(run).resolve("summary.json"));
      assertEquals("finished", found.getString("state"), found::encode);
      start("train", "runs/n/best.json", "--run-dir", "alone", "--no-dashboard");
      assertEquals(0, exit(), output());
      assertEquals(
          json(folder.resolve("alone/summary.json")).getString("parametersHash"),
          found.getString("parametersHash"));
    }
    for (int rank = 0; rank < 2; rank++) {
      assertTrue(nodes.get(rank).isAlive(), Files.readString(folder.resolve("node-" + rank)));
    }
  }

  @Test
  void shouldNameTheMissingWorkersWhenNoNodeComes() throws Exception {
    List<String> words = new ArrayList<>(List.of(onNodes()));
    words.addAll(List.of("--set", "workers.waitSeconds=3"));
    start(words.toArray(String[]::new));

    assertEquals(1, exit(), output());
    assertTrue(output().contains("did not start within 3 s: missing worker 0, worker 1"), output());
    assertTrue(output().contains("sweep --resume n --workers-here 0\n"), output());
    assertFalse(journal("n").contains("\"result\""), journal("n"));
  }

  private String[] onNodes() {
    return new String[] {
      "sweep",
      "--name",
      "n",
      "--workers-here",
      "0",
      "--least",
      "4",
      "--set",
      "cluster.port=" + FreePort.forCluster(),
      "--set",
      "steps=20",
      "--set",
      "data.train=2000",
      "--set",
      "data.test=500",
      "--set",
      "optimizer.learningRate=0.003,0.01,0.03,0.1"
    };
  }

  /** Every trial gets worse at its last step; the page calls the one that was stopped the best. */
  @Test
  void shouldNameTheBetterTrialThatWasStoppedWhenTheBestBecameWorse() {
    List<Trial> trials = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      trials.add(new Trial(i, Map.of("seed", i), 90, JsonObject.of("seed", i)));
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (Sweep sweep = Sweep.begin(folder, new SweepPlan("s", trials, 2, 3, Order.LOSS))) {
      while (!sweep.isOver()) {
        Task task = sweep.next().orElseThrow();
        double loss = task.rung() == 1 ? 5 : task.trial().number();
        sweep.report(task, new TrialResult(loss, Double.NaN, 10, 1, Optional.empty()));
      }
      new SweepRun(
              sweep,
              folder,
              1,
              OptionalInt.empty(),
              new PrintStream(out, true, StandardCharsets.UTF_8))
          .call(true);
    }

    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("best: trial 1, seed=1: loss 5.0000"), text);
    assertTrue(text.contains("trial 2 was better at step 30, seed=2: loss 2.0000; "), text);
    assertFalse(text.contains("trial 3 was better"), text);
  }

  private void start(String... arguments) throws IOException {
    process =
        new ProcessBuilder(JavaCommand.of("512m", arguments))
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("output").toFile())
            .start();
  }

  /** Kills the process and those that it has started, and waits for their end. */
  private void kill() {
    List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
    all.add(process.toHandle());
    all.forEach(ProcessHandle::destroyForcibly);
    await(() -> all.stream().noneMatch(ProcessHandle::isAlive));
  }

  private int exit() throws InterruptedException {
    return process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS) ? process.exitValue() : -1;
  }

  private void await(Callable<Boolean> condition) {
    Awaitility.await().atMost(LIMIT).pollInterval(Duration.ofMillis(50)).until(condition);
  }

  private String output() throws IOException {
    return read(folder.resolve("output"));
  }

  private String journal() throws IOException {
    return journal("s");
  }

  private String journal(String name) throws IOException {
    return read(folder.resolve("runs").resolve(name).resolve(Sweep.JOURNAL));
  }

  private static String read(Path file) throws IOException {
    return Files.exists(file) ? Files.readString(file) : "";
  }

  private static JsonObject json(Path file) throws IOException {
    return new JsonObject(Files.readString(file));
  }
}
