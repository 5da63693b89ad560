package io.vertigrad.launcher;

import io.vertigrad.job.DashboardConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad ui}, which shows all runs of a folder until it is interrupted. */
@Command(
    name = "ui",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Shows all runs of a folder on a page, those that go on too, until Ctrl-C.",
      "The page lists, filters and groups runs, draws their curves on top of each other, and keeps"
          + " tags and notes in their folders."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class UiCommand implements Callable<Integer> {

  private static final long START_SECONDS = 60;

  @Parameters(
      paramLabel = "DIR",
      arity = "0..1",
      description = "The folder that holds the runs' folders. Default: runs.")
  private Path folder;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = "8360",
      description =
          "Port of the page (${DEFAULT-VALUE}); a free one when it is taken, or 0. The pages of runs"
              + " that are over take the eight behind it.")
  private int port;

  @Mixin private AddressOptions address;

  @Override
  public Integer call() throws InterruptedException {
    RunLog.leaveConsole();
    if (folder != null) {
      check();
    }
    Path shown = folder == null ? RunDirectory.RUNS : folder;
    JsonObject json = JsonObject.of("dashboard", JsonObject.of("port", port));
    address.applyTo(json, "dashboard");
    DashboardConfig where = JobConfig.read("ui", json).dashboard();
    String url =
        Await.result(
            RunsPage.start(MeteredVertx.alone(), shown, where), START_SECONDS, "starting the page");
    Dashboard.otherPort(port, url).ifPresent(System.out::println);
    Dashboard.openTo(where.host()).ifPresent(System.out::println);
    System.out.println("runs: " + url + "  (Ctrl-C ends it)");
    new CountDownLatch(1).await();
    return ExitStatus.OK;
  }

  private void check() {
    if (!Files.isDirectory(folder)) {
      throw new InputException(
          "%s: there is no such folder, expected one that holds the folders of runs, such as runs"
              .formatted(folder));
    }
    if (new RunDirectory(folder).isRun()) {
      throw new InputException(
          "%s: is the folder of one run, expected the one that holds it; %s shows one run"
              .formatted(folder, ShellCommand.of("replay", folder.toString())));
    }
  }
}
