package io.vertigrad.benchmarks.chaos;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * An undisturbed run and a disturbed one of the same job.
 *
 * @param undisturbed what the former left
 * @param disturbed what the latter left
 * @param violations what is wrong with them; empty when the disturbances left no trace
 */
record ChaosTrial(RunEnd undisturbed, RunEnd disturbed, List<String> violations) {

  /** Ports that one run may take. */
  private static final int PORTS = 20;

  /** How long no step may be taken after a worker that was cut off is evicted. */
  private static final long RECOVERY_MILLIS = 3_000;

  ChaosTrial {
    violations = List.copyOf(violations);
  }

  /**
   * How trials are run.
   *
   * @param command the words before {@code train} and {@code resume}
   * @param disturbedCommand the same for the disturbed run
   * @param root folder that holds {@code conf}
   * @param data folder with MNIST's files; empty for generated digits
   * @param folder an empty folder for what runs leave
   * @param port of the first run's cluster
   * @param apart whether the undisturbed run's members have processes of their own, as those of the
   *     disturbed run have where anything is done to it; goodput means nothing if not
   * @param link that is between one worker of the disturbed run and the others; empty for none
   */
  record Launch(
      List<String> command,
      List<String> disturbedCommand,
      Path root,
      String data,
      Path folder,
      int port,
      boolean apart,
      Optional<NetworkLink> link) {

    Launch {
      command = List.copyOf(command);
      disturbedCommand = List.copyOf(disturbedCommand);
    }
  }

  /**
   * Runs one plan.
   *
   * @param plan the job
   * @param disturbances what is done to it
   * @param steps of each worker
   * @param changes to the disturbed run's job that should not matter, or must be found
   */
  static ChaosTrial of(
      ChaosPlan plan, List<Disturbance> disturbances, int steps, JsonObject changes, Launch launch)
      throws IOException, InterruptedException {
    JsonObject job = plan.job(file(plan, launch), steps, launch.port());
    RunEnd undisturbed = undisturbed(plan, job, launch);
    job.getJsonObject("cluster").put("port", launch.port() + PORTS);
    if (launch.link().isPresent()) {
      // Namespaces of one machine have the same memory, which no cut divides.
      job.mergeIn(
          new JsonObject().put("exchange", new JsonObject().put("transport", "stream")), true);
    }
    Path second = Files.createDirectories(launch.folder().resolve(plan.name() + "-disturbed"));
    RunEnd disturbed =
        new ChaosRun(launch.disturbedCommand(), launch.link(), second)
            .train(
                job.mergeIn(changes, true),
                launch.data(),
                disturbances,
                plan.hasStandby(),
                launch.apart() || !disturbances.isEmpty());
    List<String> found =
        new ArrayList<>(ChaosChecker.violations(plan.isRepeatable(), undisturbed, disturbed));
    if (launch.link().isPresent()) {
      long evictMillis = JobConfig.read(plan.name(), job).exchange().evictMillis();
      found.addAll(ChaosChecker.stalls(disturbed, evictMillis + RECOVERY_MILLIS));
    }
    return new ChaosTrial(undisturbed, disturbed, found);
  }

  /**
   * Runs short jobs of one plan, each of which is disturbed once, beside one undisturbed run. What
   * a clean run leaves is deleted.
   *
   * @param plan the job
   * @param disturbances what is done, one run each
   * @param each told of each trial
   */
  static void ofEach(
      ChaosPlan plan, List<Disturbance> disturbances, Launch launch, Consumer<ChaosTrial> each)
      throws IOException, InterruptedException {
    JsonObject job = plan.shortJob(file(plan, launch), launch.port());
    RunEnd undisturbed = undisturbed(plan, job, launch);
    for (int i = 0; i < disturbances.size(); i++) {
      // So that no run waits for a port that the one before has left.
      job.getJsonObject("cluster").put("port", launch.port() + (1 + i % 10) * PORTS);
      Path folder = Files.createDirectories(launch.folder().resolve(plan.name() + "-" + i));
      RunEnd disturbed =
          new ChaosRun(launch.disturbedCommand(), Optional.empty(), folder)
              .train(job, launch.data(), disturbances.subList(i, i + 1), plan.hasStandby(), true);
      ChaosTrial trial =
          new ChaosTrial(
              undisturbed,
              disturbed,
              ChaosChecker.violations(plan.isRepeatable(), undisturbed, disturbed));
      if (trial.violations().isEmpty()) {
        TrainCommandLine.delete(folder);
      }
      each.accept(trial);
    }
  }

  private static JsonObject file(ChaosPlan plan, Launch launch) throws IOException {
    String name = launch.data().isEmpty() ? plan.digits() : plan.mnist();
    return new JsonObject(Files.readString(launch.root().resolve("conf").resolve(name)));
  }

  private static RunEnd undisturbed(ChaosPlan plan, JsonObject job, Launch launch)
      throws IOException, InterruptedException {
    Path folder = Files.createDirectories(launch.folder().resolve(plan.name() + "-undisturbed"));
    return new ChaosRun(launch.command(), Optional.empty(), folder)
        .train(job, launch.data(), List.of(), false, launch.apart());
  }

  /** Time of the undisturbed run over that of the disturbed one. */
  double goodput() {
    return undisturbed.seconds() / disturbed.seconds();
  }
}
