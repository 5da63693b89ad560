package io.vertigrad.launcher;

import com.sun.management.OperatingSystemMXBean;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.LocalSettings;
import io.vertigrad.launcher.run.Placement;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLaunch;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.run.RunSummary;
import io.vertigrad.launcher.terminal.Display;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.PipelinePlan;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;

/**
 * Implements the process that trains trials for {@code vertigrad sweep}: it reads a task per line,
 * trains up to its step, and prints the result as a line. When the input ends, it pauses the trial
 * that it trains, with a checkpoint, and ends.
 */
@Command(name = "trials", hidden = true, description = "Trains trials for vertigrad sweep.")
final class TrialsCommand implements Callable<Integer> {

  private static final Logger LOG = LoggerFactory.getLogger(TrialsCommand.class);
  private static final ClassLoader LOADER = TrialsCommand.class.getClassLoader();

  /** Longest time for which a trial may take to pause after the sweep has ended. */
  private static final long PAUSE_SECONDS = 150;

  private static final long LOOK_MILLIS = 100;

  private static final String END = "";

  /** How many workers of a trial are in this process, if the others are nodes. */
  private static final String WORKERS_HERE = "workersHere";

  /** What the failure of a job says whose members have not all come. */
  private static final String NOT_STARTED = "did not start within";

  private static final double NANOS = 1e9;

  private final BlockingQueue<String> tasks = new LinkedBlockingQueue<>();
  private final Promise<Void> ended = Promise.promise();

  /** Keeps what all trials train on, so that it is read once. */
  private Dataset shared;

  private long countedNanos;

  @Override
  public Integer call() throws InterruptedException {
    PrintStream results = System.out;
    // Everything else that is printed goes to the log of this process.
    System.setOut(System.err);
    RunLog.leaveConsole();
    Thread reader = new Thread(this::read, "tasks");
    reader.setDaemon(true);
    reader.start();
    for (String line = tasks.take(); !line.equals(END); line = tasks.take()) {
      JsonObject result = train(new JsonObject(line));
      results.println(result.encode());
      results.flush();
      if (result.getBoolean("interrupted", false)) {
        return ExitStatus.INTERRUPTED;
      }
    }
    Reference.reachabilityFence(shared);
    return ExitStatus.OK;
  }

  private void read() {
    try {
      BufferedReader lines =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        tasks.add(line);
      }
    } catch (IOException closed) {
      LOG.debug("the sweep has ended", closed);
    }
    tasks.add(END);
    ended.complete();
    Thread limit = new Thread(TrialsCommand::endLate, "end");
    limit.setDaemon(true);
    limit.start();
  }

  private static void endLate() {
    try {
      TimeUnit.SECONDS.sleep(PAUSE_SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(ExitStatus.JOB_FAILED);
  }

  /** Waits for a process of a sweep that was killed, which may still pause this trial. */
  private static void awaitFree(RunDirectory run) throws InterruptedException {
    long begun = System.nanoTime();
    while (RunLock.look(run).isPresent()) {
      if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(PAUSE_SECONDS)) {
        // It names the process.
        RunLock.take(run).close();
      }
      TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
    }
  }

  private JsonObject train(JsonObject task) throws InterruptedException {
    RunDirectory run = new RunDirectory(Path.of(task.getString("folder")));
    JsonObject result = JsonObject.of("trial", task.getInteger("trial"));
    try {
      awaitFree(run);
      Optional<JsonObject> reached = reached(task, run);
      if (reached.isEmpty()) {
        TrainingPause pause = new TrainingPause(task.getLong("steps"), ended.future());
        if (Files.isReadable(run.launch())) {
          write(task, run);
          resumed(task, run).pausing(pause).call(false, true);
        } else {
          begin(task, run, pause);
        }
        reached = reached(task, run);
      }
      result.mergeIn(
          reached.map(TrialsCommand::figures).orElse(JsonObject.of("interrupted", true)));
    } catch (RuntimeException e) {
      LOG.warn("trial {} failed", task.getInteger("trial"), e);
      if (onNodes(task) && FailureReason.of(e).contains(NOT_STARTED)) {
        // Its settings are not to blame, and the next trial would fare no better.
        result.put("interrupted", true);
      }
      result.put("problem", FailureReason.of(e));
    }
    return result.put("processorSeconds", processorSeconds());
  }

  /** Returns whether workers of the trial run on nodes, which join at this process's port. */
  private static boolean onNodes(JsonObject task) {
    return task.containsKey(WORKERS_HERE);
  }

  private static ResumedRun resumed(JsonObject task, RunDirectory run) {
    ResumedRun resumed =
        new ResumedRun(run.path().toString(), List.of(), Optional.of(Placement.ONE_JVM));
    if (onNodes(task)) {
      // Another process may have begun it.
      JsonObject cluster = task.getJsonObject("job").getJsonObject("cluster");
      for (String key : List.of("port", "secretFile")) {
        resumed.set("--workers-here", "cluster." + key, cluster.getValue(key));
      }
    }
    return resumed.placing(task.getInteger(WORKERS_HERE, Integer.MAX_VALUE), onNodes(task));
  }

  /** Starts the run of a trial, or starts it anew where it was killed before it began. */
  private void begin(JsonObject task, RunDirectory run, TrainingPause pause) {
    JobConfig asked = JobCheck.counted(job(task));
    LocalMembers all = LocalMembers.of(asked);
    int workers = Math.min(all.workers(), task.getInteger(WORKERS_HERE, all.workers()));
    LocalMembers roles = new LocalMembers(all.servers(), workers, all.evaluators());
    JobCheck.files(asked, roles, false);
    if (workers > 0) {
      shared = DatasetProvider.open(asked.data(), Split.TRAIN, LOADER);
    }
    Map<String, DataFingerprint> data = JobCheck.fingerprints(asked, roles, LOG::info);
    if (ended.future().isComplete()) {
      // Reading the data may have taken so long that the resumed sweep trains this trial by now.
      return;
    }
    if (Files.exists(run.path())) {
      run.delete();
    }
    RunDirectory.at(run.path());
    write(task, run);
    JobConfig kept = PipelinePlan.of(run.begin(asked)).job().withFingerprints(data);
    Display display = Display.of(Display.Style.QUIET, System.out, kept);
    RunLock lock = RunLock.take(run);
    try (lock) {
      new RunLaunch(
              LocalSettings.of(kept), Placement.ONE_JVM, onNodes(task), roles.servers(), workers, 0)
          .write(run);
      NextCommand next = new NextCommand(List.of("sweep"), run, false);
      new TrainingRun(kept, run, lock, display, List.of(), next)
          .pausing(pause)
          .call(roles, Placement.ONE_JVM, onNodes(task));
    }
  }

  private static JobConfig job(JsonObject task) {
    return JobConfig.read("trial " + task.getInteger("trial"), task.getJsonObject("job"));
  }

  private static void write(JsonObject task, RunDirectory run) {
    run.write(
        run.sweep(),
        JsonObject.of(
            "sweep",
            task.getString("sweep"),
            "trial",
            task.getInteger("trial"),
            "settings",
            task.getJsonObject("settings"),
            "steps",
            task.getLong("steps"),
            "most",
            task.getLong("most")));
  }

  /** Returns the summary of a trial that has come as far as its task asks for. */
  private static Optional<JsonObject> reached(JsonObject task, RunDirectory run) {
    Optional<JsonObject> summary = run.readSummary();
    if (summary.isEmpty() || summary.get().getString("state", "").equals("finished")) {
      return summary;
    }
    JobConfig job = JobConfig.read(run.job().toString(), run.readJob());
    long version = TrainingPause.version(job, task.getLong("steps"));
    return summary.filter(one -> one.getLong("version", 0L) >= version);
  }

  private static JsonObject figures(JsonObject summary) {
    JsonObject figures = JsonObject.of("samples", samples(summary));
    for (String key : List.of("loss", "accuracy")) {
      if (summary.getValue(key) instanceof Number value) {
        figures.put(key, value);
      }
    }
    if (RunSummary.divergence(summary).isPresent()) {
      figures.put("problem", "diverged");
    }
    return figures;
  }

  /** Returns the samples of the whole trial; an interrupted run counts those since its resume. */
  private static long samples(JsonObject summary) {
    long samples = summary.getLong("samples", 0L);
    long version = summary.getLong("version", 0L);
    long resumed = summary.getLong("resumedAtVersion", 0L);
    boolean whole = summary.getString("state", "").equals("finished") || resumed >= version;
    return whole ? samples : Math.round((double) samples * version / (version - resumed));
  }

  /** Returns the processor time of this process since the last result, its start included. */
  private double processorSeconds() {
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long now = system.getProcessCpuTime();
    double seconds = (now - countedNanos) / NANOS;
    countedNanos = now;
    return seconds;
  }
}
