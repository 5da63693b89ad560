package io.vertigrad.launcher;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.comparison.RunList;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.launcher.job.LocalSettings;
import io.vertigrad.launcher.run.Placement;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLaunch;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.Display;
import io.vertigrad.launcher.terminal.ResultText;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.PipelinePlan;
import io.vertx.core.Vertx;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Implements {@code vertigrad train}, which runs a whole job and waits for its end. */
@Command(
    name = "train",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Trains, evaluates and saves: everything in this JVM, or servers and workers in processes.",
      "%nThe run is kept in runs/<time>-<job>: job.json, events.jsonl, summary.json, model.zip, logs."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class TrainCommand implements Callable<Integer> {

  private static final long READ_SECONDS = 30;
  private static final ClassLoader LOADER = TrainCommand.class.getClassLoader();

  @Spec private CommandSpec spec;

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "FILE",
      description = "Job file or its URL, JSON or YAML; without one, conf/digits-sync.json.")
  private String file;

  @Mixin private JobOptions job;

  @Option(names = "--seed", paramLabel = "N", description = "Seed of everything random (seed).")
  private Long seed;

  @Option(names = "--steps", paramLabel = "N", description = "Steps per worker (steps).")
  private Long steps;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description = "Passes over the training set, instead of steps (epochs).")
  private Double epochs;

  @Option(names = "--workers", paramLabel = "N", description = "How many (workers.count).")
  private Integer workers;

  @Mixin private PlacementOption processes;

  @Option(
      names = "--listen",
      description =
          "Opens the cluster's port, so that nodes can join, and prints the command that joins:"
              + " vertigrad node --job HOST:PORT --role worker")
  private boolean listen;

  @Option(
      names = "--workers-here",
      paramLabel = "N",
      description =
          "Starts only N of the workers, 0 for none, and waits for nodes to join as the others;"
              + " opens the port as --listen does.")
  private Integer workersHere;

  @Option(
      names = "--servers-here",
      paramLabel = "N",
      description =
          "Starts only N of the servers, 0 for none, and waits for nodes to join as the others;"
              + " opens the port as --listen does.")
  private Integer serversHere;

  @Option(
      names = "--run-dir",
      paramLabel = "DIR",
      description = "Keeps the run there instead of in runs/<time>-<job>.")
  private Path runDirectory;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "A name for the run, which page and lists show; runs name changes it.")
  private String name;

  @Option(names = "--no-dashboard", description = "Serves no page (dashboard.enabled).")
  private boolean noDashboard;

  @Mixin private ServeOption serve;

  @Option(
      names = "--keep-open",
      description = "Serves the page after the run's end too, until Ctrl-C.")
  private boolean keepOpen;

  @Option(
      names = "--timeline",
      description = "Writes what every member did when to the run's timeline.json (timeline).")
  private boolean timeline;

  @Option(names = "--quiet", description = "Prints the result only.")
  private boolean quiet;

  @Option(names = "--json", description = "Prints every event, then the summary, as JSON lines.")
  private boolean json;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    JobConfig asked = JobCheck.counted(read());
    String label = name == null ? "" : RunList.requireLabel("--name", name);
    if (keepOpen && !asked.dashboard().enabled() && asked.serving().count() == 0) {
      throw new InputException(
          "--keep-open: there is no page to keep; leave --no-dashboard out, or set"
              + " dashboard.enabled to true");
    }
    Placement placement = Optional.ofNullable(processes.placement()).orElse(Placement.ONE_JVM);
    LocalMembers roles = roles(asked);
    Optional<String> memory = JobCheck.files(asked, roles, placement.apart());
    boolean trainsHere = placement.here(roles).workers() > 0;
    Dataset shared = trainsHere ? DatasetProvider.open(asked.data(), Split.TRAIN, LOADER) : null;
    List<String> notes = new ArrayList<>();
    Map<String, DataFingerprint> data = JobCheck.fingerprints(asked, roles, notes::add);
    RunDirectory directory =
        runDirectory == null
            ? RunDirectory.fresh(RunDirectory.RUNS, asked.addresses().job(), LocalDateTime.now())
            : RunDirectory.at(runDirectory);
    if (!label.isEmpty()) {
      RunList.name(directory, label);
    }
    PipelinePlan start = PipelinePlan.of(directory.begin(asked));
    notes.addAll(start.plan());
    JobConfig kept = start.job().withFingerprints(data);
    Display display = Display.of(Display.Style.chosen(json, quiet), System.out, kept);
    ClusterConfig cluster = kept.cluster();
    boolean joins =
        !cluster.members().isEmpty() || !cluster.discovery().equals(ClusterConfig.MEMBERS);
    boolean open = listen || joins || workersHere != null || serversHere != null;
    if (trainsHere || data.containsKey("testData")) {
      Dataset opened = trainsHere ? shared : DatasetProvider.open(kept.data(), Split.TEST, LOADER);
      notes.add("data: " + DatasetProvider.describe(kept.data(), opened, LOADER));
    }
    ResultText.length(kept).ifPresent(notes::add);
    memory.ifPresent(notes::add);
    long updates =
        StrategyProviders.configure(kept.strategy(), LOADER)
            .traits()
            .lastVersion(kept.steps(), kept.workers().count());
    kept.warnings(updates).forEach(warning -> notes.add("warning: " + warning));
    if (roles.workers() > 0) {
      DatasetProvider.warnings(kept.data(), LOADER)
          .forEach(warning -> notes.add("warning: " + warning));
    }
    NextCommand next = new NextCommand(arguments(), directory, open);
    RunLock lock = RunLock.take(directory);
    try (lock) {
      new RunLaunch(LocalSettings.of(kept), placement, open, roles.servers(), roles.workers(), 0)
          .write(directory);
      TrainingRun run = new TrainingRun(kept, directory, lock, display, notes, next);
      return (keepOpen ? run.keepingPage() : run).call(roles, placement, open);
    } finally {
      // The workers of this JVM share what was opened for the fingerprint.
      Reference.reachabilityFence(shared);
    }
  }

  /** Returns the arguments as they were typed, from {@code train} on. */
  private List<String> arguments() {
    return spec.root().commandLine().getParseResult().originalArgs();
  }

  private LocalMembers roles(JobConfig asked) {
    LocalMembers all = LocalMembers.of(asked);
    int workers = here("--workers-here", workersHere, "workers.count", all.workers());
    int servers = here("--servers-here", serversHere, "servers.count", all.servers());
    return new LocalMembers(servers, workers, all.evaluators());
  }

  /** Returns how many members of a role start here: all of them without the option. */
  private static int here(String option, Integer value, String key, int all) {
    if (value != null && (value < 0 || value > all)) {
      throw new InputException(
          "%s %s: expected a number from 0 to %s, %s".formatted(option, value, key, all));
    }
    return value == null ? all : value;
  }

  /** Returns a whole number as a long, as a person would have typed it. */
  private static Number whole(Double number) {
    return number != null && number == Math.rint(number) ? (Number) number.longValue() : number;
  }

  private JobConfig read() {
    JobRequest request =
        job.request(file)
            .option("--seed", "seed", seed)
            .option("--steps", "steps", steps)
            .option("--epochs", "epochs", whole(epochs))
            .option("--workers", "workers.count", workers)
            .option("--timeline", "timeline", timeline ? true : null)
            .option("--serve", "serving.port", serve.port())
            .option("--no-dashboard", "dashboard.enabled", noDashboard ? false : null);
    boolean inPod = !System.getenv().getOrDefault("POD_IP", "").isEmpty();
    if (inPod && (listen || workersHere != null)) {
      // The pod that resumes the run has another address.
      request.otherwise("POD_IP", "cluster.host", "auto");
    }
    Vertx reader = Vertx.vertx();
    try {
      return Await.result(request.read(reader), READ_SECONDS, "reading the job file");
    } finally {
      reader.close();
    }
  }
}
