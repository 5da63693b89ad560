package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.GradientSource;
import io.vertigrad.internal.worker.Incarnation;
import io.vertigrad.internal.worker.ParameterExchange;
import io.vertigrad.internal.worker.ReplicaCheckpoints;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.internal.worker.StrategyExchange;
import io.vertigrad.internal.worker.TrainingLoop;
import io.vertigrad.internal.worker.TrainingPlan;
import io.vertigrad.internal.worker.WorkerMember;
import io.vertigrad.internal.worker.WorkerThread;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Vertx;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The one thread that builds a stage, computes with it and closes it. */
public final class StageThread extends WorkerThread {

  public StageThread(Vertx vertx, JobConfig job, WorkerMember member) {
    super(vertx, job, member);
  }

  @Override
  protected boolean train() {
    StrategyFactory strategy = ReplicaRule.of(job);
    StrategyTraits traits = strategy.traits();
    PipelineConfig pipeline = job.pipeline().orElseThrow();
    Dataset data = DatasetProvider.open(job.data(), Split.TRAIN, loader);
    member.show(
        job.fingerprints(
            job.stagesTest() ? EnumSet.allOf(Split.class) : Set.of(Split.TRAIN), loader));
    ModelConfig model = job.modelOn(data).on(job.workers().device());
    SplitModel split = StagePlan.split(job, model);
    StagePlan plan = StagePlan.of(job, split);
    Consumer<TrainingEvent> events = new EventPublisher(vertx, job.addresses())::publish;
    ReplicaCheckpoints checkpoints =
        checkpoints(plan.hash(), job.checkpoint().every(), job.checkpoint().keep(), true);
    StageContext context =
        new StageContext(
            vertx,
            job,
            plan,
            traits,
            BatchSizes.of(data.size(), pipeline.replicas(), job.workers()),
            checkpoints,
            member::choose,
            data.size(),
            () -> DatasetProvider.open(job.data(), Split.TEST, loader),
            events,
            new AtomicLong(),
            traits.lastVersion(job.steps(), job.workers().count()),
            System::nanoTime,
            member.clock(),
            member.timeline());
    TrainingPlan training = TrainingPlan.of(job, strategy, plan.partitions(), data.size());
    StageParts parts =
        new StageParts(
            context,
            environment(training, "update", traits),
            split,
            () -> StagePlan.split(job, model),
            (replica, first) -> batches(data, replica, pipeline.replicas(), first));
    return runLoop(
        plan.layout(),
        new TrainingLoop(training, member, parts, parts::exchange, System::nanoTime));
  }

  /** The parts of a stage member: the stage of its rank, and the batches of its replica. */
  private static final class StageParts implements TrainingLoop.Sources {

    private final StageContext context;
    private final StrategyExchange.Environment environment;
    private final BatchesOfRank batches;
    private final Supplier<SplitModel> splitting;
    private final PipelineConfig pipeline;
    private SplitModel split;
    private StageReplica replica;
    private StageGroup group;

    /**
     * Creates parts, none of which is built yet.
     *
     * @param split the cut model; the reference is dropped once the stage is built
     * @param splitting cuts the model again if the member takes over another stage
     * @param data opens the batches of a replica
     */
    StageParts(
        StageContext context,
        StrategyExchange.Environment environment,
        SplitModel split,
        Supplier<SplitModel> splitting,
        BatchOpener data) {
      this.context = context;
      this.environment = environment;
      this.split = split;
      this.splitting = splitting;
      this.batches = new BatchesOfRank(data);
      this.pipeline = context.job().pipeline().orElseThrow();
    }

    @Override
    public GradientSource source(Incarnation self) {
      SenderIdentity identity = self.identity();
      int rank = identity.rank();
      Thread.currentThread()
          .setName("%s of %s".formatted(pipeline.name(rank), context.job().addresses().job()));
      provide(pipeline.stageOf(rank));
      batches.close();
      group =
          new StageGroup(
              context.vertx(),
              context.job(),
              context.plan().hash(),
              identity,
              context.waitClock(),
              context.recorder(),
              self.stop());
      return new StageGradients(
          context, replica, group.neighbours(context.job(), context.nanoClock()), batches, rank);
    }

    ParameterExchange exchange(Incarnation self) {
      SenderIdentity identity = self.identity();
      JobConfig job = context.job();
      StrategyExchange replicas =
          new StrategyExchange(
              environment,
              self,
              replica,
              new StageAgreement(context, replica, identity, group),
              new ReplicaSaves(
                  context.checkpoints(), identity.rank(), identity.incarnation(), true),
              new SnapshotServer(
                  context.plan().partitions(),
                  identity.incarnation(),
                  job.exchange().type(),
                  job.exchange().deadlineMillis(),
                  context.waitClock(),
                  replica::offset));
      return new StageExchange(context, self, replica, group, replicas);
    }

    @Override
    public long tested() {
      return context.testedSamples().get();
    }

    @Override
    public void close() {
      batches.close();
      closeStage();
      context.checkpoints().close();
    }

    /** Builds the stage, unless the member already has it. */
    private void provide(int stage) {
      if (replica != null && replica.model().spec().index() == stage) {
        return;
      }
      closeStage();
      SplitModel whole = split == null ? splitting.get() : split;
      replica =
          new StageReplica(
              InitialParameters.into(
                  JobModel.create(context.job().model().name(), () -> whole.stage(stage)),
                  whole.layout(),
                  context.job()),
              context.job(),
              context.plan(),
              context.trainingSamples());
      split = null;
      // Only the garbage collector frees the native memory of the whole model's parameters.
      System.gc();
    }

    private void closeStage() {
      if (replica != null) {
        replica.close();
        replica = null;
      }
    }
  }
}
