package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Handles the versions that a stage reaches: it shows them to readers, writes checkpoints, and
 * tests them. Used on the stage's thread.
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
   * Creates the versions of one incarnation of a stage.
   *
   * @param line connection to the stages before and after, used for tests only
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

  /** Returns the endpoint that answers readers. */
  FrameEndpoint endpoint() {
    return endpoint;
  }

  /**
   * Shows and tests a version, after a step or after all stages have gone back to it; blocks during
   * the test.
   */
  void reached(long version) {
    show(version);
    tests.ifPresent(stages -> stages.after(version));
  }

  /** Shows a version to readers while no step begins. */
  void rest(long version) {
    endpoint.show(version, replica.partitions(setting.job().exchange().type()));
  }

  /** Sets how to read the strategy's state. */
  void remembers(Supplier<float[]> strategyMemory) {
    memory = strategyMemory;
  }

  /** Writes a checkpoint if one is due; called after a step. */
  void stepped(long version) {
    if (setting.checkpoints().due(version)) {
      write();
    }
  }

  /** Returns the requested checkpoints and the copy that is not made yet. */
  ReplicaSaves saves() {
    return saves;
  }

  /** Starts to write a checkpoint while training continues. */
  Future<Path> write() {
    float[] remembered = memory.get();
    return saves.write(
        replica.vector().updates(), replica.run(), into -> replica.copy(remembered, into));
  }

  /** Shows and tests the version at which the job ended early. */
  void ended(long version) {
    rest(version);
    tests.ifPresent(stages -> stages.end(version));
  }

  /** Shows a version if it is the last one or one that an evaluator may ask for. */
  private void show(long version) {
    JobConfig job = setting.job();
    boolean asked = job.evaluators() > 0 && (version == 0 || plan.isDue(version));
    if (version >= setting.lastVersion() || asked) {
      endpoint.show(version, replica.partitions(job.exchange().type()));
    }
  }
}
