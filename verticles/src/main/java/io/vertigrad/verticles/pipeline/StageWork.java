package io.vertigrad.verticles.pipeline;

import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.verticles.exchange.Identity;
import io.vertigrad.verticles.job.PipelineConfig;
import io.vertigrad.verticles.strategy.Membership;
import io.vertigrad.verticles.worker.Enrolment;
import io.vertigrad.verticles.worker.LoopProgress;
import io.vertigrad.verticles.worker.Work;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * A member's work in a pipeline: joins, builds the stage that its rank stands for, and computes it
 * until the job is over.
 */
final class StageWork implements Work {

  private final StageSetting setting;
  private final Enrolment enrolment;
  private final IntFunction<BatchSource> data;
  private final Supplier<SplitModel> splitting;
  private final PipelineConfig pipeline;
  private SplitModel split;
  private StageReplica replica;
  private volatile boolean stopping;
  private volatile Identity evicted;
  private volatile Membership newest = Membership.NONE;
  private volatile StageSession session;
  private volatile LoopProgress progress = LoopProgress.NONE;
  private volatile long samples;

  /**
   * Work that has not begun.
   *
   * @param split the cut model, let go once the stage is built
   * @param splitting cuts it again, should another stage be wanted
   * @param data opens the batches of a replica
   */
  StageWork(
      StageSetting setting,
      Enrolment enrolment,
      SplitModel split,
      Supplier<SplitModel> splitting,
      IntFunction<BatchSource> data) {
    this.setting = setting;
    this.enrolment = enrolment;
    this.split = split;
    this.splitting = splitting;
    this.data = data;
    this.pipeline = setting.job().pipeline().orElseThrow();
  }

  @Override
  public boolean run() {
    try {
      while (!stopping) {
        Optional<Membership.Member> member = enrolment.join();
        if (member.isEmpty()) {
          return finished();
        }
        work(member.get());
      }
      return finished();
    } finally {
      closeStage();
    }
  }

  /** Tells who takes part from now on. */
  void membershipChanged(Membership now) {
    newest = now;
    StageSession running = session;
    if (running != null) {
      running.membershipChanged(now);
    }
  }

  @Override
  public void stop() {
    stopping = true;
    wake();
  }

  @Override
  public void evicted(int rank, int incarnation) {
    evicted = identity(rank, incarnation);
    wake();
  }

  @Override
  public LoopProgress progress() {
    return progress;
  }

  @Override
  public long samplesOfAll() {
    return samples;
  }

  private void work(Membership.Member member) {
    Identity identity = identity(member.rank(), member.incarnation());
    Thread.currentThread()
        .setName("%s of %s".formatted(name(member.rank()), setting.job().addresses().job()));
    provide(pipeline.stageOf(member.rank()));
    StageSession starting =
        new StageSession(
            setting,
            replica,
            identity,
            enrolment.gate(),
            () -> stopping || identity.equals(evicted));
    session = starting;
    try (StepBatches batches =
        new StepBatches(
            () -> data.apply(pipeline.replicaOf(member.rank())),
            pipeline,
            member.rank(),
            setting.sizes())) {
      starting.open();
      starting.membershipChanged(newest);
      starting.run(batches, this::publish);
    } finally {
      publish(starting);
      session = null;
      starting.close();
    }
  }

  /** Keeps the stage it has when the rank still stands for it. */
  private void provide(int stage) {
    if (replica != null && replica.model().spec().index() == stage) {
      return;
    }
    closeStage();
    SplitModel whole = split == null ? splitting.get() : split;
    replica =
        new StageReplica(
            whole.stage(stage), setting.job(), setting.plan(), setting.trainingSamples());
    split = null;
    // Only the collector frees the native memory of the whole model's parameters.
    System.gc();
  }

  private void closeStage() {
    if (replica != null) {
      replica.close();
      replica = null;
    }
  }

  private void publish(StageSession from) {
    samples = Math.round(replica.vector().samples());
    progress = from.progress();
  }

  private boolean finished() {
    return replica != null && replica.vector().updates() >= setting.lastVersion();
  }

  private void wake() {
    StageSession running = session;
    if (running != null) {
      running.wake();
    }
  }

  private String name(int rank) {
    return pipeline.name(rank);
  }

  private Identity identity(int rank, int incarnation) {
    return new Identity(setting.job().addresses().jobHash(), rank, incarnation);
  }
}
