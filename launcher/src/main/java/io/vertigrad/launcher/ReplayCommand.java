package io.vertigrad.launcher;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.dashboard.ReplayVerticle;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertx.core.Vertx;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Implements {@code vertigrad replay}, which shows a finished run until it is interrupted. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = "Shows a run again, on the page that showed it live, until Ctrl-C.",
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class ReplayCommand implements Callable<Integer> {

  private static final long REPORT_MILLIS = 10_000;

  /** Longest time without an event read, of a file of any length. */
  private static final long STILL_SECONDS = 60;

  @Parameters(
      paramLabel = "DIR",
      description = "The run's folder or its name below runs/, or last for the newest run.")
  private String folder;

  @Option(
      names = "--port",
      paramLabel = "N",
      description = "Port of the page (dashboard.port); a free one when it is taken, or 0.")
  private Integer port;

  @Mixin private AddressOptions address;

  @Override
  public Integer call() throws InterruptedException {
    RunLog.leaveConsole();
    RunDirectory run = new RunDirectory(RunDirectory.named(RunDirectory.RUNS, folder));
    if (!Files.isReadable(run.events())) {
      throw new InputException(
          "%s is missing; expected the folder of a run, as train makes them below runs/"
              .formatted(run.events()));
    }
    Vertx vertx = MeteredVertx.alone();
    JobConfig job = job(run);
    ReplayVerticle replay = new ReplayVerticle(run.events());
    long reports =
        vertx.setPeriodic(
            REPORT_MILLIS,
            timer ->
                System.out.printf(
                    Locale.ROOT, "reading the run: %,d events so far%n", replay.eventsRead() / 2));
    String url =
        Await.whileProgressing(
            Dashboard.start(vertx, job, replay),
            STILL_SECONDS,
            () -> String.format(Locale.ROOT, "reading event %,d", replay.eventsRead() / 2),
            "reading the run");
    vertx.cancelTimer(reports);
    Dashboard.otherPort(job.dashboard().port(), url).ifPresent(System.out::println);
    Dashboard.openTo(job.dashboard().host()).ifPresent(System.out::println);
    System.out.println("replay: " + url + "  (Ctrl-C ends it)");
    new CountDownLatch(1).await();
    return ExitStatus.OK;
  }

  private JobConfig job(RunDirectory run) {
    try {
      JsonObject json = new JsonObject(JsonText.read(run.job()));
      if (port != null) {
        JsonObject dashboard = json.getJsonObject("dashboard", new JsonObject());
        json.put("dashboard", dashboard.put("port", port));
      }
      address.applyTo(json, "dashboard");
      return JobConfig.read(run.job().toString(), json);
    } catch (IOException | DecodeException e) {
      throw new InputException(
          "%s cannot be read: %s; a run's folder holds the job it ran"
              .formatted(run.job(), e.getMessage()),
          e);
    }
  }
}
