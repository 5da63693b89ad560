package io.vertigrad.launcher;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.job.Assignment;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.LocalSettings;
import io.vertigrad.launcher.run.Placement;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLaunch;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.Display;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs the next coordinator of a run that was started before. */
final class ResumedRun {

  private static final Logger LOG = LoggerFactory.getLogger(ResumedRun.class);

  private final RunDirectory directory;
  private final List<Assignment> assignments = new ArrayList<>();
  private final List<String> changed = new ArrayList<>();
  private final List<String> skipped = new ArrayList<>();
  private final Optional<Placement> placement;
  private Optional<TrainingPause> pause = Optional.empty();
  private OptionalInt workersHere = OptionalInt.empty();
  private boolean listens;

  /**
   * Creates a run to be resumed.
   *
   * @param name its folder's path or name, or {@code last}
   * @param changes changes of its job file, each {@code KEY=VALUE}
   * @param placement which members get processes of their own; empty keeps the run's setting
   */
  ResumedRun(String name, List<String> changes, Optional<Placement> placement) {
    directory = RunDirectory.find(RunDirectory.RUNS, name);
    this.placement = placement;
    for (String change : changes) {
      Assignment assignment = Assignment.parse(change);
      changed.add(assignment.path());
      assignments.add(assignment);
    }
  }

  /** Applies an option that sets one key; null means that the option was not given. */
  void set(String option, String key, Object value) {
    if (value != null) {
      assignments.add(new Assignment(key, value));
    }
  }

  /** Leaves out events of a stream, besides those that were left out before. */
  void skip(List<String> origins) {
    skipped.addAll(origins);
  }

  /** Ends the run in good order before its last step. */
  ResumedRun pausing(TrainingPause where) {
    pause = Optional.of(where);
    return this;
  }

  /** Starts so many of the workers here, whatever the run did before. */
  ResumedRun placing(int workers, boolean nodesMayJoin) {
    workersHere = OptionalInt.of(workers);
    listens = nodesMayJoin;
    return this;
  }

  private void addSkipped(JsonObject job) {
    if (skipped.isEmpty()) {
      return;
    }
    JsonObject data = job.getJsonObject("data", new JsonObject());
    if (!"stream".equals(data.getString("name"))) {
      throw new InputException(
          "--skip %s: data.name is %s, expected a stream: other data have no events to leave out"
              .formatted(skipped.get(0), data.getString("name")));
    }
    Set<Object> all = new LinkedHashSet<>();
    data.getJsonArray("skip", new JsonArray()).forEach(all::add);
    all.addAll(skipped);
    data.put("skip", new JsonArray(new ArrayList<>(all)));
  }

  /** Continues the run to the end of the job. */
  int call(boolean json, boolean quiet) {
    RunLog.leaveConsole();
    refuseFinished();
    RunLock lock = RunLock.take(directory);
    try (lock) {
      return train(Display.Style.chosen(json, quiet), lock);
    }
  }

  /**
   * Waits until the run's coordinator has ended. If the run is not over, this process starts the
   * next coordinator. A coordinator before that one may have left a summary.
   *
   * @return at once when the run finished, or was interrupted in good order
   */
  int standBy() {
    RunLog.leaveConsole();
    TerminationSignals.leaveInterruptsToParent();
    Optional<JsonObject> earlier = directory.readSummary();
    RunLock lock = RunLock.await(directory);
    try (lock) {
      if (isFinished() || !directory.readSummary().equals(earlier)) {
        return ExitStatus.OK;
      }
      LOG.warn("the coordinator's process has ended, this one takes its place");
      return train(Display.Style.chosen(false, false), lock);
    }
  }

  private void refuseFinished() {
    if (isFinished()) {
      throw new InputException(
          "%s: the run has finished, its model is %s; there is nothing to resume"
              .formatted(
                  directory.path(),
                  directory.model().map(Path::toString).orElse("no longer there")));
    }
  }

  private boolean isFinished() {
    return directory
        .readSummary()
        .filter(summary -> "finished".equals(summary.getString("state")))
        .isPresent();
  }

  private int train(Display.Style style, RunLock lock) {
    RunLaunch read = RunLaunch.read(directory);
    RunLaunch before =
        workersHere.isPresent() ? read.withWorkersHere(workersHere.getAsInt(), listens) : read;
    JsonObject json = directory.readJob().mergeIn(before.local(), true);
    findMoved(json);
    assignments.forEach(assignment -> assignment.applyTo(json));
    addSkipped(json);
    JsonObject run = json.getJsonObject("run");
    json.put("run", run.copy().put("resumes", before.resumes() + 1));
    JobConfig asked = JobConfig.read(directory.job() + " with " + directory.launch(), json);
    refuseUnchangeable(asked.settings());
    JobConfig job = JobCheck.counted(asked);
    Placement placed = placement.orElse(before.placement());
    LocalMembers all = LocalMembers.of(job);
    LocalMembers roles =
        new LocalMembers(
            before.serversHere(), Math.min(before.workersHere(), all.workers()), all.evaluators());
    JobCheck.files(job, roles, placed.apart());
    List<String> notes = new ArrayList<>(List.of("resumes %s".formatted(directory.path())));
    RunList.failure(directory).ifPresent(why -> notes.add("it had failed: %s".formatted(why)));
    job = withSameData(job, roles, notes);
    RunLaunch launch = before.again(LocalSettings.of(job), placed);
    launch.write(directory);
    Display display = Display.of(style, System.out, job);
    NextCommand next = new NextCommand(List.of("resume"), directory, true);
    TrainingRun resumed =
        new TrainingRun(job, directory, lock, display, notes, next).resuming(livingNodes(job));
    pause.ifPresent(resumed::pausing);
    return resumed.call(roles, placed, launch.listen());
  }

  /**
   * Compares the data and the model files that members started here will read with those that the
   * run was trained on.
   *
   * @param notes receives a line if there is nothing to compare with
   * @return the job with the fingerprints of before, and those found of what the run has not
   *     recorded
   */
  private JobConfig withSameData(JobConfig job, LocalMembers roles, List<String> notes) {
    Map<String, DataFingerprint> before =
        JobConfig.read(directory.job().toString(), directory.readJob()).fingerprints();
    Map<String, DataFingerprint> found =
        JobCheck.fingerprints(
            job, roles, before.containsKey(Split.TRAIN.fingerprint()) ? known -> {} : notes::add);
    DataFingerprint.firstDifference(before, found)
        .ifPresent(
            difference -> {
              throw new InputException(otherData(difference));
            });
    if (before.isEmpty() && !found.isEmpty()) {
      notes.add("the run recorded no fingerprints: its data cannot be compared with these");
    }
    found.putAll(before);
    return job.withFingerprints(found);
  }

  private String otherData(String difference) {
    String instead =
        directory.model().isPresent()
            ? "train a new run, with --set model.name=%s to begin with this one's parameters"
                .formatted(directory.path())
            : "train a new run";
    return "%s: it was trained on other data, %s; give it the same files, or %s"
        .formatted(directory.path(), difference, instead);
  }

  /** Refuses changes of keys that affect the trained parameters. */
  private void refuseUnchangeable(Settings job) {
    for (String path : changed) {
      if (!job.traits(path).contains(KeyTrait.CHANGEABLE)) {
        throw new InputException(
            ("--set %s: is a part of what is trained, expected one of %s; start a new run with"
                    + " train to change it")
                .formatted(path, String.join(", ", job.keys(KeyTrait.CHANGEABLE))));
      }
    }
  }

  /** Corrects the checkpoint folder when the run's folder was moved together with it. */
  private void findMoved(JsonObject job) {
    JsonObject checkpoint = job.getJsonObject("checkpoint");
    boolean there = Files.isDirectory(Path.of(checkpoint.getString("directory")));
    if (!there && Files.isDirectory(directory.checkpoints())) {
      checkpoint.put("directory", directory.checkpoints().toAbsolutePath().toString());
    }
  }

  /** Returns the nodes of the run's cluster that still answer and know its secret. */
  private List<JoinAddress> livingNodes(JobConfig job) {
    Path file = directory.secret(job);
    JobSecret secret = Files.exists(file) ? JobSecret.read(file) : JobSecret.random();
    return directory
        .readNodes()
        .map(nodes -> nodes.getJsonArray("nodes", new JsonArray()))
        .orElse(new JsonArray())
        .stream()
        .parallel()
        .map(String::valueOf)
        .map(JoinAddress::parse)
        .filter(node -> node.isNodeOf(secret))
        .toList();
  }
}
