package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.worker.CheckpointAgreement;
import io.vertigrad.internal.worker.CheckpointAgreement.Rule;
import io.vertigrad.internal.worker.CheckpointAgreement.Statement;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.internal.worker.ReplicaCheckpoints.RunVersion;
import io.vertigrad.internal.worker.ReplicaDuties;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The duties of one incarnation of a stage besides its gradients: it agrees with all stages on a
 * step to continue from, shows and saves versions, and tests them together with its neighbours.
 */
final class StageDuties implements ReplicaDuties {

  private static final Logger LOG = LoggerFactory.getLogger(StageDuties.class);

  private final StageContext context;
  private final StageReplica replica;
  private final SenderIdentity identity;
  private final StageGroup group;
  private final SnapshotServer endpoint;
  private final EvaluationPlan plan;
  private final Optional<PipelineEvaluation> evaluation;
  private final ReplicaSaves saves;
  private Supplier<float[]> memory = () -> new float[0];

  StageDuties(
      StageContext context, StageReplica replica, SenderIdentity identity, StageGroup group) {
    this.context = context;
    this.replica = replica;
    this.identity = identity;
    this.group = group;
    JobConfig job = context.job();
    endpoint =
        new SnapshotServer(
            context.plan().partitions(),
            identity.incarnation(),
            job.exchange().type(),
            job.exchange().deadlineMillis(),
            context.waitClock());
    plan = EvaluationPlan.of(job, context.traits());
    boolean first = job.pipeline().orElseThrow().replicaOf(identity.rank()) == 0;
    evaluation =
        job.stagesTest() && first
            ? Optional.of(
                new PipelineEvaluation(
                    context, replica.model(), group.neighbours(job, context.nanoClock())))
            : Optional.empty();
    saves = new ReplicaSaves(context.checkpoints(), identity.rank(), identity.incarnation());
  }

  @Override
  public FrameEndpoint endpoint() {
    return endpoint;
  }

  @Override
  public Future<?> open() {
    return group.open();
  }

  @Override
  public void membershipChanged(Membership now) {
    group.membershipChanged(now);
  }

  @Override
  public void wake() {
    group.wake();
  }

  @Override
  public boolean current() {
    return group.isComplete();
  }

  @Override
  public void remembers(Supplier<float[]> strategyMemory) {
    memory = strategyMemory;
  }

  @Override
  public void stepped(long version) {
    if (context.checkpoints().due(version)) {
      write();
    }
  }

  @Override
  public Optional<PeerGroup> settle(Peers peers, PeerGroup all, PeerStrategy rule) {
    if (!group.adopt(all)) {
      LOG.warn(
          "{}: step {} cannot go on without {}; the job waits for a replacement",
          name(),
          replica.vector().updates(),
          group.missing());
      return Optional.empty();
    }
    List<RunVersion> kept = replica.savedVersions(context.checkpoints(), identity);
    Optional<RunVersion> held = replica.heldVersion(identity.rank());
    Statement statement = new Statement(held, kept, false, true);
    long anyRun = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
    CheckpointAgreement.Agreed agreed =
        CheckpointAgreement.hold(peers, all, statement, Rule.COMMON_STATE, anyRun)
            .orElseThrow(() -> noCommonVersion(kept));
    RunVersion from = agreed.from().orElseThrow();
    long before = replica.vector().updates();
    if (!held.equals(Optional.of(from))) {
      rule.restore(restored(from));
    }
    replica.assignRun(agreed.run(), identity.rank());
    LOG.info("{}: was at step {}, goes on at {}", name(), before, replica.vector().updates());
    return Optional.of(group.replicas());
  }

  private ExchangeException noCommonVersion(List<RunVersion> kept) {
    return new ExchangeException(
        ("%s: there is no step from which every stage can go on; this one has %s. Set"
                + " checkpoint.every, and a checkpoint.directory that a replacement"
                + " can read")
            .formatted(
                name(),
                Stream.concat(Stream.of(replica.runVersion()), kept.stream())
                    .map(RunVersion::version)
                    .toList()));
  }

  /** Goes back to a version and returns the strategy's state at that version. */
  private float[] restored(RunVersion from) {
    if (from.equals(RunVersion.BEGINNING)) {
      replica.restart();
      return new float[0];
    }
    return replica.restore(name(), context.checkpoints().restore(identity.rank(), from));
  }

  @Override
  public void changing() {
    saves.changing();
  }

  /**
   * Returns false: stages have agreed where to continue before the replicas of one stage are asked.
   */
  @Override
  public boolean fresh() {
    return false;
  }

  /**
   * Shows the version if it is the last one or one that an evaluator may ask for, and tests it;
   * blocks during the test.
   */
  @Override
  public void reached(long version, float[] parameters, boolean last) {
    replica.reached(version);
    boolean asked = context.job().evaluators() > 0 && (version == 0 || plan.isDue(version));
    if (version >= context.lastVersion() || asked) {
      show(version);
    }
    evaluation.ifPresent(stages -> stages.after(version));
  }

  @Override
  public void hold(long version, float[] parameters) {
    if (group.isComplete()) {
      show(version);
    }
  }

  /**
   * Shows and tests the version of an early end. The regular last version was shown and tested when
   * it was reached.
   */
  @Override
  public void end(long version, float[] parameters) {
    if (version < context.lastVersion()) {
      show(version);
      evaluation.ifPresent(stages -> stages.end(version));
    }
  }

  /**
   * Fails: if one stage's gradient is not finite, the stages would no longer take the same steps.
   */
  @Override
  public void leftOut(long version, double loss) {
    throw new ExchangeException(
        ("%s: training diverged: the gradient of step %d holds NaN or infinity (loss %s). Lower"
                + " optimizer.learningRate")
            .formatted(name(), version, loss));
  }

  @Override
  public void idle() {
    saves.idle(this::write);
  }

  @Override
  public TrafficCounters traffic() {
    return group.traffic();
  }

  @Override
  public Future<Path> checkpoint() {
    return saves.ask();
  }

  @Override
  public Future<?> close() {
    saves.close("this stage is stopping");
    return group.close();
  }

  /** Shows a version to readers. */
  private void show(long version) {
    endpoint.show(version, replica.partitions(context.job().exchange().type()));
  }

  /** Starts to write a checkpoint while training continues. */
  private Future<Path> write() {
    float[] remembered = memory.get();
    return saves.write(
        replica.vector().updates(), replica.run(), into -> replica.copy(remembered, into));
  }

  private String name() {
    return context.job().pipeline().orElseThrow().name(identity.rank());
  }
}
