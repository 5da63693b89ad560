package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.run.FinishedRun;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.ComparisonText;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code vertigrad compare}: finished runs side by side. */
@Command(
    name = "compare",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = "Prints finished runs side by side, and their accuracy at shared sample counts.",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class CompareCommand implements Callable<Integer> {

  @Parameters(
      paramLabel = "DIR",
      arity = "2..8",
      description = "Folders of runs, such as runs/<time>-<job>.")
  private List<Path> folders;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    List<FinishedRun> runs = folders.stream().map(FinishedRun::read).toList();
    ComparisonText.of(runs).forEach(System.out::println);
    return ExitStatus.OK;
  }
}
