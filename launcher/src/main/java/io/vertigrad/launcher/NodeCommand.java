package io.vertigrad.launcher;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.launcher.cluster.JoinAddress;
import io.vertigrad.launcher.cluster.JoinPoint;
import io.vertigrad.launcher.deploy.CoordinatorLostException;
import io.vertigrad.launcher.deploy.NodeLaunch;
import io.vertigrad.launcher.deploy.ParentExitMonitor;
import io.vertigrad.launcher.deploy.RoleName;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobFile;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.observability.MemberPort;
import io.vertigrad.training.JoinOffer;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Implements {@code vertigrad node}, which plays one role in a job that runs elsewhere, until the
 * job ends.
 */
@Command(
    name = "node",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Takes one part in a job that was started with train --listen or --processes.",
      "%nHOST:PORT is what train prints; there it is given the job file, so that it needs nothing"
          + " but the job's secret:%n",
      "    vertigrad node 10.0.0.5:15801 --secret secret --role worker%n",
      "With --join it is given a job file instead, which must be the same as the run's job.json."
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

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "FILE",
      description = "After HOST:PORT: a job file to use instead of the one that is given there.")
  private String second;

  @Option(
      names = "--join",
      paramLabel = "HOST[:PORT]",
      description =
          "Where the job's cluster is (cluster.port); port 15701 if not given. Then FILE is the"
              + " run's job.json.")
  private String join;

  @Option(
      names = "--wait",
      arity = "0..1",
      fallbackValue = "2147483647",
      paramLabel = "SECONDS",
      parameterConsumer = OptionalSeconds.class,
      description = "Waits for the job to be started, so long or as long as it takes.")
  private Integer waitSeconds;

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

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description =
          "Serves /health, /metrics and POST /drain of this process on this port; 0 for a free one.")
  private Integer port;

  @Option(
      names = "--port-host",
      paramLabel = "HOST",
      defaultValue = "127.0.0.1",
      description = "Address of --port. Only this machine may drain. Default: ${DEFAULT-VALUE}.")
  private String portHost;

  @Option(names = "--with-parent", hidden = true)
  private boolean withParent;

  private Participation participation;
  private MemberPort probes;
  private volatile boolean parentEnded;

  @Override
  public Integer call() {
    try (TerminationSignals signals = new TerminationSignals(() -> {})) {
      signals.ignoreFurtherWhile(this::jobOver);
      signals.first().onSuccess(this::askedToEnd);
      try (MemberPort opened = port == null ? null : openPort(signals)) {
        probes = opened;
        return call(signals);
      }
    }
  }

  private MemberPort openPort(TerminationSignals signals) {
    Future<MemberPort> opened =
        MemberPort.open(
            portHost, port, () -> takesPart() && signals.status().isEmpty(), signals::request);
    return Await.result(
        opened.recover(
            refused ->
                Future.failedFuture(
                    new InputException(
                        "--port %d: cannot listen on %s: %s; expected a free port of this machine"
                            .formatted(port, portHost, refused.getMessage())))),
        READ_SECONDS,
        "opening --port");
  }

  private synchronized boolean takesPart() {
    return participation != null && participation.started();
  }

  /** Runs on a thread of the signal handler. Before this process takes part it holds nothing. */
  private void askedToEnd(int status) {
    synchronized (this) {
      if (participation != null) {
        LOG.warn("this process was asked to end; a second signal ends it at once");
        participation.askedToEnd();
        return;
      }
    }
    System.exit(status);
  }

  private synchronized boolean jobOver() {
    return participation != null && participation.jobOver();
  }

  private int call(TerminationSignals signals) {
    if (withParent) {
      ParentExitMonitor parent =
          ParentExitMonitor.start(
              () -> {
                parentEnded = true;
                LOG.warn(
                    "the process of the coordinator has ended; this member goes on, and waits for"
                        + " the next coordinator (vertigrad resume) for exchange.orphanSeconds");
              });
      if (NodeLaunch.TOLD_LATER.equals(join)) {
        prepare();
        Optional<String> line = parent.awaitLine();
        if (line.isEmpty()) {
          return ExitStatus.OK;
        }
        join = line.get();
      }
    }
    JobConfig config;
    try {
      config = read();
    } catch (JoinException refused) {
      throw forParent(refused);
    }
    config.checkModel();
    Role role = role(config);
    LocalMembers.one(role).checkDevice(config);
    Split split = role == Role.EVALUATOR ? Split.TEST : Split.TRAIN;
    DatasetProvider.check(config.data(), split, NodeCommand.class.getClassLoader());
    config.checkTargets(split, NodeCommand.class.getClassLoader());
    while (true) {
      try (Participation joined = Participation.join(config, role)) {
        takePart(joined);
        if (probes != null) {
          joined.show(probes);
        }
        joined.play();
        return signals.status().orElse(ExitStatus.OK);
      } catch (CoordinatorLostException lost) {
        if (signals.status().isPresent()) {
          return signals.status().get();
        }
        takePart(null);
        if (lost.silent() && parentEnded) {
          // It has waited long enough for resume, and holds memory of a GPU until it ends.
          throw lost;
        }
        awaitReturn(lost);
      } catch (JoinException refused) {
        if (!refused.late()) {
          throw forParent(refused);
        }
        LOG.info("nothing is left to do: {}", refused.getMessage());
        return ExitStatus.OK;
      }
    }
  }

  private synchronized void takePart(Participation now) {
    participation = now;
  }

  /**
   * Loads what this member needs before there is a cluster. An error here is only logged: joining
   * finds it again and reports it.
   */
  private void prepare() {
    Vertx reader = ClusterStart.alone();
    try {
      JobConfig config = read(job.request(jobFile().orElse(null)), reader);
      Engine.named(config.engine()).prepare(config.workers().threads());
    } catch (RuntimeException | LinkageError later) {
      LOG.debug("not prepared", later);
    } finally {
      reader.close();
    }
  }

  /**
   * Turns a refusal into an ordinary failure for a child process, because its parent may start it
   * again. Without a parent it stays a refusal that the user has to act on.
   */
  private JoinException forParent(JoinException refused) {
    return withParent ? new JoinException(refused.getMessage()) : refused;
  }

  /**
   * Waits for the coordinator to answer again. The network may have been cut; then the job
   * continues without this member and accepts it again later.
   */
  private void awaitReturn(CoordinatorLostException lost) {
    if (rejoinSeconds > 0) {
      LOG.warn("{}; looking for it for {} s", lost.getMessage(), rejoinSeconds);
    }
    if (!address().answersWithin(rejoinSeconds)) {
      throw lost;
    }
    LOG.info("{} answers again, joining", address());
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

  /** Returns the address that this node contacts first. */
  private JoinAddress address() {
    if (join != null) {
      return JoinAddress.parse(join);
    }
    String there =
        job.file()
            .orElseThrow(
                () ->
                    new InputException(
                        "node: found no address, expected the HOST:PORT that train prints, or --join"));
    return JoinAddress.parse(there, JoinPoint.DEFAULT_PORT);
  }

  /** Returns the job file named on the command line. */
  private Optional<String> jobFile() {
    return join == null ? Optional.ofNullable(second) : job.file();
  }

  /** Returns null when there is no such file; the job file may still name one. */
  private String secretFile() {
    if (secret != null) {
      return secret.toString();
    }
    return jobFile()
        .map(file -> Path.of(file).toAbsolutePath().resolveSibling(RunDirectory.SECRET))
        .filter(Files::exists)
        .map(Path::toString)
        .orElse(null);
  }

  private JobConfig read() {
    JoinAddress there = address();
    if (waitSeconds != null && !there.answers()) {
      LOG.info(
          "waits {}for a job at {}: nothing answers there yet",
          waitSeconds == Integer.MAX_VALUE ? "" : "up to %d s ".formatted(waitSeconds),
          there);
      there.answersWithin(waitSeconds);
    }
    Vertx reader = ClusterStart.alone();
    try {
      return join == null ? asked(reader, there) : joined(reader, there);
    } finally {
      reader.close();
    }
  }

  /** Reads the configuration from a job file and the cluster's address. */
  private JobConfig joined(Vertx reader, JoinAddress cluster) {
    JobRequest request = request(jobFile().orElse(null), cluster.toString());
    JobConfig config = read(request, reader);
    JoinAddress port = cluster.joinPort();
    if (!withParent && config.cluster().secretFile().isPresent() && port.answers()) {
      // The join port reports a refusal at once; Hazelcast reports nothing.
      ask(reader, port, config.cluster(), Optional.of(config.addresses().job()));
    }
    return config;
  }

  /** Reads the configuration from the join port of the running job. */
  private JobConfig asked(Vertx reader, JoinAddress port) {
    if (jobFile().isPresent()) {
      JobConfig own = read(request(jobFile().get(), null), reader);
      JoinOffer offer = ask(reader, port, own.cluster(), Optional.of(own.addresses().job()));
      return read(request(jobFile().get(), offer.cluster()), reader);
    }
    if (secret == null) {
      throw new InputException(
          "--secret FILE: found none, expected the file secret of the run's folder, copied from the"
              + " machine where the job was started");
    }
    JobRequest changes = request(null, null);
    JoinOffer offer = ask(reader, port, changes.cluster(), Optional.empty());
    JobRequest request = request(null, offer.cluster());
    if (!job.namesHost()) {
      request.option("--host", "cluster.host", offer.localHost());
    }
    return request.resolve(new JobFile("the job at " + port, offer.job()));
  }

  private JoinOffer ask(Vertx reader, JoinAddress port, ClusterConfig own, Optional<String> name) {
    JobSecret known =
        own.secretFile().map(file -> JobSecret.read(Path.of(file))).orElseGet(JobSecret::none);
    return JoinPoint.ask(port, own, reader, known, name)
        .orElseThrow(
            () ->
                new InputException(
                    "%s is no join port of a job: give the HOST:PORT that train prints, or --join"
                            .formatted(port)
                        + " with the cluster's address and a job file"));
  }

  private JobRequest request(String file, String cluster) {
    JsonArray members = cluster == null ? null : new JsonArray().add(cluster);
    return job.request(file)
        .option("--join", "cluster.members", members)
        .option("--secret", "cluster.secretFile", secretFile());
  }

  private static JobConfig read(JobRequest request, Vertx reader) {
    return Await.result(request.read(reader), READ_SECONDS, "reading the job file");
  }
}
