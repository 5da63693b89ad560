package io.vertigrad.launcher;

import io.vertigrad.launcher.comparison.Comparison;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad compare}, which prints runs side by side. */
@Command(
    name = "compare",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Prints runs that finished or were interrupted side by side, and their accuracy at shared"
          + " sample counts.",
      "The page of vertigrad ui has their curves."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class CompareCommand implements Callable<Integer> {

  @Parameters(
      paramLabel = "DIR",
      arity = "2..8",
      description = "Folders of runs or their names below runs/; last is the newest run.")
  private List<String> folders;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    Comparison runs =
        Comparison.of(
            folders.stream().map(name -> RunDirectory.named(RunDirectory.RUNS, name)).toList());
    runs.lines().forEach(System.out::println);
    return ExitStatus.OK;
  }
}
