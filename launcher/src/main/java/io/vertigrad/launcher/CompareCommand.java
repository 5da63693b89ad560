package io.vertigrad.launcher;

import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.comparison.Comparison;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad compare}, which prints runs side by side. */
@Command(
    name = "compare",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Prints runs that finished or were interrupted side by side, and their accuracy at shared"
          + " sample counts.",
      "With --serve, a page shows their curves on top of each other."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class CompareCommand implements Callable<Integer> {

  private static final long START_SECONDS = 60;
  private static final Path RUNS = Path.of("runs");

  @Parameters(
      paramLabel = "DIR",
      arity = "2..8",
      description = "Folders of runs or their names below runs/; last is the newest run.")
  private List<String> folders;

  @Option(
      names = "--serve",
      description = "Shows their curves and the table in the browser too, until Ctrl-C.")
  private boolean serve;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = "8350",
      description = "Port of that page (${DEFAULT-VALUE}); a free one when it is taken, or 0.")
  private int port;

  @Override
  public Integer call() throws InterruptedException {
    RunLog.leaveConsole();
    Comparison runs =
        Comparison.of(folders.stream().map(name -> RunDirectory.named(RUNS, name)).toList());
    runs.lines().forEach(System.out::println);
    if (serve) {
      serve(runs);
    }
    return ExitStatus.OK;
  }

  private void serve(Comparison runs) throws InterruptedException {
    Vertx vertx = ClusterStart.alone();
    String url = Await.result(runs.serve(vertx, port), START_SECONDS, "starting the page");
    Dashboard.otherPort(port, url).ifPresent(System.out::println);
    System.out.println("comparison: " + url + "  (Ctrl-C ends it)");
    new CountDownLatch(1).await();
  }
}
