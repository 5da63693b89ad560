package io.vertigrad.launcher;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.deploy.JobEndMonitor;
import io.vertigrad.launcher.deploy.OutlierNotice;
import io.vertigrad.launcher.deploy.RoleName;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.observability.MemberPort;
import io.vertigrad.training.JobFailedException;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One membership of this process in a job's cluster. */
final class Participation implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Participation.class);
  private static final long START_SECONDS = 120;
  private static final long STOP_SECONDS = 15;

  /** Time for which a node stays in the cluster after the job, so that others can leave it. */
  private static final long LEAVE_SECONDS = 2;

  private static final long FOREVER_SECONDS = Long.MAX_VALUE / 1_000_000_000L;

  private final JobConfig job;
  private final Role role;
  private final ClusterStart start;
  private final Vertx vertx;
  private final JobEndMonitor watch;
  private volatile boolean started;

  private Participation(JobConfig job, Role role, ClusterStart start, Vertx vertx) {
    this.job = job;
    this.role = role;
    this.start = start;
    this.vertx = vertx;
    this.watch = new JobEndMonitor(vertx, job, role);
  }

  /**
   * Returns how long members may take to start. They ask for a coordinator for {@code
   * workers.waitSeconds}, and for a place for as long again.
   */
  static long memberStartSeconds(JobConfig job) {
    return START_SECONDS + 2L * job.workers().waitSeconds();
  }

  /** Joins the job's cluster in order to play a role. */
  static Participation join(JobConfig job, Role role) {
    ClusterStart start = ClusterStart.ofMember(job, ClusterStart.secretOf(job.cluster()), false);
    Future<Vertx> joined = start.start(MeteredVertx.builder(), new VertxOptions());
    Vertx vertx = Await.result(joined, START_SECONDS, "joining the cluster");
    VertigradApplication.refuseSerialized(vertx);
    return new Participation(job, role, start, vertx);
  }

  /**
   * Plays the role until the job ends, or until this process leaves it after {@link #askedToEnd}.
   *
   * @throws io.vertigrad.launcher.deploy.CoordinatorLostException when the coordinator falls silent
   * @throws io.vertigrad.training.JobFailedException when the job fails
   */
  void play() {
    FrameCodecs.register(vertx.eventBus());
    Future<Void> notices =
        OutlierNotice.listen(vertx, job.addresses(), job.cluster(), found -> LOG.warn("{}", found));
    Await.result(Future.join(watch.listen(), notices), START_SECONDS, "the event bus");
    Promise<Void> started = Promise.promise();
    LocalMembers.one(role)
        .deploy(vertx, job)
        .onSuccess(started::tryComplete)
        .onFailure(started::tryFail);
    watch.leaves().onSuccess(started::tryComplete);
    Await.result(
        started.future(), memberStartSeconds(job), "starting the " + RoleName.of(job, role));
    this.started = true;
    watch.admitted();
    Await.result(watch.over(), FOREVER_SECONDS, "the job");
  }

  /** Returns whether this process's member has started. */
  boolean started() {
    return started;
  }

  /** Shows the state of this process's node at its port. */
  void show(MemberPort port) {
    port.joined(vertx, job.addresses().job());
  }

  /** Makes {@link #play} return soon, because a signal has asked this process to end. */
  void askedToEnd() {
    watch.askedToEnd();
  }

  /** Returns true when the coordinator has released its members. */
  boolean jobOver() {
    return watch.jobOver();
  }

  @Override
  public void close() {
    watch.close();
    if (watch.jobOver()) {
      RunLog.expectLeavingNodes();
      start.jobOver();
      awaitCoordinator();
    }
    Await.cleanUp(vertx.close(), STOP_SECONDS, "leaving the cluster");
  }

  /**
   * Waits until the coordinator's node has left. Other members may still need data that this node
   * holds to find the coordinator.
   */
  private void awaitCoordinator() {
    try {
      Await.result(start.coordinatorGone(), LEAVE_SECONDS, "the coordinator's end");
    } catch (JobFailedException late) {
      LOG.info("{}; leaving before it", late.getMessage());
    }
  }
}
