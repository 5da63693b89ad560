package io.vertigrad.launcher;

import io.vertigrad.http.AccessToken;
import io.vertigrad.job.DashboardConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Pattern;
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
          + " tags and notes in their folders. Everyone who reaches it can watch; who has the printed"
          + " token can change, archive and delete runs."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class UiCommand implements Callable<Integer> {

  private static final long START_SECONDS = 60;
  private static final Pattern TOKEN = Pattern.compile("[A-Za-z0-9._-]{16,256}");
  private static final long MOST_TOKEN_BYTES = 1_024;
  private static final Pattern BASE_PATH = Pattern.compile("(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/?");

  @Parameters(
      paramLabel = "DIR",
      arity = "0..1",
      description = "The folder that holds the runs' folders. Default: runs.")
  private Path folder;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = "8360",
      description = "Port of the page (${DEFAULT-VALUE}); a free one when it is taken, or 0.")
  private int port;

  @Mixin private AddressOptions address;

  @Option(
      names = "--base-path",
      paramLabel = "PATH",
      description =
          "Path below which a proxy asks for the page, such as /vertigrad. A proxy that removes the"
              + " path before it asks needs no such option.")
  private String basePath = "";

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description =
          "File with the token of those who may change runs, such as openssl rand -hex 16 prints."
              + " Default: a new token at each start, which is printed.")
  private Path tokenFile;

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
    AccessToken token = tokenFile == null ? AccessToken.fresh() : readToken();
    RunsPage page =
        Await.result(
            RunsPage.start(MeteredVertx.alone(), shown, where, plainBasePath(), token),
            START_SECONDS,
            "starting the page");
    Dashboard.otherPort(port, page.url()).ifPresent(System.out::println);
    Dashboard.openTo(where.host()).ifPresent(System.out::println);
    String change = tokenFile == null ? token.text() : "... with that of " + tokenFile;
    System.out.println(
        "runs: %s  (to change runs: %s#token=%s; Ctrl-C ends it)"
            .formatted(page.url(), page.url(), change));
    new CountDownLatch(1).await();
    return ExitStatus.OK;
  }

  /** Returns the base path without a slash at its end. */
  private String plainBasePath() {
    if (!BASE_PATH.matcher(basePath).matches()) {
      throw new InputException(
          "--base-path: found \"%s\", expected a path such as /vertigrad: letters, digits, '-', '_'"
                  .formatted(basePath)
              + " and '.', not at the beginning of a part");
    }
    return basePath.replaceFirst("/$", "");
  }

  /** Reads a token that can stand in an address as it is. */
  private AccessToken readToken() {
    try {
      if (!Files.isRegularFile(tokenFile) || Files.size(tokenFile) > MOST_TOKEN_BYTES) {
        throw new InputException(
            "--token-file %s: expected a file with a token".formatted(tokenFile));
      }
      String text = Files.readString(tokenFile).strip();
      if (!TOKEN.matcher(text).matches()) {
        throw new InputException(
            ("--token-file %s: expected one token of 16 to 256 letters, digits, '-', '_' and '.',"
                    + " such as openssl rand -hex 16 prints; found %s characters")
                .formatted(tokenFile, text.length()));
      }
      return new AccessToken(text);
    } catch (IOException e) {
      throw new InputException(
          "--token-file %s: cannot be read; check its permissions".formatted(tokenFile), e);
    }
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
