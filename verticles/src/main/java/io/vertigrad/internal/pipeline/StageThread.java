package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.worker.ReplicaCheckpoints;
import io.vertigrad.internal.worker.TrainingLoop;
import io.vertigrad.internal.worker.TrainingPlan;
import io.vertigrad.internal.worker.WorkerMember;
import io.vertigrad.internal.worker.WorkerThread;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertx.core.Vertx;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** The one thread that builds a stage, computes with it and closes it. */
public final class StageThread extends WorkerThread {

  private final Vertx vertx;
  private final JobConfig job;
  private final WorkerMember member;
  private final ClassLoader loader = StageThread.class.getClassLoader();

  public StageThread(Vertx vertx, JobConfig job, WorkerMember member) {
    super(vertx, job, member);
    this.vertx = vertx;
    this.job = job;
    this.member = member;
  }

  @Override
  protected boolean train() {
    PeerStrategyFactory strategy = ReplicaRule.of(job);
    PipelineConfig pipeline = job.pipeline().orElseThrow();
    Dataset data = DatasetProvider.open(job.data(), Split.TRAIN, loader);
    ModelConfig model = job.modelOn(data).on(job.workers().device());
    SplitModel split = StagePlan.split(job, model);
    StagePlan plan = StagePlan.of(job, split);
    Consumer<TrainingEvent> events = new EventPublisher(vertx, job.addresses())::publish;
    ReplicaCheckpoints checkpoints =
        new ReplicaCheckpoints(
            job,
            plan.hash(),
            job.checkpoint().every(),
            job.checkpoint().keep(),
            true,
            member,
            events);
    StageContext setting =
        new StageContext(
            vertx,
            job,
            plan,
            strategy,
            BatchSizes.of(data.size(), pipeline.replicas(), job.workers()),
            checkpoints,
            data.size(),
            () -> DatasetProvider.open(job.data(), Split.TEST, loader),
            events,
            new AtomicLong(),
            strategy.lastVersion(job.steps(), job.workers().count()),
            System::nanoTime,
            member.clock(),
            member.timeline());
    TrainingPlan training = TrainingPlan.of(job, strategy, plan.partitions(), data.size());
    StageParts parts =
        new StageParts(
            setting,
            environment(training, "update"),
            split,
            () -> StagePlan.split(job, model),
            (replica, first) -> batches(data, replica, pipeline.replicas(), first));
    return runLoop(plan.layout(), new TrainingLoop(training, member, parts, System::nanoTime));
  }
}
