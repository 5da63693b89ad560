package io.vertigrad.launcher;

import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.launcher.deploy.TrialProcess;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.sweep.SearchSpace;
import io.vertigrad.sweep.Sweep;
import io.vertigrad.sweep.Sweep.Standing;
import io.vertigrad.sweep.Sweep.Task;
import io.vertigrad.sweep.SweepPlan;
import io.vertigrad.sweep.SweepPlan.Trial;
import io.vertigrad.sweep.TrialResult;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Trains the trials of a sweep in processes, on the command's own thread. */
final class SweepRun {

  /** Longest wait for processes that pause their trials; longer than they take. */
  private static final long END_SECONDS = 180;

  private static final int MOST_ROWS = 30;

  /** The next process has ports so much higher: the lower hundred for nodes, then the join port. */
  static final int PORTS_OF_A_PROCESS = 200;

  private static final int PERCENT_DIGITS = 2;

  private final Sweep sweep;
  private final SweepPlan plan;
  private final Path folder;
  private final PrintStream out;
  private final OptionalInt workersHere;

  /** The job of the first trial; all have the same cluster and as many workers. */
  private final JobConfig job;

  private final List<Place> places = new ArrayList<>();

  /** What the threads of processes and signals report; done on the command's own thread. */
  private final BlockingQueue<Runnable> reports = new LinkedBlockingQueue<>();

  private OptionalInt signal = OptionalInt.empty();
  private Optional<String> noNodes = Optional.empty();

  /** A process that may run, and the task that it was given. */
  private static final class Place {

    private final int number;
    private Optional<TrialProcess> process = Optional.empty();
    private int starts;
    private Optional<Task> task = Optional.empty();

    Place(int number) {
      this.number = number;
    }
  }

  /**
   * Creates a run of a sweep.
   *
   * @param folder of the sweep, below that of its runs
   * @param processes trials at the same time
   * @param workersHere how many workers of a trial its process has, and the others are nodes; empty
   *     for all
   */
  SweepRun(Sweep sweep, Path folder, int processes, OptionalInt workersHere, PrintStream out) {
    this.workersHere = workersHere;
    this.sweep = sweep;
    this.plan = sweep.plan();
    this.job = job(plan);
    this.folder = folder;
    this.out = out;
    for (int i = 1; i <= Math.min(processes, plan.trials().size()); i++) {
      places.add(new Place(i));
    }
  }

  /**
   * Trains until nothing is left, or a signal arrives.
   *
   * @param again true when the sweep was begun before
   * @return an exit code
   */
  int call(boolean again) {
    open(again);
    try (TerminationSignals signals = new TerminationSignals(() -> {})) {
      signals.first().onSuccess(status -> reports.add(() -> signal = OptionalInt.of(status)));
      try {
        while (signal.isEmpty() && !sweep.isOver()) {
          places.forEach(this::give);
          reports.take().run();
        }
      } finally {
        end();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      signal = OptionalInt.of(ExitStatus.INTERRUPTED);
    }
    return signal.isPresent() ? interrupted(signal.getAsInt()) : conclude();
  }

  /** Gives a process without a task the next one, and starts it if there is none. */
  private void give(Place place) {
    if (place.task.isPresent()) {
      return;
    }
    place.task = sweep.next();
    place.task.ifPresent(
        task -> {
          // One that has ended between two tasks has failed none.
          if (place.process.filter(TrialProcess::runs).isEmpty()) {
            place.process = Optional.of(start(place));
          }
          place.process.get().send(message(place, task));
        });
  }

  private TrialProcess start(Place place) {
    String process = "process-" + place.number;
    place.starts++;
    int start = place.starts;
    return TrialProcess.start(
        process,
        new RunDirectory(folder).log(process),
        VertigradApplication.class.getName(),
        result -> reports.add(() -> onResult(place, result)),
        () -> reports.add(() -> onEnd(place, start)));
  }

  private JsonObject message(Place place, Task task) {
    Trial trial = task.trial();
    JsonObject settings = new JsonObject();
    trial.settings().forEach(settings::put);
    JsonObject changed = trial.job().copy();
    JsonObject dashboard = changed.getJsonObject("dashboard", new JsonObject());
    changed.put("dashboard", dashboard.put("enabled", false));
    JsonObject message =
        JsonObject.of(
            "sweep",
            plan.name(),
            "trial",
            trial.number(),
            "settings",
            settings,
            "steps",
            task.steps(),
            "most",
            trial.most(),
            "folder",
            run(trial).toString(),
            "job",
            changed);
    if (workersHere.isPresent()) {
      JsonObject cluster = changed.getJsonObject("cluster", new JsonObject());
      cluster.put("port", address(place).port()).put("secretFile", secret().toString());
      changed.put("cluster", cluster);
      message.put("workersHere", workersHere.getAsInt());
    }
    return message;
  }

  /** Returns where the cluster of what a process trains is. */
  private JoinAddress address(Place place) {
    int port = job.cluster().port() + PORTS_OF_A_PROCESS * (place.number - 1);
    return new JoinAddress(job.cluster().host(), port);
  }

  /** Returns the job of the first trial. */
  static JobConfig job(SweepPlan plan) {
    return JobConfig.read("trial 1", plan.trial(1).job());
  }

  /** Returns the file of the secret that all trials have. */
  private Path secret() {
    return new RunDirectory(folder).secret(job).toAbsolutePath();
  }

  /** Returns the folder of a trial's run. */
  private Path run(Trial trial) {
    return run(plan, trial);
  }

  /** Returns the folder of the run of a trial, which need not exist. */
  static Path run(SweepPlan plan, Trial trial) {
    int digits = String.valueOf(plan.trials().size()).length();
    String number = String.valueOf(trial.number());
    return RunDirectory.RUNS.resolve(
        plan.name() + "-" + "0".repeat(digits - number.length()) + number);
  }

  private void onResult(Place place, JsonObject result) {
    Optional<Task> task =
        place.task.filter(one -> one.trial().number() == result.getInteger("trial"));
    if (task.isPresent() && result.getBoolean("interrupted", false)) {
      noNodes = noNodes.or(() -> Optional.ofNullable(result.getString("problem")));
      if (noNodes.isPresent()) {
        signal = OptionalInt.of(ExitStatus.JOB_FAILED);
      }
      return;
    }
    if (task.isEmpty()) {
      return;
    }
    place.task = Optional.empty();
    double before =
        sweep
            .standing(task.get().trial())
            .map(standing -> standing.result().processorSeconds())
            .orElse(0.0);
    report(
        task.get(),
        new TrialResult(
            result.getDouble("loss", Double.NaN),
            result.getDouble("accuracy", Double.NaN),
            result.getLong("samples", 0L),
            before + result.getDouble("processorSeconds"),
            Optional.ofNullable(result.getString("problem"))));
  }

  /**
   * A process that ends while it has a task has failed it, unless it was asked to end; another
   * takes its place.
   */
  private void onEnd(Place place, int start) {
    if (start != place.starts) {
      return;
    }
    Optional<Task> lost = place.task;
    String ending = place.process.map(TrialProcess::ending).orElse("");
    boolean asked = signal.isPresent() || place.process.filter(TrialProcess::wasAsked).isPresent();
    place.process = Optional.empty();
    place.task = Optional.empty();
    lost.ifPresent(
        task -> {
          if (asked) {
            sweep.giveBack(task);
          } else {
            report(task, TrialResult.failed(ending));
          }
        });
  }

  private void report(Task task, TrialResult result) {
    sweep.report(task, result);
    Trial trial = task.trial();
    String reached =
        result.isWorst()
            ? result.problem().orElse("no loss")
            : "%s, %s of %s there"
                .formatted(
                    figures(result),
                    sweep.place(new Standing(task, result)),
                    sweep.results(task.rung()));
    say(
        String.format(
            Locale.ROOT,
            "trial %s  %s  step %,d: %s",
            trial.number(),
            SearchSpace.text(trial.settings()),
            task.steps(),
            reached));
  }

  private void open(boolean again) {
    Trial first = plan.trial(1);
    List<String> steps = new ArrayList<>();
    for (int rung = 0; rung < plan.rungs(); rung++) {
      steps.add(String.format(Locale.ROOT, "%,d", plan.steps(first, rung)));
    }
    say(
        "sweep %s: %s trials, %s at a time; %s"
            .formatted(
                plan.name(),
                plan.trials().size(),
                places.size(),
                plan.rungs() == 1
                    ? "each to step " + steps.get(0)
                    : "the best third goes on at step "
                        + String.join(", ", steps.subList(0, steps.size() - 1))
                        + ", to step "
                        + steps.get(steps.size() - 1)));
    if (again) {
      say("resumes: %s trials have results".formatted(sweep.ranking().size()));
    }
    say("to watch it: " + ShellCommand.of("ui"));
    if (workersHere.isPresent()) {
      JobSecret.createOrRead(secret());
      places.forEach(place -> say(nodes(place)));
    }
  }

  /** Returns the line with the command of the nodes that train what a process is given. */
  private String nodes(Place place) {
    int missing = job.workers().count() - workersHere.getAsInt();
    return "%s for %s: %s"
        .formatted(
            missing == 1 ? "one node" : missing + " nodes",
            "process " + place.number,
            ShellCommand.of(
                "node",
                "--job",
                address(place).joinPort().toString(),
                "--secret",
                secret().toString(),
                "--role",
                "worker",
                "--repeat"));
  }

  private void end() {
    places.forEach(place -> place.process.ifPresent(TrialProcess::askToEnd));
    places.forEach(place -> place.process.ifPresent(process -> process.awaitEnd(END_SECONDS)));
  }

  private int interrupted(int status) {
    noNodes.ifPresent(this::say);
    say("interrupted: %s trials have results".formatted(sweep.ranking().size()));
    List<String> words = new ArrayList<>(List.of("sweep", "--resume", plan.name()));
    workersHere.ifPresent(workers -> words.addAll(List.of("--workers-here", "" + workers)));
    say("to go on with it: " + new ShellCommand(words));
    return status;
  }

  private int conclude() {
    table().forEach(this::say);
    say(compute());
    Optional<Standing> best = sweep.best();
    if (best.isEmpty()) {
      say("no trial ended well: see the logs in " + run(plan.trial(1)) + " and the others");
      return ExitStatus.JOB_FAILED;
    }
    Trial trial = best.get().task().trial();
    Path file = folder.resolve("best.json");
    new RunDirectory(folder).write(file, trial.job());
    say(
        "best: trial %s, %s: %s"
            .formatted(
                trial.number(), SearchSpace.text(trial.settings()), figures(best.get().result())));
    say("its settings: " + file);
    betterBefore(best.get())
        .ifPresent(
            other ->
                say(
                    String.format(
                        Locale.ROOT,
                        "trial %s was better at step %,d, %s: %s; train it fully, too, or both with"
                            + " fewer steps",
                        other.task().trial().number(),
                        other.task().steps(),
                        SearchSpace.text(other.task().trial().settings()),
                        figures(other.result()))));
    if (best.get().task().steps() >= trial.most()) {
      say("it was trained to its end: " + run(trial));
    } else {
      say("to train it fully: " + ShellCommand.of("train", file.toString()));
    }
    return ExitStatus.OK;
  }

  /**
   * Returns the best of the trials that were stopped with a better result than the best one has.
   */
  private Optional<Standing> betterBefore(Standing best) {
    Comparator<TrialResult> bestFirst = TrialResult.bestFirst(plan.order());
    return sweep.ranking().stream()
        .filter(other -> bestFirst.compare(other.result(), best.result()) < 0)
        .min(Comparator.comparing(Standing::result, bestFirst));
  }

  private List<String> table() {
    List<String> lines = new ArrayList<>(List.of("", "place  trial    steps  result"));
    List<Standing> ranking = sweep.ranking();
    for (int i = 0; i < Math.min(MOST_ROWS, ranking.size()); i++) {
      Standing one = ranking.get(i);
      lines.add(
          String.format(
              Locale.ROOT,
              "%5d  %5d  %,7d  %s  %s",
              i + 1,
              one.task().trial().number(),
              one.task().steps(),
              one.result().isWorst()
                  ? one.result().problem().orElse("no loss")
                  : figures(one.result()),
              SearchSpace.text(one.task().trial().settings())));
    }
    if (ranking.size() > MOST_ROWS) {
      lines.add("       and %s more".formatted(ranking.size() - MOST_ROWS));
    }
    lines.add("");
    return lines;
  }

  private String compute() {
    long samples = 0;
    double seconds = 0;
    double whole = 0;
    for (Standing one : sweep.ranking()) {
      samples += one.result().samples();
      seconds += one.result().processorSeconds();
      whole += (double) one.result().samples() * one.task().trial().most() / one.task().steps();
    }
    return String.format(
        Locale.ROOT,
        "compute: %,d samples, %,.0f s of processor time; all trials to their end would be %,.0f"
            + " samples",
        samples,
        seconds,
        whole);
  }

  private static String figures(TrialResult result) {
    String loss = String.format(Locale.ROOT, "loss %.4f", result.loss());
    return Double.isNaN(result.accuracy())
        ? loss
        : String.format(Locale.ROOT, "%." + PERCENT_DIGITS + "f %%, %s", result.accuracy(), loss);
  }

  private void say(String line) {
    out.println(line);
  }
}
