package io.vertigrad.launcher;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.compute.data.Baseline;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.http.AccessToken;
import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.internal.cluster.JoinPoint;
import io.vertigrad.internal.cluster.JoinPort;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.deploy.EarlyProcesses;
import io.vertigrad.launcher.deploy.NodeLaunch;
import io.vertigrad.launcher.deploy.PresentMembers;
import io.vertigrad.launcher.deploy.ProcessDeployment;
import io.vertigrad.launcher.deploy.StandbyProcess;
import io.vertigrad.launcher.deploy.StartProgress;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.LocalSettings;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.Placement;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.launcher.run.RunSummary;
import io.vertigrad.launcher.run.Versions;
import io.vertigrad.launcher.terminal.Display;
import io.vertigrad.launcher.terminal.ResultText;
import io.vertigrad.serving.Predictors;
import io.vertigrad.training.FinalModel;
import io.vertigrad.training.JobFailedException;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs one job from its start to its summary, on the command's own thread. */
final class TrainingRun {

  private static final Logger LOG = LoggerFactory.getLogger(TrainingRun.class);
  private static final long START_SECONDS = 120;
  private static final ClassLoader LOADER = TrainingRun.class.getClassLoader();
  private static final long END_SECONDS = 300;
  private static final long RECEIVE_SECONDS = 5;
  private static final long STOP_SECONDS = 15;
  private static final long LIVING_SECONDS = 30;

  /** Longer than the limits of {@link CoordinatorVerticle#interrupt()}. */
  private static final long SAVE_SECONDS = 110;

  /** Slowest disk and network: so many parameters a second. */
  private static final long PARAMETERS_PER_SECOND = 1_000_000;

  private static final long TEST_SECONDS = 10;
  private static final String SAVING = "saving the model";
  private static final long FOREVER_SECONDS = Long.MAX_VALUE / 1_000_000_000L;

  private final JobConfig job;
  private final RunDirectory directory;
  private final RunLock lock;
  private final Display display;
  private final List<String> notes;
  private final NextCommand next;
  private final RunMonitor monitor;
  private final TimelineRecorder timeline;
  private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
  private volatile Phase phase = Phase.CREATED;
  private List<JoinAddress> living = List.of();
  private boolean keepsPage;
  private Optional<TrainingPause> pause = Optional.empty();
  private TerminationSignals signals;
  private EarlyProcesses early = EarlyProcesses.none();
  private Vertx vertx;
  private Optional<ClusterStart> cluster = Optional.empty();
  private Optional<JoinPort> joinPort = Optional.empty();
  private Optional<Page> page = Optional.empty();
  private Optional<StandbyProcess> standby = Optional.empty();
  private volatile Optional<ProcessDeployment> processes = Optional.empty();

  /** The phases of a run, each with those that it may follow. */
  private enum Phase {
    /** Nothing is open. */
    CREATED,
    /** Vert.x runs, alone or in a cluster. */
    OPEN(CREATED),
    /** The coordinator runs; members join and train. */
    COORDINATING(OPEN),
    /** The job has ended, and its model is being saved. */
    CONCLUDING(COORDINATING),
    /** The summary of the whole job is written. */
    FINISHED(CONCLUDING),
    /** The members are released; the page stays open until a signal arrives. */
    KEEPING_PAGE(FINISHED),
    /** Everything is closed, at the end of the job or before. */
    CLOSED(OPEN, COORDINATING, CONCLUDING, FINISHED, KEEPING_PAGE);

    private final Set<Phase> after;

    Phase(Phase... after) {
      this.after = Set.of(after);
    }
  }

  /** The page of the run, and the verticle that it shows. */
  private record Page(String url, MetricsVerticle metrics) {}

  /**
   * Creates a run that has not started.
   *
   * @param lock the lock of its folder, which says where its page is
   * @param notes further lines to print at its start
   * @param next suggests commands for after the run
   */
  TrainingRun(
      JobConfig job,
      RunDirectory directory,
      RunLock lock,
      Display display,
      List<String> notes,
      NextCommand next) {
    this.lock = lock;
    this.notes = notes;
    this.next = next;
    this.job = job;
    this.directory = directory;
    this.display = display;
    this.monitor = new RunMonitor(job, directory, display);
    this.timeline =
        new TimelineRecorder(job, directory.timeline(job.run().resumes()), display::say);
  }

  /**
   * Marks this run as one that was started before.
   *
   * @param nodes nodes of its cluster that still answer; this coordinator joins them
   */
  TrainingRun resuming(List<JoinAddress> nodes) {
    living = nodes;
    return this;
  }

  /** Keeps the page open after the run, until a signal arrives. */
  TrainingRun keepingPage() {
    keepsPage = true;
    return this;
  }

  /** Ends this run in good order before its last step, as Ctrl-C does, so that it can go on. */
  TrainingRun pausing(TrainingPause where) {
    pause = Optional.of(where);
    return this;
  }

  /**
   * Trains. Opens the cluster's port when {@code listen} is true or processes need it.
   *
   * @param roles the members to start on this machine
   * @param placement which of them get processes of their own
   */
  int call(LocalMembers roles, Placement placement, boolean listen) {
    writeJob(job);
    RunLog.appendTo(directory.log());
    try (TerminationSignals watched = new TerminationSignals(this::signalled)) {
      signals = watched;
      pause.ifPresent(
          where -> {
            monitor.tested(where.version(job)).onSuccess(reached -> watched.request());
            where.asked().onSuccess(asked -> watched.request());
          });
      return run(roles, placement, listen);
    } finally {
      stop("the run is over");
    }
  }

  private void enter(Phase next) {
    if (!next.after.contains(phase)) {
      throw new IllegalStateException("a run cannot become %s while %s".formatted(next, phase));
    }
    phase = next;
  }

  private int run(LocalMembers roles, Placement placement, boolean listen) {
    try {
      start(roles, placement, listen);
      finish(await(ended(), FOREVER_SECONDS, "the job"));
      int status = Optional.ofNullable(signals.first().result()).orElse(ExitStatus.OK);
      if (keepsPage && status == ExitStatus.OK) {
        keepPage();
      }
      return status;
    } catch (TerminationSignals.Received signal) {
      LOG.info("interrupted: {}", signal.getMessage());
      if (monitor.ask(TrainingRun::allStepsMade)) {
        finish(Await.result(ended(), END_SECONDS, "the end of the job"));
      } else {
        endEarly();
      }
      return signal.status();
    }
  }

  /** Releases all members and serves the page until a signal arrives. */
  private void keepPage() {
    enter(Phase.KEEPING_PAGE);
    joinPort.ifPresent(
        port -> {
          port.close();
          RunLog.expectLeavingNodes();
        });
    Future<Void> left = coordinator.stop("the run is over").eventually(this::stopProcesses);
    Await.cleanUp(left, STOP_SECONDS, "releasing members");
    display.say(
        page.map(shown -> "the page stays open at " + shown.url()).orElse("predictions go on")
            + "  (Ctrl-C ends it)");
    Await.result(signals.first(), FOREVER_SECONDS, "Ctrl-C");
  }

  /**
   * Awaits the future; fails with {@link TerminationSignals.Received} as soon as a signal arrives.
   */
  private <T> T await(Future<T> future, long limitSeconds, String what) {
    return Await.result(signals.orElse(future), limitSeconds, what);
  }

  private void finish(JsonObject end) {
    enter(Phase.CONCLUDING);
    if (!end.getString("state").equals("finished")) {
      boolean begun = monitor.ask(progress -> progress.view().started().isPresent());
      if (begun) {
        // A resume reads from the events why the run had failed.
        awaitEndEvent();
      }
      String name = begun ? "job \"%s\": ".formatted(job.addresses().job()) : "";
      String prefix = end.getString("state").equals("stopped") ? "stopped: " : name;
      throw new JobFailedException(
          prefix + next.inThisRun(end.getString("failure")) + "; log: " + directory.log());
    }
    awaitLastEvents(end);
    conclude();
  }

  private void start(LocalMembers roles, Placement placement, boolean listen) {
    LocalMembers apart = placement.apart(roles);
    LocalMembers here = placement.here(roles);
    JobConfig trained = pause.map(where -> where.testedThere(job)).orElse(job);
    JobConfig computed = placement.here(roles, trained);
    if (placement.apart() && living.isEmpty()) {
      early = EarlyProcesses.start(job, directory, VertigradApplication.class.getName(), apart);
    }
    open(placement.apart() || listen || !living.isEmpty(), trained);
    FrameCodecs.register(vertx.eventBus());
    if (job.dashboard().enabled()) {
      showDashboard();
    }
    if (cluster.isPresent()) {
      offerJoining(roles);
    }
    monitor.say(ResultText.opening(job, directory));
    notes.forEach(monitor::say);
    if (job.workers().ownData() && roles.workers() > 1) {
      monitor.say(
          "WARNING: workers.data is \"own\", but %s workers train on the same data, those of this"
                  .formatted(roles.workers())
              + " machine; start each with data of its own: --listen --workers-here 0, and nodes");
    }
    await(monitor.listen(vertx, job.addresses()), START_SECONDS, "the event bus");
    await(timeline.listen(vertx, job), START_SECONDS, "the event bus");
    if (roles.workers() < job.workers().count()) {
      monitor.reportTo(
          new StartProgress(
              vertx,
              job,
              () -> monitor.ask(progress -> progress.view().members(Role.WORKER)),
              monitor::say));
    }
    DeploymentOptions options = new DeploymentOptions().setConfig(trained.json().copy());
    await(vertx.deployVerticle(coordinator, options), START_SECONDS, "starting the coordinator");
    enter(Phase.COORDINATING);
    if (job.coordinator().standby()) {
      standby =
          Optional.of(
              StandbyProcess.start(
                  directory, VertigradApplication.class.getName(), job.run().resumes()));
    }
    PresentMembers present = awaitLiving();
    if (placement.apart()) {
      ProcessDeployment deployment = processes(apart, present);
      processes = Optional.of(deployment);
      deployment.reportLifeSigns(monitor.started());
      signals.first().onSuccess(status -> deployment.startNothing());
    }
    signals.endWith(() -> processes.map(ProcessDeployment::processes).orElse(List.of()));
    Future<Void> launched =
        processes.map(ProcessDeployment::start).orElseGet(Future::succeededFuture);
    Future<Void> joined = present.missing(here).deploy(vertx, computed);
    try {
      await(
          Future.all(launched, joined),
          Participation.memberStartSeconds(job),
          "starting the members");
    } catch (JoinException over) {
      // A member has failed the job before the others had joined: the job's end says why.
      if (!coordinator.result().isComplete()) {
        throw over;
      }
    }
    monitor.started().onSuccess(started -> recordFingerprints());
    if (placement.apart()) {
      monitor.started().onSuccess(started -> FinalModel.prepare(vertx, job));
    }
    if (job.serving().count() > 0) {
      serve(computed);
    }
  }

  /** Adds to the run's job file what its members have shown of their data, for a resumed run. */
  private void recordFingerprints() {
    coordinator.fingerprints().onSuccess(known -> writeJob(job.withFingerprints(known)));
  }

  /**
   * Returns what a constant answer scores; the test set is in use already, or is opened. Empty if
   * its files are gone by now: the run is good all the same.
   */
  private Optional<Baseline> baseline() {
    try {
      Dataset test = DatasetProvider.open(job.data(), Split.TEST, LOADER);
      return Baseline.of(
          test, DatasetProvider.targetColumns(job.data().fitted(test.fitted()), LOADER));
    } catch (RuntimeException unreadable) {
      LOG.warn("the result is not compared with guessing", unreadable);
      return Optional.empty();
    }
  }

  private void writeJob(JobConfig known) {
    directory.write(directory.job(), LocalSettings.removedFrom(known));
  }

  /** Starts the predictors; training does not wait for them, and goes on without them. */
  private void serve(JobConfig computed) {
    Predictors.deploy(vertx, computed)
        .onSuccess(
            predictors ->
                monitor.say(
                    "predictions: %s, and %s on the event bus"
                        .formatted(
                            predictors.url().orElse("no HTTP (serving.port)"),
                            job.addresses().predict())))
        .onFailure(why -> monitor.say("no predictions: " + why.getMessage()));
  }

  /**
   * Waits until a member has joined from every other node of the cluster, within a limit. Members
   * that still run find this coordinator with their next heartbeat and join again.
   */
  private PresentMembers awaitLiving() {
    if (living.isEmpty()) {
      return PresentMembers.NOBODY;
    }
    ClusterStart nodes = cluster.orElseThrow();
    PresentMembers present =
        PresentMembers.await(
            this::presentMembers,
            () -> signals.status().isPresent() ? 0 : nodes.otherNodes(),
            TimeUnit.SECONDS.toMillis(LIVING_SECONDS));
    monitor.say(present.describe());
    int silent = nodes.otherNodes() - present.processes();
    if (silent > 0) {
      monitor.say(
          "%s of the cluster's other nodes have no member that took part again within %s s"
              .formatted(silent, LIVING_SECONDS));
    }
    return present;
  }

  private PresentMembers presentMembers() {
    return new PresentMembers(monitor.ask(progress -> progress.view().members()));
  }

  private void offerJoining(LocalMembers roles) {
    boolean full =
        roles.workers() >= job.workers().places()
            && roles.servers() == LocalMembers.of(job).servers();
    String some =
        job.workers().ownData() ? "nodes may join, each with its own --data" : "nodes may join";
    String label = full ? "a node may take the place of one that is lost" : some;
    monitor.offer(label, launch().byHand(Role.WORKER));
    monitor.say(launch().elsewhere());
  }

  private void sayRefusal(String line) {
    LOG.warn(line);
    monitor.say(line);
  }

  private NodeLaunch launch() {
    int port = joinPort.orElseThrow().port();
    return new NodeLaunch(
        job,
        directory,
        cluster.orElseThrow().joinAddress(),
        new JoinAddress(job.cluster().host(), port).toString(),
        VertigradApplication.class.getName());
  }

  private void showDashboard() {
    String token = AccessToken.fresh().text();
    MetricsVerticle source = new MetricsVerticle(token, directory.path().toString());
    String url =
        await(Dashboard.start(vertx, job, source), START_SECONDS, "starting the dashboard");
    page = Optional.of(new Page(url, source));
    lock.show(url);
    Dashboard.otherPort(job.dashboard().port(), url).ifPresent(monitor::say);
    Dashboard.openTo(job.dashboard().host()).ifPresent(monitor::say);
    monitor.say("dashboard: %s  (to control the run: %s#token=%s)".formatted(url, url, token));
  }

  private ProcessDeployment processes(LocalMembers roles, PresentMembers present) {
    return new ProcessDeployment(
        vertx, roles, present, early, launch(), coordinator, monitor::say, monitor::offer);
  }

  /**
   * Starts Vert.x.
   *
   * @param trained the job as its members get it
   */
  private void open(boolean clustered, JobConfig trained) {
    if (!clustered) {
      vertx = MeteredVertx.alone();
      enter(Phase.OPEN);
      return;
    }
    JobSecret secret = JobSecret.createOrRead(directory.secret(job));
    ClusterStart start = startCluster(secret);
    cluster = Optional.of(start);
    joinPort =
        Optional.of(
            JoinPoint.open(
                job.cluster(),
                LocalSettings.removedFrom(trained),
                vertx,
                start.joinAddress(),
                secret,
                this::sayRefusal));
    start.otherPort().ifPresent(monitor::say);
    start.onNodesChanged(
        nodes ->
            directory.write(
                directory.nodes(), new JsonObject().put("nodes", new JsonArray(nodes))));
  }

  /**
   * Joins the nodes that still run. If all of them end at that moment, it starts a new cluster
   * instead.
   */
  private ClusterStart startCluster(JobSecret secret) {
    while (true) {
      ClusterStart start = ClusterStart.ofMember(joining(), secret, true);
      try {
        vertx =
            await(
                start.start(MeteredVertx.builder(), new VertxOptions()),
                START_SECONDS,
                "starting the cluster");
        enter(Phase.OPEN);
        VertigradApplication.refuseSerialized(vertx);
        return start;
      } catch (SettingsException | JoinException e) {
        List<JoinAddress> left = living.stream().filter(node -> node.isNodeOf(secret)).toList();
        if (left.size() == living.size()) {
          throw e;
        }
        LOG.warn("of nodes that lived, {} have ended", living.size() - left.size(), e);
        living = left;
      }
    }
  }

  /** Returns the job with the running nodes as its {@code cluster.members}. */
  private JobConfig joining() {
    if (living.isEmpty()) {
      return job;
    }
    JsonObject json = job.json();
    json.getJsonObject("cluster")
        .put("members", new JsonArray(living.stream().map(JoinAddress::toString).toList()));
    return JobConfig.read(job.origin(), json);
  }

  private Future<JsonObject> ended() {
    return unbroken(coordinator.result());
  }

  /** Returns the same future, except that it fails when the members' processes break down first. */
  private <T> Future<T> unbroken(Future<T> awaited) {
    Promise<T> outcome = Promise.promise();
    awaited.onSuccess(outcome::tryComplete).onFailure(outcome::tryFail);
    processes.ifPresent(those -> those.broken().onFailure(outcome::tryFail));
    return outcome.future();
  }

  /** Waits for the events sent before the job's end, so that the summary includes them. */
  private void awaitLastEvents(JsonObject end) {
    awaitEndEvent();
    JsonArray silent = end.getJsonArray("silent", new JsonArray());
    if (!silent.isEmpty()) {
      monitor.say(
          "%s did not report the last counters: updates in summary.json may be too low"
              .formatted(silent.stream().map(String::valueOf).collect(Collectors.joining(", "))));
    }
  }

  private void awaitEndEvent() {
    Await.cleanUp(monitor.ended(), RECEIVE_SECONDS, "receiving the job's end on the event bus");
  }

  private void conclude() {
    Optional<Evaluated> tested = monitor.progress().view().wholeTestSet();
    FinalModel model = new FinalModel(vertx, job, monitor.membership());
    signals.first().onSuccess(status -> model.endTestWithin(TEST_SECONDS));
    Evaluated last =
        Await.whileProgressing(
            unbroken(model.save(directory.model(job), tested).recover(TrainingRun::unsaved)),
            saveSeconds(),
            model::stage,
            SAVING);
    if (last.samples() > 0
        && tested.map(found -> found.of(last.parametersHash())).filter(last::equals).isEmpty()) {
      monitor.onEvent(last);
    }
    JsonObject summary =
        RunSummary.of(job, monitor.progress(), "finished", Optional.of(last), Versions.all());
    baseline().ifPresent(constant -> RunSummary.compare(summary, last, constant));
    directory.write(directory.summary(), summary);
    enter(Phase.FINISHED);
    Await.cleanUp(reportToDashboard(Optional.of(summary)), STOP_SECONDS, "the dashboard");
    monitor.close();
    display.conclude(ResultText.closing(job, directory, summary), summary);
    offerNext(
        RunSummary.divergence(summary).isPresent()
            ? next.afterDivergence(job.optimizer().learningRate())
            : next.afterTheEnd());
  }

  private void offerNext(List<ShellCommand> commands) {
    for (int i = 0; i < commands.size(); i++) {
      display.offer(i == 0 ? "next" : "or", commands.get(i).toString());
    }
  }

  /** Runs on a thread of the signal handler. */
  private void signalled() {
    // First of all, because members that get the same signal ask whether this process has got it.
    coordinator.announceStop();
    processes.ifPresent(ProcessDeployment::startNothing);
    switch (phase) {
      case KEEPING_PAGE, CLOSED -> LOG.info("a signal ends the run");
      case CONCLUDING, FINISHED ->
          monitor.say("the job has ended, its model is being saved; Ctrl-C again ends at once");
      case CREATED, OPEN, COORDINATING ->
          monitor.say("interrupted: saving what there is; Ctrl-C again ends at once");
    }
  }

  private static boolean allStepsMade(RunProgress progress) {
    boolean last =
        progress.view().started().filter(s -> progress.version() >= s.lastVersion()).isPresent();
    return last || progress.view().ending().isPresent();
  }

  /** Saves checkpoints, model and summary of an unfinished job, each within a time limit. */
  private void endEarly() {
    boolean begun = monitor.ask(progress -> progress.view().started().isPresent());
    monitor.ask(
        progress -> {
          progress.stopClock();
          return null;
        });
    JsonArray checkpoints = begun ? rest() : new JsonArray();
    Optional<JsonObject> further = furtherSummary(begun);
    Optional<Evaluated> tested = begun && further.isEmpty() ? saveUnfinished() : Optional.empty();
    tested.filter(found -> found.samples() > 0).ifPresent(monitor::onEvent);
    if (phase == Phase.COORDINATING) {
      Await.cleanUp(coordinator.stop(JobStopped.INTERRUPTED), STOP_SECONDS, "releasing members");
    }
    JsonObject summary =
        monitor.ask(
            progress -> RunSummary.of(job, progress, "interrupted", tested, Versions.all()));
    if (!checkpoints.isEmpty()) {
      summary.put("checkpoints", checkpoints);
    }
    if (further.isEmpty()) {
      directory.write(directory.summary(), summary);
    }
    JsonObject last = further.orElse(summary);
    Await.cleanUp(reportToDashboard(Optional.of(last)), STOP_SECONDS, "the dashboard");
    stop(JobStopped.INTERRUPTED);
    display.conclude(ResultText.closing(job, directory, last), last);
    display.offer("to go on with it", next.goingOn().toString());
  }

  /**
   * Returns the summary of an earlier attempt that came further than this one, or as far if this
   * one has not begun. It stays, and so does the model that it is about.
   */
  private Optional<JsonObject> furtherSummary(boolean begun) {
    long reached = monitor.ask(RunProgress::version);
    long least = begun ? reached + 1 : reached;
    Optional<JsonObject> further =
        directory.readSummary().filter(before -> before.getLong("version", 0L) >= least);
    further.ifPresent(
        before ->
            monitor.say(
                "this attempt ended at version %s: summary and model stay those of version %s"
                    .formatted(reached, before.getLong("version"))));
    return further;
  }

  /** Lets workers finish their current step, then writes checkpoints; returns their files. */
  private JsonArray rest() {
    try {
      JsonObject rest = Await.result(coordinator.interrupt(), saveSeconds(), "saving checkpoints");
      rest.getJsonArray("busy")
          .forEach(who -> monitor.say(who + " is still in a step: the model may mix versions"));
      rest.getJsonArray("unsaved").forEach(why -> monitor.say("no checkpoint of " + why));
      return rest.getJsonArray("checkpoints");
    } catch (RuntimeException e) {
      monitor.say("no checkpoint: " + e.getMessage());
      return new JsonArray();
    }
  }

  /** Adds what the user can do to the error of an unsaved model. */
  private static Future<Evaluated> unsaved(Throwable why) {
    return Future.failedFuture(
        why instanceof UncheckedIOException disk
            ? new UncheckedIOException(
                disk.getMessage() + "; make room there, or train with --run-dir", disk.getCause())
            : why);
  }

  private Optional<Evaluated> saveUnfinished() {
    FinalModel model = new FinalModel(vertx, job, monitor.membership());
    try {
      return Optional.of(
          Await.whileProgressing(
              model.save(
                  directory.model(job),
                  Optional.empty(),
                  pause.isPresent() ? Long.MAX_VALUE : TEST_SECONDS),
              saveSeconds(),
              model::stage,
              SAVING));
    } catch (RuntimeException e) {
      monitor.say("no model: " + e.getMessage());
      return Optional.empty();
    }
  }

  /** Returns a limit beyond those of the members: the one that does not answer is to be named. */
  private long saveSeconds() {
    long parameters =
        monitor.ask(progress -> progress.view().started().map(JobStarted::parameters).orElse(0L));
    long answerSeconds = TimeUnit.MILLISECONDS.toSeconds(job.exchange().deadlineMillis());
    return SAVE_SECONDS + answerSeconds + parameters / PARAMETERS_PER_SECOND;
  }

  /**
   * Releases the members, then ends the processes and closes Vert.x; a second call does nothing.
   * Deletes the timed checkpoints of a finished run, because nobody resumes from them.
   */
  private void stop(String why) {
    early.end();
    Phase before = phase;
    if (before == Phase.CREATED || before == Phase.CLOSED) {
      return;
    }
    enter(Phase.CLOSED);
    standby.ifPresent(StandbyProcess::stop);
    Future<Void> left = before == Phase.OPEN ? Future.succeededFuture() : coordinator.stop(why);
    Future<?> stopped =
        left.eventually(() -> reportToDashboard(Optional.empty())).eventually(this::end);
    Await.cleanUp(stopped, STOP_SECONDS, "stopping");
    timeline.close();
    monitor.close();
    display.close();
    boolean finished = before == Phase.FINISHED || before == Phase.KEEPING_PAGE;
    if (finished && job.checkpoint().isTimed()) {
      directory.discardCheckpoints();
    }
  }

  /** Ends the processes and closes Vert.x at the same time, because each may wait for the other. */
  private Future<?> end() {
    joinPort.ifPresent(JoinPort::close);
    if (cluster.isPresent()) {
      RunLog.expectLeavingNodes();
      cluster.get().jobOver();
    }
    return Future.join(stopProcesses(), vertx.close());
  }

  private Future<Void> stopProcesses() {
    return processes.map(ProcessDeployment::stop).orElseGet(Future::succeededFuture);
  }

  /** Reports how the run ended to the dashboard, before the dashboard's server closes. */
  private Future<Void> reportToDashboard(Optional<JsonObject> summary) {
    return page.map(shown -> shown.metrics().conclude(summary)).orElseGet(Future::succeededFuture);
  }
}
