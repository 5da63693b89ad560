package io.vertigrad.launcher;

import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.Placement;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.sweep.Sweep;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad resume}, which continues a run that did not finish. */
@Command(
    name = "resume",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Goes on with a run that was interrupted, or whose coordinator's process was killed.",
      "%nMembers of it that still live take part again; the others start from its checkpoints.",
      "What is trained again ends in the same parameters."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class ResumeCommand implements Callable<Integer> {

  @Parameters(
      arity = "0..1",
      paramLabel = "RUN",
      defaultValue = "last",
      description =
          "The run's folder, its name below runs/, or last for the newest there."
              + " Default: ${DEFAULT-VALUE}.")
  private String run;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description = "Folder with the data set's files, where they lie elsewhere by now.")
  private String data;

  @Option(
      names = "--host",
      paramLabel = "ADDRESS",
      description = "This machine's address for the cluster, if it is another by now.")
  private String host;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description =
          "Changes a key that says where and how members run, such as cluster.port or"
              + " checkpoint.seconds; what is trained stays. Repeatable.")
  private List<String> assignments = new ArrayList<>();

  @Option(
      names = "--skip",
      paramLabel = "PLACE[,PLACE...]",
      split = "(?<=@\\d{1,18}),",
      splitSynopsisLabel = ",",
      description =
          "Leaves out events of a stream that training cannot read: TOPIC/PARTITION@OFFSET or"
              + " FILE@LINE, as the error names them. Repeatable.")
  private List<String> skipped = new ArrayList<>();

  @Mixin private PlacementOption processes;

  @Option(
      names = "--no-processes",
      description = "Starts all in this JVM; without it and --processes, all start as before.")
  private boolean oneJvm;

  @Option(names = "--no-dashboard", description = "Serves no page (dashboard.enabled).")
  private boolean noDashboard;

  @Option(names = "--quiet", description = "Prints the result only.")
  private boolean quiet;

  @Option(names = "--json", description = "Prints every event, then the summary, as JSON lines.")
  private boolean json;

  @Option(names = "--standby", hidden = true)
  private boolean standby;

  @Override
  public Integer call() {
    if (Files.exists(RunDirectory.named(RunDirectory.RUNS, run).resolve(Sweep.JOURNAL))) {
      throw new InputException(
          "%s: is a sweep, expected a run; to go on with it: %s"
              .formatted(
                  run, ShellCommand.of("sweep", "--resume", Path.of(run).toFile().getName())));
    }
    ResumedRun resumed = new ResumedRun(run, assignments, placement());
    resumed.set("--data", "data.directory", data);
    resumed.set("--host", "cluster.host", host);
    resumed.set("--no-dashboard", "dashboard.enabled", noDashboard ? false : null);
    resumed.skip(skipped);
    return standby ? resumed.standBy() : resumed.call(json, quiet);
  }

  private Optional<Placement> placement() {
    Optional<Placement> asked = Optional.ofNullable(processes.placement());
    if (oneJvm && asked.isPresent()) {
      throw new InputException("--no-processes and --processes: give one of them");
    }
    return oneJvm ? Optional.of(Placement.ONE_JVM) : asked;
  }
}
