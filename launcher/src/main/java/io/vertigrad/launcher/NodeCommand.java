package io.vertigrad.launcher;

import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.cluster.JoinAddress;
import io.vertigrad.launcher.deploy.CoordinatorLostException;
import io.vertigrad.launcher.deploy.ParentExitMonitor;
import io.vertigrad.launcher.deploy.RoleName;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import java.nio.file.Files;
import java.nio.file.Path;
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

  @Option(
      names = "--secret",
      paramLabel = "FILE",
      description =
          "The job's secret, as the run's folder has it (cluster.secretFile); without this option"
              + " the file secret beside the job file, if there is one.")
  private Path secret;

  @Option(
      names = "--rejoin",
      paramLabel = "SECONDS",
      defaultValue = "60",
      description =
          "How long it looks for a coordinator that fell silent, to take part again; 0 for not at"
              + " all. Default: ${DEFAULT-VALUE}.")
  private int rejoinSeconds;

  @Option(names = "--with-parent", hidden = true)
  private boolean withParent;

  @Override
  public Integer call() {
    if (withParent) {
      TerminationSignals.leaveInterruptsToParent();
      ParentExitMonitor.start(
          () ->
              LOG.warn(
                  "the process of the coordinator has ended; this member goes on, and waits for the"
                      + " next coordinator (vertigrad resume) for exchange.orphanSeconds"));
    }
    JobConfig config = read();
    config.checkModel();
    Role role = role(config);
    DatasetProvider.check(
        config.data(),
        role == Role.EVALUATOR ? Split.TEST : Split.TRAIN,
        NodeCommand.class.getClassLoader());
    while (true) {
      try (Participation participation = Participation.join(config, role)) {
        return participation.play() ? ExitStatus.OK : ExitStatus.JOB_FAILED;
      } catch (CoordinatorLostException lost) {
        awaitReturn(lost);
      } catch (JoinException refused) {
        if (!refused.late()) {
          throw refused;
        }
        LOG.info("nothing is left to do: {}", refused.getMessage());
        return ExitStatus.OK;
      }
    }
  }

  /** The network may have been cut; then the job goes on without this member and takes it back. */
  private void awaitReturn(CoordinatorLostException lost) {
    if (rejoinSeconds > 0) {
      LOG.warn("{}; looking for it for {} s", lost.getMessage(), rejoinSeconds);
    }
    if (!JoinAddress.parse(join).answersWithin(rejoinSeconds)) {
      throw lost;
    }
    LOG.info("{} answers again, joining", join);
  }

  private Role role(JobConfig config) {
    List<String> known = new ArrayList<>();
    new RoleNames().forEach(known::add);
    String name = roleName.toLowerCase(Locale.ROOT);
    if (!known.contains(name)) {
      throw new InputException(
          "--role %s: expected one of %s".formatted(roleName, String.join(", ", known)));
    }
    if (name.equals(RoleName.STAGE) && config.pipeline().isEmpty()) {
      throw new InputException(
          "--role stage: %s has no pipeline; use --role worker".formatted(config.origin()));
    }
    return RoleName.role(name);
  }

  /** Null where there is none; the job file may still name one. */
  private String secretFile() {
    if (secret != null) {
      return secret.toString();
    }
    return job.file()
        .map(file -> Path.of(file).toAbsolutePath().resolveSibling(RunDirectory.SECRET))
        .filter(Files::exists)
        .map(Path::toString)
        .orElse(null);
  }

  private JobConfig read() {
    JsonArray members = new JsonArray().add(JoinAddress.parse(join).toString());
    Vertx reader = ClusterStart.alone();
    try {
      return Await.result(
          job.request()
              .option("--join", "cluster.members", members)
              .option("--secret", "cluster.secretFile", secretFile())
              .read(reader),
          READ_SECONDS,
          "reading the job file");
    } finally {
      reader.close();
    }
  }
}
