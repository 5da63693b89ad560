package io.vertigrad.launcher;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.data.DataFingerprint.Samples;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.internal.cluster.JoinOffer;
import io.vertigrad.internal.cluster.JoinPoint;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.deploy.CoordinatorLostException;
import io.vertigrad.launcher.deploy.NodeLaunch;
import io.vertigrad.launcher.deploy.ParentExitMonitor;
import io.vertigrad.launcher.deploy.RoleName;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobFile;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.observability.MemberPort;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Security;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Implements {@code vertigrad node}, which plays one role in a job that runs elsewhere, until the
 * job ends, or in one job after the other.
 */
@Command(
    name = "node",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Takes one part in a job that was started with train --listen or --processes.",
      "%nTrain prints HOST:PORT. There a node gets the job file, so it needs only the job's secret:%n",
      "    vertigrad node --job 10.0.0.5:15801 --role worker%n",
      "With a job file instead, which must be the same as the run's job.json, it looks for the job"
          + " at --join, cluster.members or with cluster.discovery.",
      "%nA machine that serves job after job:%n",
      "    vertigrad node --job 10.0.0.5:15801 --role worker --repeat"
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class NodeCommand implements Callable<Integer> {

  private static final Logger LOG = LoggerFactory.getLogger(NodeCommand.class);
  private static final long READ_SECONDS = 30;

  /** Time until it asks a coordinator again in whose job this node has failed. */
  private static final int FAILED_SECONDS = 5;

  /** Time until it asks a coordinator again whose job has no use for this node. */
  private static final int UNFIT_SECONDS = 60;

  @Option(
      names = "--job",
      paramLabel = "WHERE",
      description =
          "HOST[:PORT] where the job was started (port 15801 if not given), or a job file or its URL.")
  private String where;

  @Parameters(
      arity = "0..1",
      hidden = true,
      description = "The same as --job, as earlier versions printed it.")
  private String unnamed;

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
      paramLabel = "HOST[:PORT]",
      description =
          "With a job file: where the job's cluster is (cluster.port); port 15701 if not given.")
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
      names = "--repeat",
      arity = "0..1",
      fallbackValue = "2147483647",
      paramLabel = "SECONDS",
      parameterConsumer = OptionalSeconds.class,
      description =
          "After a job, also one that failed, waits for the next one there, so long or as long as it"
              + " takes; and for the first, unless --wait limits that.")
  private Integer repeatSeconds;

  @Option(
      names = "--secret",
      paramLabel = "FILE",
      description =
          "The job's secret, as the run's folder has it (cluster.secretFile); without this option the"
              + " variable VERTIGRAD_SECRET, or the file secret beside the job file or in this"
              + " folder.")
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
  private List<JoinAddress> there = List.of();
  private boolean knowsAJob;
  private Optional<JsonObject> offered = Optional.empty();
  private volatile boolean parentEnded;

  @Override
  public Integer call() {
    // A name that is unknown now, such as that of a container that is about to start, is asked for
    // again; Java would remember for 10 s that it is unknown.
    Security.setProperty("networkaddress.cache.negative.ttl", "1");
    try (TerminationSignals signals = new TerminationSignals(() -> {})) {
      signals.ignoreFurtherWhile(this::jobOver);
      signals.first().onSuccess(this::askedToEnd);
      try (MemberPort opened = port == null ? null : openPort(signals)) {
        probes = opened;
        return repeatSeconds == null ? serve(signals) : serveAll(signals);
      }
    }
  }

  private MemberPort openPort(TerminationSignals signals) {
    if (port < 0 || port > JoinAddress.MOST_PORT) {
      throw new InputException(
          "--port %s: expected 0 to %s".formatted(port, JoinAddress.MOST_PORT));
    }
    Future<MemberPort> opened =
        MemberPort.open(
            portHost,
            port,
            Path.of(""),
            () -> takesPart() && signals.status().isEmpty(),
            signals::request);
    return Await.result(
        opened.recover(
            refused ->
                Future.failedFuture(
                    new InputException(
                        "--port %s: cannot listen on %s: %s; expected a free port of this machine"
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

  /**
   * Serves one job after the other. Before it knows a job, a failure ends this process, because its
   * command line or its files are wrong. Afterwards it is the failure of one job.
   */
  private int serveAll(TerminationSignals signals) {
    checkedRole();
    waitSeconds = waitSeconds == null ? repeatSeconds : waitSeconds;
    while (true) {
      int pauseSeconds = UNFIT_SECONDS;
      try {
        serve(signals);
      } catch (RuntimeException failed) {
        String reason = FailureReport.reason(failed).filter(known -> knowsAJob).orElse(null);
        if (reason == null) {
          throw failed;
        }
        LOG.error("{}", job.related(reason));
        pauseSeconds = FailureReport.isPassing(failed) ? FAILED_SECONDS : UNFIT_SECONDS;
      }
      takePart(null);
      if (signals.status().isPresent()) {
        return signals.status().get();
      }
      release();
      LOG.info(
          "waits {}for the next job at {}",
          repeatSeconds == Integer.MAX_VALUE ? "" : "up to %s s ".formatted(repeatSeconds),
          named(there));
      awaitOther(Math.min(pauseSeconds, repeatSeconds));
      if (!JoinAddress.answerWithin(there, repeatSeconds)) {
        LOG.info("no further job has come within {} s; this process ends", repeatSeconds);
        return ExitStatus.OK;
      }
    }
  }

  /**
   * Waits until the coordinator of the job that is over, which may answer for a moment yet, is
   * silent, or another job is at its address.
   */
  private void awaitOther(int seconds) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    Vertx reader = Vertx.vertx();
    try {
      boolean other = false;
      while (!other && System.nanoTime() < end) {
        other = JoinAddress.silentWithin(there, 1) || offersOther(reader);
      }
    } finally {
      reader.close();
    }
  }

  /**
   * Returns whether the join port offers another job than the last one; false without an answer.
   */
  private boolean offersOther(Vertx reader) {
    if (offered.isEmpty()) {
      return false;
    }
    try {
      ClusterConfig own = request(null, null).cluster();
      return !ask(reader, there.get(0), own, Optional.empty()).job().equals(offered.get());
    } catch (RuntimeException ending) {
      LOG.debug("no job is offered at {}", named(there), ending);
      return false;
    }
  }

  /** Frees what a job has left; the native memory of its tensors goes with their Java objects. */
  private void release() {
    if (probes != null) {
      probes.left();
    }
    System.gc();
    RunLog.reportLeavingNodes();
  }

  /** Serves one job. */
  private int serve(TerminationSignals signals) {
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
    if (repeatSeconds != null) {
      beginJob(config);
    }
    config.checkModel();
    Role role = role(config);
    LocalMembers.one(role).checkDevice(config);
    boolean known =
        Samples.in(config.fingerprints(), config.optimizer().schedule().countsEpochs()).isPresent();
    if (role != Role.SERVER || !known) {
      Split split = role == Role.EVALUATOR ? Split.TEST : Split.TRAIN;
      DatasetProvider.check(config.data(), split, NodeCommand.class.getClassLoader());
      config.checkTargets(split, NodeCommand.class.getClassLoader());
    }
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

  /** Checks that this node can wait for another job than this one. */
  private void beginJob(JobConfig config) {
    if (there.isEmpty()) {
      throw new InputException(
          "--repeat: found no address to wait at, expected --job HOST:PORT, or --join or"
              + " cluster.members beside a job file");
    }
    knowsAJob = true;
    LOG.info("joins job {} at {}", config.addresses().job(), named(there));
  }

  private synchronized void takePart(Participation now) {
    participation = now;
  }

  /**
   * Loads what this member needs before there is a cluster. An error here is only logged: joining
   * finds it again and reports it.
   */
  private void prepare() {
    Vertx reader = Vertx.vertx();
    try {
      JobConfig config = read(job.request(where()), reader);
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
    boolean answers =
        there.isEmpty() ? rejoinSeconds > 0 : JoinAddress.answerWithin(there, rejoinSeconds);
    if (!answers) {
      throw lost;
    }
    LOG.info("{}, joining", there.isEmpty() ? "looking again" : named(there) + " answers again");
  }

  private Role role(JobConfig config) {
    String name = checkedRole();
    if (name.equals(RoleName.STAGE) && config.pipeline().isEmpty()) {
      throw new InputException(
          "--role stage: %s has no pipeline; use --role worker".formatted(config.origin()));
    }
    return RoleName.role(name);
  }

  private String checkedRole() {
    List<String> known = new ArrayList<>();
    new RoleNames().forEach(known::add);
    String name = roleName.toLowerCase(Locale.ROOT);
    if (!known.contains(name)) {
      throw new InputException(
          "--role %s: expected one of %s".formatted(roleName, String.join(", ", known)));
    }
    return name;
  }

  private String where() {
    if (where != null && unnamed != null) {
      throw new InputException(
          "%s: found beside --job %s, expected only options; behind --wait and --repeat a whole number of seconds, or none"
              .formatted(unnamed, where));
    }
    return where == null ? unnamed : where;
  }

  /** Returns true if the job file is to come from the join port of the running job. */
  private boolean asks() {
    return join == null && where() != null && !JobFile.isName(where());
  }

  /** Returns null when no file is found here; a variable or the job file may still name one. */
  private String secretFile() {
    if (secret != null) {
      return secret.toString();
    }
    if (!System.getenv().getOrDefault("VERTIGRAD_SECRET", "").isEmpty()) {
      return null;
    }
    boolean local = where() != null && JobFile.isName(where()) && !JobFile.isUrl(where());
    Path file = local ? Path.of(where()) : Path.of(RunDirectory.SECRET);
    Path found = file.toAbsolutePath().resolveSibling(RunDirectory.SECRET);
    return Files.exists(found) ? found.toString() : null;
  }

  private JobConfig read() {
    Vertx reader = Vertx.vertx();
    try {
      return asks()
          ? asked(reader, JoinAddress.parse(where(), JoinPoint.DEFAULT_PORT))
          : joined(reader);
    } finally {
      reader.close();
    }
  }

  /** Remembers where this node asks for its job, and waits until it can if it was asked to. */
  private void await(List<JoinAddress> addresses) {
    there = addresses;
    Optional<String> silence =
        waitSeconds == null ? Optional.empty() : JoinAddress.silence(addresses);
    if (silence.isPresent()) {
      LOG.info(
          "waits {}for a job at {}: {}",
          waitSeconds == Integer.MAX_VALUE ? "" : "up to %s s ".formatted(waitSeconds),
          named(addresses),
          silence.get());
      JoinAddress.answerWithin(addresses, waitSeconds);
    }
  }

  private static String named(List<JoinAddress> addresses) {
    return addresses.stream().map(JoinAddress::toString).collect(Collectors.joining(" or "));
  }

  /** Reads the configuration from a job file, and finds the cluster. */
  private JobConfig joined(Vertx reader) {
    JobRequest request = request(where(), join == null ? null : JoinAddress.parse(join));
    JobConfig config = read(request, reader);
    List<String> members = config.cluster().members();
    if (members.isEmpty()) {
      if (config.cluster().discovery().equals(ClusterConfig.MEMBERS)) {
        throw new InputException(
            "node: found no address, expected --job with the HOST:PORT that train prints, or a job"
                + " file with --join, cluster.members or cluster.discovery");
      }
      return config;
    }
    await(members.stream().map(JoinAddress::parse).toList());
    JoinAddress cluster = JoinAddress.firstOf(there);
    JoinAddress port = cluster.joinPort();
    if (!withParent
        && config.cluster().secretFile().isPresent()
        && JoinAddress.silence(List.of(port)).isEmpty()) {
      // The join port reports a refusal at once; Hazelcast reports nothing.
      ask(reader, port, config.cluster(), Optional.of(config.addresses().job()));
    }
    boolean local = JoinPoint.isLoopback(config.cluster().host());
    Optional<String> own = local && !job.namesHost() ? cluster.reachedFrom() : Optional.empty();
    return own.isEmpty()
        ? config
        : read(request.option("--host", "cluster.host", own.get()), reader);
  }

  /** Reads the configuration from the join port of the running job. */
  private JobConfig asked(Vertx reader, JoinAddress port) {
    JobRequest changes = request(null, null);
    if (changes.cluster().secretFile().isEmpty()) {
      throw new InputException(
          "node: found no secret, expected --secret FILE, the variable VERTIGRAD_SECRET or a file"
              + " named secret in this folder: the file secret of the run's folder, copied from the"
              + " machine where the job was started");
    }
    await(List.of(port));
    JoinOffer offer = ask(reader, port, changes.cluster(), Optional.empty());
    offered = Optional.of(offer.job());
    JobRequest request = request(null, JoinAddress.parse(offer.cluster()));
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
                    "%s is no join port of a job: give --job the HOST:PORT that train prints, or a job"
                            .formatted(port)
                        + " file and --join the cluster's address"));
  }

  private JobRequest request(String file, JoinAddress cluster) {
    JsonArray members = cluster == null ? null : new JsonArray().add(cluster.toString());
    return job.request(file)
        .option("--join", "cluster.members", members)
        .option("--secret", "cluster.secretFile", secretFile());
  }

  private static JobConfig read(JobRequest request, Vertx reader) {
    return Await.result(request.read(reader), READ_SECONDS, "reading the job file");
  }
}
