package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Divergence;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.worker.ReplicaCheckpoints;
import io.vertigrad.internal.worker.ReplicaModel;
import io.vertigrad.internal.worker.ReplicaState;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.ExchangeException.DivergedException;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** A stage's model with its vector and optimizer. Used on the stage's thread. */
final class StageReplica implements ReplicaModel, AutoCloseable {

  private final StageModel model;
  private final JobConfig job;
  private final StagePlan plan;
  private final int stage;
  private final DeviceReplica vector;
  private final float[] gradient;

  /**
   * The initial parameters, to which all stages can go back while there is no checkpoint yet; empty
   * if checkpoints are off.
   */
  private final float[] initial;

  private Optimizer optimizer;
  private long run;
  private int rank;
  private long completeVersion;

  StageReplica(StageModel model, JobConfig job, StagePlan plan, long trainingSamples) {
    this.model = model;
    this.job = job;
    this.plan = plan;
    this.stage = model.spec().index();
    float[] parameters = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    vector =
        new DeviceReplica(
            parameters, model.layout(), trainingSamples, job.exchange().maxMagnitude());
    gradient = new float[parameters.length];
    initial = job.checkpoint().isOn() ? parameters.clone() : new float[0];
  }

  StageModel model() {
    return model;
  }

  @Override
  public DeviceReplica vector() {
    return vector;
  }

  /** Returns the array in which a step sums its gradient. */
  @Override
  public float[] gradient() {
    return gradient;
  }

  @Override
  public long layout() {
    return plan.hash();
  }

  /**
   * Returns the same optimizer for as long as this stage exists, so that its state outlives an
   * incarnation.
   */
  @Override
  public Optimizer optimizer(OptimizerConfig config) {
    if (optimizer == null) {
      optimizer = Optimizer.of(Engine.named(job.engine()), config, vector.trainable());
    }
    return optimizer;
  }

  @Override
  public void load(float[] parameters) {
    model.writeParameters(0, FloatBuffer.wrap(parameters));
  }

  @Override
  public RunVersion state() {
    return new RunVersion(vector.updates(), run);
  }

  /**
   * Returns the versions that this stage can continue from besides the one in memory: those that an
   * earlier incarnation saved, and the beginning, for a stage that is lost before the first
   * checkpoint. A job without checkpoints does not start over by itself.
   */
  List<RunVersion> savedVersions(ReplicaCheckpoints checkpoints, SenderIdentity identity) {
    List<RunVersion> saved = new ArrayList<>(checkpoints.points(identity.rank()));
    if (job.checkpoint().isOn()) {
      saved.add(RunVersion.BEGINNING);
    }
    return saved;
  }

  @Override
  public void reached(long version) {
    completeVersion = version;
  }

  /**
   * Returns the version in memory; empty if an abandoned step has changed it, or if it was trained
   * as another replica of the stage.
   */
  Optional<RunVersion> heldVersion(int asRank) {
    boolean own = vector.updates() == 0 || rank == asRank;
    return own && completeVersion == vector.updates() ? Optional.of(state()) : Optional.empty();
  }

  /**
   * Fails: if one stage's gradient is not finite, the stages would no longer take the same steps.
   */
  @Override
  public void leftOut(long step, double loss) {
    throw new DivergedException(Divergence.at(step, model.hasLoss() ? loss : Double.NaN, 1));
  }

  void assignRun(long someRun, int someRank) {
    run = someRun;
    rank = someRank;
  }

  @Override
  public SavedState copy(float[] memory, CopyMemory into) {
    return ReplicaState.copy(vector, optimizers(), memory, into);
  }

  /** Goes back to a saved state and returns the strategy's state. */
  float[] restore(String name, SavedState from) {
    return ReplicaState.restore(name, from, vector, optimizers());
  }

  /** Goes back to the initial parameters. */
  void restart() {
    System.arraycopy(initial, 0, vector.parameters(), 0, initial.length);
    vector.resume(0, 0);
    optimizers().forEach(each -> each.writeState(FloatBuffer.wrap(new float[each.stateLength()])));
  }

  private List<Optimizer> optimizers() {
    return optimizer == null ? List.of() : List.of(optimizer);
  }

  /**
   * Returns where a partition of the whole model begins in this stage's vector; empty for one of
   * another stage.
   */
  OptionalInt offset(Partition partition) {
    if (partition.shard() != stage) {
      return OptionalInt.empty();
    }
    return OptionalInt.of(
        partition.kind() == Block.Kind.TRAINABLE
            ? partition.first() - plan.firstTrainable(stage)
            : partition.first() - plan.firstStatistic(stage) + vector.trainable());
  }

  @Override
  public void close() {
    model.close();
  }
}
