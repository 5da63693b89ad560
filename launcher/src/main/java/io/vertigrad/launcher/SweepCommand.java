package io.vertigrad.launcher;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrainingLength;
import io.vertigrad.launcher.job.Assignment;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobFile;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.sweep.SearchSpace;
import io.vertigrad.sweep.SuccessiveHalving;
import io.vertigrad.sweep.Sweep;
import io.vertigrad.sweep.SweepPlan;
import io.vertigrad.sweep.SweepPlan.Trial;
import io.vertigrad.sweep.TrialResult;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Vertx;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad sweep}, which tries many settings of one job. */
@Command(
    name = "sweep",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Tries many settings of a job, stops poor ones early and names the best.",
      "%nEach trial is a run of runs/, so that vertigrad ui shows it. Poor trials are stopped by"
          + " asynchronous successive halving: the best third of each rung is trained three times"
          + " longer."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class SweepCommand implements Callable<Integer> {

  private static final long READ_SECONDS = 30;
  private static final int FACTOR = 3;

  /** Fewest steps of the lowest rung, unless an option says otherwise. */
  private static final long LEAST_STEPS = 10;

  private static final int MOST_PARALLEL = 256;

  /** Names of sweeps, as a regular expression. */
  static final String NAME = "[A-Za-z0-9_][A-Za-z0-9._-]{0,99}";

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "FILE",
      description = "Job file or its URL, JSON or YAML; without one, conf/digits-sync.json.")
  private String file;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUES",
      description =
          "What to try: a list, such as workers.batch=16,32, or a range LOW..HIGH of numbers, with"
              + " both ends. One value is set in every trial. Repeatable.")
  private List<String> assignments = new ArrayList<>();

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Folder with the data set's files (data.directory).")
  private String data;

  @Option(
      names = "--trials",
      paramLabel = "N",
      description =
          "Draws N settings at random. Without it, every combination is tried, of a range three"
              + " points, or N with LOW..HIGH/N.")
  private Integer trials;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Seed of the draws, and of the order of trials. Default: ${DEFAULT-VALUE}.",
      defaultValue = "1")
  private long seed;

  @Option(names = "--full", description = "Trains every trial to its last step; stops none early.")
  private boolean full;

  @Option(
      names = "--least",
      paramLabel = "STEPS",
      description = "Steps of a trial before it may be stopped, at least. Default: 10.")
  private Long least;

  @Option(
      names = "--by",
      paramLabel = "accuracy|loss",
      description =
          "What is best, on the whole test set: the highest accuracy, then the lowest loss; or the"
              + " lowest loss. Default: ${DEFAULT-VALUE}.",
      defaultValue = "accuracy")
  private TrialResult.Order order;

  @Option(
      names = "--parallel",
      paramLabel = "N",
      description =
          "Trials at the same time, each in a process. Default: one per worker's share of the"
              + " processors.")
  private Integer parallel;

  @Option(
      names = "--workers-here",
      paramLabel = "N",
      description =
          "Starts only N of a trial's workers, 0 for none; nodes that wait for job after job are the"
              + " others. Prints their commands, one for each of the trials at the same time (1).")
  private Integer workersHere;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of the sweep, and of its folder below runs/.")
  private String name;

  @Option(
      names = "--resume",
      paramLabel = "NAME",
      description = "Goes on with a sweep that was interrupted or killed.")
  private String resumed;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    if (parallel != null && (parallel < 1 || parallel > MOST_PARALLEL)) {
      throw new InputException(
          "--parallel %s: expected a number from 1 to %s".formatted(parallel, MOST_PARALLEL));
    }
    if (resumed != null) {
      refuseWithResume();
      Path folder = folder("--resume", resumed);
      try (Sweep sweep = Sweep.resume(folder)) {
        requireNodes(sweep.plan());
        return run(sweep, folder, true);
      }
    }
    SweepPlan plan = plan();
    requireNodes(plan);
    Path folder = RunDirectory.RUNS.resolve(plan.name());
    try (Sweep sweep = Sweep.begin(folder, plan)) {
      return run(sweep, folder, false);
    }
  }

  private int run(Sweep sweep, Path folder, boolean again) {
    OptionalInt here = workersHere == null ? OptionalInt.empty() : OptionalInt.of(workersHere);
    return new SweepRun(sweep, folder, processes(sweep.plan()), here, System.out).call(again);
  }

  private int processes(SweepPlan plan) {
    if (parallel != null) {
      return parallel;
    }
    int workers = SweepRun.job(plan).workers().count();
    return workersHere == null
        ? Math.max(1, Runtime.getRuntime().availableProcessors() / workers)
        : 1;
  }

  /** Checks that nodes can be the workers of trials that are stopped and go on. */
  private void requireNodes(SweepPlan plan) {
    if (workersHere == null) {
      return;
    }
    JobConfig job = SweepRun.job(plan);
    int processes = processes(plan);
    int most = (JoinAddress.MOST_PORT - job.cluster().port()) / SweepRun.PORTS_OF_A_PROCESS;
    if (processes > most) {
      throw new InputException(
          "--parallel %s: each process has %s ports, the first at cluster.port %s; expected at most %s"
              .formatted(processes, SweepRun.PORTS_OF_A_PROCESS, job.cluster().port(), most));
    }
    int workers = job.workers().count();
    if (workersHere < 0 || workersHere >= workers) {
      throw new InputException(
          "--workers-here %s: expected a number from 0 to %s, fewer than workers.count, %s"
              .formatted(workersHere, workers - 1, workers));
    }
    for (Trial trial : plan.trials()) {
      JobConfig one = JobConfig.read("trial " + trial.number(), trial.job());
      if (plan.rungs() > 1 && LocalMembers.of(one).servers() == 0) {
        throw new InputException(
            "--workers-here %s: trial %s has no servers (strategy %s), so nodes would have the"
                    .formatted(workersHere, trial.number(), one.strategy().name())
                + " checkpoints from which it goes on; expected a strategy with servers, or --full");
      }
    }
  }

  private void refuseWithResume() {
    boolean more = file != null || !assignments.isEmpty() || data != null || trials != null;
    if (more || full || least != null || name != null) {
      throw new InputException(
          "--resume %s: the sweep goes on as it was begun, expected no other option than --parallel"
                  .formatted(resumed)
              + " and --workers-here");
    }
  }

  private static Path folder(String option, String name) {
    if (!name.matches(NAME)) {
      throw new InputException(
          "%s %s: expected letters, digits, '-', '_' and '.', such as first-sweep"
              .formatted(option, name));
    }
    return RunDirectory.RUNS.resolve(name);
  }

  /** Checks every trial before anything is written or started. */
  private SweepPlan plan() {
    SearchSpace space = SearchSpace.parse(assignments);
    List<String> varied = space.keys();
    if (varied.isEmpty()) {
      throw new InputException(
          "sweep: no --set has several values, expected one such as --set"
              + " optimizer.learningRate=0.1,0.03 or --set workers.batch=16..128");
    }
    TrainingLength.keys().stream()
        .filter(varied::contains)
        .findFirst()
        .ifPresent(
            key -> {
              throw new InputException(
                  "--set %s: the length of a trial is what a sweep decides, expected one value"
                      .formatted(key));
            });
    if (least != null && least < 1) {
      throw new InputException("--least %s: expected a number of steps from 1".formatted(least));
    }
    List<Map<String, Object>> all = new ArrayList<>();
    if (trials == null) {
      all.addAll(space.grid());
      // In order, each trial may be better than those before, and would be promoted.
      Collections.shuffle(all, new Random(seed));
    } else {
      all.addAll(space.random(trials, seed));
    }
    JobFile read = read();
    List<Trial> made = new ArrayList<>();
    for (Map<String, Object> settings : all) {
      made.add(trial(read, made.size() + 1, settings, varied));
    }
    long shortest = made.stream().mapToLong(Trial::most).min().orElseThrow();
    int rungs =
        full
            ? 1
            : SuccessiveHalving.rungs(
                made.size(), shortest, least == null ? LEAST_STEPS : least, FACTOR);
    String job = JobConfig.read(read.origin(), read.json()).addresses().job();
    SweepPlan plan = new SweepPlan(name(job), made, rungs, FACTOR, order);
    for (Trial trial : made) {
      Path run = SweepRun.run(plan, trial);
      if (Files.exists(run)) {
        throw new InputException(
            "--name %s: %s is there already, expected a name that no run begins with"
                .formatted(plan.name(), run));
      }
    }
    return plan;
  }

  private String name(String job) {
    if (name == null) {
      return RunDirectory.freshName(RunDirectory.RUNS, job + "-sweep", LocalDateTime.now());
    }
    Path folder = folder("--name", name);
    if (Files.exists(folder)) {
      throw new InputException(
          "--name %s: %s is there already, expected a new name; --resume %s goes on with a sweep"
              .formatted(name, folder, name));
    }
    return name;
  }

  private Trial trial(JobFile read, int number, Map<String, Object> settings, List<String> varied) {
    JobRequest request = new JobRequest(file);
    settings.forEach((key, value) -> request.set(Assignment.words(key, value)));
    request.option("--data", "data.directory", data).variables(System.getenv());
    try {
      JobConfig job = request.resolve(read);
      if (job.endless()) {
        throw new InputException(
            "%s: it has no last step, expected steps or epochs: a sweep compares trials of one"
                    .formatted(job.origin())
                + " length");
      }
      boolean first = number == 1;
      JobConfig counted =
          first || job.length().unit() == TrainingLength.Unit.EPOCHS ? JobCheck.counted(job) : job;
      if (first) {
        JobCheck.files(counted, LocalMembers.of(counted), false);
      }
      Map<String, Object> shown = new LinkedHashMap<>(settings);
      shown.keySet().retainAll(varied);
      return new Trial(number, shown, counted.steps(), request.apply(read));
    } catch (SettingsException | InputException e) {
      throw new InputException(request.related(e.getMessage()), e);
    }
  }

  private JobFile read() {
    Vertx reader = Vertx.vertx();
    try {
      return Await.result(
          JobFile.read(reader, file == null ? JobFile.DEFAULT : file),
          READ_SECONDS,
          "reading the job file");
    } finally {
      reader.close();
    }
  }
}
