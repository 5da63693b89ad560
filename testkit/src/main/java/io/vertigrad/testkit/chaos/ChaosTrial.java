package io.vertigrad.testkit.chaos;

import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * An undisturbed run and a disturbed one of the same job.
 *
 * @param undisturbed the result of the undisturbed run
 * @param disturbed the result of the disturbed run
 * @param violations what is wrong with them; empty when the disturbances left no trace
 */
public record ChaosTrial(RunEnd undisturbed, RunEnd disturbed, List<String> violations) {

  /** Number of ports that one run may use. */
  private static final int PORTS = 20;

  /** Longest allowed time without a step after a worker that was cut off has been evicted. */
  private static final long RECOVERY_MILLIS = 3_000;

  public ChaosTrial {
    violations = List.copyOf(violations);
  }

  /**
   * Describes how to run trials.
   *
   * @param command the words before {@code train} and {@code resume}
   * @param disturbedCommand the same for the disturbed run
   * @param root folder that contains {@code conf}
   * @param data folder with MNIST's files; empty for generated digits
   * @param folder an empty folder for the runs' files
   * @param port port of the first run's cluster
   * @param apart whether the undisturbed run's members have their own processes, as a disturbed
   *     run's members always have; otherwise the goodput means nothing
   * @param link the link between one worker of the disturbed run and the others; empty for none
   * @param spares workers of the disturbed run that wait for the place of a lost one
   */
  public record Launch(
      List<String> command,
      List<String> disturbedCommand,
      Path root,
      String data,
      Path folder,
      int port,
      boolean apart,
      Optional<NetworkLink> link,
      int spares) {

    public Launch {
      command = List.copyOf(command);
      disturbedCommand = List.copyOf(disturbedCommand);
    }
  }

  /**
   * Runs one plan.
   *
   * @param plan the job
   * @param disturbances the disturbances, in order
   * @param steps steps of each worker
   * @param changes changes to the disturbed run's job, which must not matter or must be found
   */
  public static ChaosTrial of(
      ChaosPlan plan, List<Disturbance> disturbances, int steps, JsonObject changes, Launch launch)
      throws IOException, InterruptedException {
    JsonObject job = plan.job(file(plan, launch), steps, launch.port());
    RunEnd undisturbed = undisturbed(plan, job, launch);
    boolean apart = launch.apart() || !disturbances.isEmpty();
    RunEnd disturbed = disturbed(plan, job, disturbances, changes, launch, apart);
    List<String> found = new ArrayList<>(ChaosChecker.violations(plan, undisturbed, disturbed));
    if (disturbances.stream().allMatch(one -> one.victim().equals(Disturbance.LINK))) {
      long evictMillis = JobConfig.read(plan.name(), job).exchange().evictMillis();
      found.addAll(ChaosChecker.stalls(disturbed, evictMillis + RECOVERY_MILLIS));
    }
    return new ChaosTrial(undisturbed, disturbed, found);
  }

  /**
   * Runs a job once, as the disturbed run of a trial, with every member in its own process.
   *
   * @param disturbances the disturbances, in order
   * @param steps steps of each worker
   * @param changes changes to the job
   */
  public static RunEnd run(
      ChaosPlan plan, List<Disturbance> disturbances, int steps, JsonObject changes, Launch launch)
      throws IOException, InterruptedException {
    JsonObject job = plan.job(file(plan, launch), steps, launch.port());
    return disturbed(plan, job, disturbances, changes, launch, true);
  }

  /** Returns the folder of the disturbed run's files, such as its events. */
  public static Path disturbedRun(ChaosPlan plan, Launch launch) {
    return launch.folder().resolve(plan.name() + "-disturbed").resolve("run");
  }

  private static RunEnd disturbed(
      ChaosPlan plan,
      JsonObject job,
      List<Disturbance> disturbances,
      JsonObject changes,
      Launch launch,
      boolean apart)
      throws IOException, InterruptedException {
    job.getJsonObject("cluster").put("port", launch.port() + PORTS);
    if (launch.link().isPresent()) {
      // Namespaces of one machine share its memory, which a cut does not divide.
      job.mergeIn(
          new JsonObject().put("exchange", new JsonObject().put("transport", "stream")), true);
    }
    Path folder = Files.createDirectories(disturbedRun(plan, launch).getParent());
    return new ChaosRun(launch.disturbedCommand(), launch.link(), folder)
        .train(
            job.mergeIn(changes, true),
            launch.data(),
            disturbances,
            plan.hasStandby(),
            apart,
            launch.spares());
  }

  /**
   * Runs short jobs of one plan, each with one disturbance, and one undisturbed run for all of
   * them. It deletes the files of a clean run.
   *
   * @param plan the job
   * @param disturbances one for each run
   * @param each receives each trial
   */
  public static void ofEach(
      ChaosPlan plan, List<Disturbance> disturbances, Launch launch, Consumer<ChaosTrial> each)
      throws IOException, InterruptedException {
    JsonObject job = plan.shortJob(file(plan, launch), launch.port());
    RunEnd undisturbed = undisturbed(plan, job, launch);
    for (int i = 0; i < disturbances.size(); i++) {
      // Another port for each run, so that no run waits for a port that the last one has just left.
      job.getJsonObject("cluster").put("port", launch.port() + (1 + i % 10) * PORTS);
      Path folder = Files.createDirectories(launch.folder().resolve(plan.name() + "-" + i));
      RunEnd disturbed =
          new ChaosRun(launch.disturbedCommand(), Optional.empty(), folder)
              .train(
                  job,
                  launch.data(),
                  disturbances.subList(i, i + 1),
                  plan.hasStandby(),
                  true,
                  launch.spares());
      ChaosTrial trial =
          new ChaosTrial(
              undisturbed, disturbed, ChaosChecker.violations(plan, undisturbed, disturbed));
      if (trial.violations().isEmpty()) {
        delete(folder);
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
        .train(job, launch.data(), List.of(), false, launch.apart(), 0);
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** Returns the time of the undisturbed run divided by that of the disturbed one. */
  public double goodput() {
    return undisturbed.seconds() / disturbed.seconds();
  }
}
