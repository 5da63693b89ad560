package io.vertigrad.launcher;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.cluster.JoinAddress;
import io.vertigrad.launcher.deploy.JobWatch;
import io.vertigrad.launcher.deploy.ParentWatch;
import io.vertigrad.launcher.deploy.RoleVerticles;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.verticles.coordinator.Role;
import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code vertigrad node}: plays one role in a job that runs elsewhere, until it is over. */
@Command(
    name = "node",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Takes one part in a job that was started with train --listen or --processes.%n",
      "The job file must be the same as there: use the run's job.json."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class NodeCommand implements Callable<Integer> {

  private static final Logger LOG = LoggerFactory.getLogger(NodeCommand.class);
  private static final long READ_SECONDS = 30;
  private static final long START_SECONDS = 120;
  private static final long STOP_SECONDS = 15;
  private static final long FOREVER_SECONDS = Long.MAX_VALUE / 1_000_000_000L;

  @Mixin private JobOptions job;

  @Option(
      names = "--role",
      required = true,
      paramLabel = "ROLE",
      description = "What it does: ${COMPLETION-CANDIDATES}.",
      completionCandidates = RoleNames.class)
  private String roleName;

  @Option(
      names = "--join",
      required = true,
      paramLabel = "HOST[:PORT]",
      description = "Where the job runs, as train prints it; port 15701 if not given.")
  private String join;

  @Option(names = "--with-parent", hidden = true)
  private boolean withParent;

  private volatile boolean stopping;

  @Override
  public Integer call() {
    if (withParent) {
      ParentWatch.start();
    }
    JobConfig config = read();
    Role role = role(config);
    ClusterStart start =
        new ClusterStart("vertigrad-" + config.addresses().job(), config.cluster());
    Vertx vertx = Await.result(start.start(), START_SECONDS, "joining the cluster");
    JobWatch watch = new JobWatch(vertx, config);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(watch, vertx), "stop-node"));
    try {
      FrameCodecs.register(vertx.eventBus());
      Await.result(watch.listen(), START_SECONDS, "the event bus");
      Await.result(
          RoleVerticles.deploy(vertx, RoleVerticles.className(config, role), config),
          START_SECONDS,
          "starting the " + roleName);
      Await.result(watch.over(), FOREVER_SECONDS, "the job");
      return ExitStatus.OK;
    } catch (RuntimeException e) {
      if (stopping) {
        LOG.info("stopped while it started: {}", e.getMessage());
        return ExitStatus.JOB_FAILED;
      }
      throw e;
    } finally {
      close(watch, vertx);
    }
  }

  private Role role(JobConfig config) {
    List<String> known = new ArrayList<>();
    new RoleNames().forEach(known::add);
    String name = roleName.toLowerCase(Locale.ROOT);
    if (!known.contains(name)) {
      throw new InputException(
          "--role %s: expected one of %s".formatted(roleName, String.join(", ", known)));
    }
    if (name.equals(RoleVerticles.STAGE) && config.pipeline().isEmpty()) {
      throw new InputException(
          "--role stage: %s has no pipeline; use --role worker".formatted(config.origin()));
    }
    return RoleVerticles.named(name);
  }

  private JobConfig read() {
    JsonArray members = new JsonArray().add(JoinAddress.parse(join).toString());
    Vertx reader = ClusterStart.alone();
    try {
      return Await.result(
          job.request().option("--join", "cluster.members", members).read(reader),
          READ_SECONDS,
          "reading the job file");
    } finally {
      reader.close();
    }
  }

  /** From now on a start that is broken off is nobody's fault. */
  private void stop(JobWatch watch, Vertx vertx) {
    stopping = true;
    close(watch, vertx);
  }

  private static synchronized void close(JobWatch watch, Vertx vertx) {
    watch.close();
    Await.result(vertx.close(), STOP_SECONDS, "leaving the cluster");
  }
}
