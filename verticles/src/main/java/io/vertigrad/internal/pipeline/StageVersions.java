package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.worker.ReplicaSaves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * What becomes of the versions a stage reaches: readers are shown them, checkpoints keep them, the
 * test set tries them. Belongs to the stage's thread.
 */
final class StageVersions {

  private final StageContext setting;
  private final StageReplica replica;
  private final SenderIdentity identity;
  private final SnapshotServer endpoint;
  private final EvaluationPlan plan;
  private final Optional<PipelineEvaluation> tests;
  private final ReplicaSaves saves;
  private Supplier<float[]> memory = () -> new float[0];

  /**
   * Versions of one incarnation of a stage.
   *
   * @param line to the stages before and after it, for tests alone
   */
  StageVersions(
      StageContext setting, StageReplica replica, SenderIdentity identity, StageNeighbours line) {
    this.setting = setting;
    this.replica = replica;
    this.identity = identity;
    this.plan = EvaluationPlan.of(setting.job(), setting.strategy());
    saves = new ReplicaSaves(setting.checkpoints(), identity.rank(), identity.incarnation());
    JobConfig job = setting.job();
    endpoint =
        new SnapshotServer(
            setting.plan().partitions(),
            identity.incarnation(),
            job.exchange().type(),
            job.exchange().deadlineMillis(),
            setting.patience());
    boolean first = job.pipeline().orElseThrow().replicaOf(identity.rank()) == 0;
    tests =
        job.stagesTest() && first
            ? Optional.of(new PipelineEvaluation(setting, replica.model(), line))
            : Optional.empty();
  }

  /** Answers readers. */
  FrameEndpoint endpoint() {
    return endpoint;
  }

  /** After a step, or when all have gone back to one; blocks while it is tested. */
  void reached(long version) {
    show(version);
    tests.ifPresent(stages -> stages.after(version));
  }

  /** No step begins: readers may look at this version, too. */
  void rest(long version) {
    endpoint.show(version, replica.partitions(setting.job().exchange().type()));
  }

  /** Says how to ask the strategy what it remembers. */
  void remembers(Supplier<float[]> strategyMemory) {
    memory = strategyMemory;
  }

  /** A step has led to this version. */
  void stepped(long version) {
    if (setting.checkpoints().due(version)) {
      write();
    }
  }

  /** Checkpoints that are asked for, and the copy that is not made yet. */
  ReplicaSaves saves() {
    return saves;
  }

  /** Has a copy written beside training. */
  Future<Path> write() {
    float[] remembered = memory.get();
    return saves.write(
        replica.vector().updates(), replica.run(), into -> replica.copy(remembered, into));
  }

  /** An early end was reached, by a version that was shown and tested like any other. */
  void ended(long version) {
    rest(version);
    tests.ifPresent(stages -> stages.end(version));
  }

  /** The last version, and before that every one an evaluator may ask for. */
  private void show(long version) {
    JobConfig job = setting.job();
    boolean asked = job.evaluators() > 0 && (version == 0 || plan.isDue(version));
    if (version >= setting.lastVersion() || asked) {
      endpoint.show(version, replica.partitions(job.exchange().type()));
    }
  }
}
