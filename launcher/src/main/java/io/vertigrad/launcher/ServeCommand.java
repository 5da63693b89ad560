package io.vertigrad.launcher;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.Assignment;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.serving.Predictors;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.net.BindException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code vertigrad serve}, which answers with a trained model until Ctrl-C. */
@Command(
    name = "serve",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Answers with a trained model over HTTP, by the Open Inference Protocol (KServe, Triton),"
          + " until Ctrl-C.",
      "A model that is still being trained is served by train --serve."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class ServeCommand implements Callable<Integer> {

  /** The port if none is given. */
  static final String PORT = "8351";

  private static final long START_SECONDS = 120;

  @Mixin private ModelOptions model;

  @Option(
      names = "--port",
      paramLabel = "N",
      defaultValue = PORT,
      description = "Port, 0 for a free one (${DEFAULT-VALUE}; serving.port).")
  private int port;

  @Mixin private AddressOptions address;

  @Option(
      names = "--insecure",
      description =
          "Lets everyone who reaches --host ask, without a certificate (serving.insecure).")
  private boolean insecure;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "Name of the model in its address; the job's name unless given.")
  private String name;

  @Override
  public Integer call() throws InterruptedException {
    RunLog.leaveConsole();
    System.setProperty("java.awt.headless", "true");
    ModelOptions.Chosen chosen = model.chosen();
    JsonObject json = chosen.job().json();
    new Assignment("serving.file", chosen.file().toString()).applyTo(json);
    new Assignment("serving.port", port).applyTo(json);
    address.applyTo(json, "serving");
    if (insecure) {
      new Assignment("serving.insecure", true).applyTo(json);
    }
    if (name != null) {
      new Assignment("job", name).applyTo(json);
    }
    JobConfig job = JobConfig.read(chosen.job().origin(), json);
    Vertx vertx = MeteredVertx.alone();
    Predictors predictors =
        Await.result(
            Predictors.deploy(vertx, job).recover(why -> Future.failedFuture(explained(why))),
            START_SECONDS,
            "opening the model");
    System.out.printf(
        "serving %s at %s  (Ctrl-C ends it)%n", chosen.file(), predictors.url().orElseThrow());
    new CountDownLatch(1).await();
    return ExitStatus.OK;
  }

  private Throwable explained(Throwable why) {
    return why.getCause() instanceof BindException
        ? new InputException(
            "--port %s is taken, expected a free one; 0 takes any".formatted(port), why)
        : why;
  }
}
