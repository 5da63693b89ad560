package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.CoordinatorClient;
import io.vertigrad.internal.membership.EvaluationResult;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.membership.MemberHandler;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.membership.MemberStatus.EvaluatorStatus;
import io.vertigrad.internal.peer.ModelReader;
import io.vertigrad.internal.pipeline.AssembledStages;
import io.vertigrad.internal.timeline.MemberTimeline;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An evaluator's membership of its job: passes membership, commands and stops to its loop. The loop
 * has a thread that builds the model, scores with it and closes it.
 */
public final class EvaluatorMember implements MemberHandler {

  private static final Logger LOG = LoggerFactory.getLogger(EvaluatorMember.class);

  private static final ClassLoader LOADER = EvaluatorMember.class.getClassLoader();

  private final Vertx vertx;
  private final JobConfig job;
  private final CoordinatorClient coordinator;
  private final EventPublisher events;
  private final MemberTimeline timeline;
  private final Promise<Admission> admitted = Promise.promise();
  private final Promise<Void> ended = Promise.promise();
  private volatile Handlers handlers;
  private volatile boolean stopping;
  private boolean trainingWaits;
  private long testing;
  private long evaluated;
  private long samples;

  private record Handlers(
      ParameterLayout layout, Consumer<Membership> membership, EvaluationLoop loop) {}

  /** Creates the membership. Call it on the verticle's context. */
  public EvaluatorMember(Vertx vertx, JobConfig job) {
    this.vertx = vertx;
    this.job = job;
    coordinator = new CoordinatorClient(vertx, job, Role.EVALUATOR, this, Optional.empty());
    events = new EventPublisher(vertx, job.addresses());
    timeline = new MemberTimeline(vertx, job);
  }

  /**
   * Starts the thread that joins and tests.
   *
   * @return completes on that thread after it was told to stop
   */
  public Future<Void> start() {
    Thread thread = new Thread(this::run, "evaluator of " + job.addresses().job());
    thread.setDaemon(true);
    thread.setPriority(Thread.MIN_PRIORITY);
    thread.setContextClassLoader(LOADER);
    thread.start();
    return ended.future();
  }

  /** Completes with the first admission, or fails with the reason why there was none. */
  public Future<Admission> admitted() {
    return admitted.future();
  }

  /** Records that the loop failed. Returns true if the evaluator had not been admitted yet. */
  public boolean failAdmission(Throwable why) {
    return admitted.tryFail(why);
  }

  private void run() {
    try {
      testUntilStopped();
      ended.complete();
    } catch (Throwable e) {
      ended.fail(e);
    }
  }

  private void testUntilStopped() throws InterruptedException {
    StrategyTraits traits = StrategyProviders.configure(job.strategy(), LOADER).traits();
    EvaluationPlan plan = EvaluationPlan.of(job, traits);
    trainingWaits = plan.blocking();
    Dataset test = DatasetProvider.open(job.data(), Split.TEST, LOADER);
    if (test.size() == 0) {
      throw job.settings()
          .refuse(
              "evaluator.count",
              "is %s, but the data set '%s' has no test set, expected 0: its samples are tested while they are trained on"
                  .formatted(job.evaluator().count(), job.data().name()));
    }
    coordinator.show(job.fingerprints(Set.of(Split.TEST), LOADER));
    ModelConfig config = job.modelOn(test).on(job.workers().device());
    try (Model model = JobModel.of(job, job.data().fitted(test.fitted()), config)) {
      Evaluation evaluation =
          new Evaluation(
              model,
              config.name(),
              test,
              job.evaluator().samples(),
              job.seed(),
              job.evaluator().topK(),
              plan.blocking(),
              this::onSamples,
              timeline.track());
      ModelReader reader =
          AssembledStages.reader(
              PartitionClient.of(vertx, job.addresses(), job.exchange(), System::nanoTime),
              job,
              traits,
              config,
              model,
              events::publish,
              () -> evaluation.part(0));
      EvaluationLoop loop =
          new EvaluationLoop(
              reader.source(),
              evaluation,
              plan,
              this::onTest,
              this::onTested,
              this::publish,
              reader.wake());
      if (join(model.layout(), reader.membership(), loop)) {
        loop.run();
      }
    }
  }

  /** Blocks the loop's thread until the job runs. Returns false if told to stop before. */
  private boolean join(
      ParameterLayout layout, Consumer<Membership> membership, EvaluationLoop loop) {
    handlers = new Handlers(layout, membership, loop);
    Optional<Admission> admission = FutureAwait.await(coordinator.join(layout), () -> stopping);
    if (admission.isEmpty()) {
      return false;
    }
    LOG.info("{} admitted", admission.get());
    timeline.setMember("evaluator");
    admitted.tryComplete(admission.get());
    boolean first = admission.get().incarnation() == 0;
    Runnable initial = first ? loop.testInitial() : () -> {};
    boolean started = FutureAwait.await(coordinator.started(), () -> stopping).isPresent();
    if (started) {
      initial.run();
    }
    return started;
  }

  private void publish(Evaluated tested) {
    timeline.publish();
    events.publish(tested);
  }

  private void onSamples(int more) {
    samples += more;
    report(coordinator::report);
  }

  /** Reports that the parameters of this version are loaded and their test begins. */
  private void onTest(long version) {
    testing = version;
    report(coordinator::reportNow);
  }

  /** Reports that the test of this version has ended and its result was published. */
  private void onTested(long version) {
    evaluated = version;
    report(coordinator::reportNow);
  }

  private void report(Consumer<MemberStatus> to) {
    if (trainingWaits) {
      to.accept(new EvaluatorStatus(testing, evaluated, samples));
    }
  }

  public void stop() {
    stopping = true;
    Handlers registered = handlers;
    if (registered != null) {
      registered.loop().stop();
    }
  }

  public Future<Void> leave(LeaveReason reason) {
    timeline.close();
    return coordinator.leave(reason);
  }

  @Override
  public void membershipChanged(Membership now) {
    handlers.membership().accept(now);
  }

  @Override
  public Future<EvaluationResult> evaluate() {
    return handlers.loop().testWhole();
  }

  @Override
  public Future<MemberStatus> handOver() {
    stop();
    return Future.succeededFuture(MemberStatus.NONE);
  }

  /** Pulls need no admission, so evaluation continues while the evaluator joins again. */
  @Override
  public void onEvicted(String why) {
    LOG.warn("evaluator evicted, joins again: {}", why);
    coordinator
        .join(handlers.layout())
        .onFailure(refused -> onStopped("evicted, and refused: " + refused.getMessage()));
  }

  @Override
  public void onStopped(String why) {
    LOG.info("evaluator told to stop: {}", why);
    stop();
  }
}
