package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.worker.JoinRequester;
import io.vertigrad.internal.worker.PeerTask;
import io.vertigrad.internal.worker.StepGate;
import io.vertigrad.job.PipelineConfig;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * A member's work in a pipeline: builds the stage that its rank stands for, and computes it until
 * the job is over.
 */
final class StageWork extends PeerTask<StageSession> {

  private final StageContext setting;
  private final IntFunction<BatchSource> data;
  private final Supplier<SplitModel> splitting;
  private final PipelineConfig pipeline;
  private SplitModel split;
  private StageReplica replica;

  /**
   * Work that has not begun.
   *
   * @param split the cut model, let go once the stage is built
   * @param splitting cuts it again, should another stage be wanted
   * @param data opens the batches of a replica
   */
  StageWork(
      StageContext setting,
      JoinRequester requester,
      SplitModel split,
      Supplier<SplitModel> splitting,
      IntFunction<BatchSource> data) {
    super(requester, setting.job().addresses().jobHash());
    this.setting = setting;
    this.split = split;
    this.splitting = splitting;
    this.data = data;
    this.pipeline = setting.job().pipeline().orElseThrow();
  }

  @Override
  public boolean run() {
    try {
      return super.run();
    } finally {
      closeStage();
    }
  }

  @Override
  public Future<Path> checkpoint() {
    return current()
        .map(StageSession::checkpoint)
        .orElseGet(() -> Future.failedFuture("it takes no part at the moment"));
  }

  @Override
  public long tested() {
    return setting.tested().get();
  }

  @Override
  protected StageSession prepare(SenderIdentity identity, StepGate gate, BooleanSupplier stop) {
    Thread.currentThread()
        .setName(
            "%s of %s".formatted(pipeline.name(identity.rank()), setting.job().addresses().job()));
    provide(pipeline.stageOf(identity.rank()));
    return new StageSession(setting, replica, identity, gate, stop);
  }

  @Override
  protected void work(StageSession session, int rank) {
    int of = pipeline.replicaOf(rank);
    try (StepBatches batches =
        new StepBatches(() -> data.apply(of), pipeline, rank, setting.sizes())) {
      session.run(batches, this::publish);
    }
  }

  @Override
  protected boolean finished() {
    return replica != null && replica.vector().updates() >= setting.lastVersion();
  }

  @Override
  protected double samples() {
    return replica.vector().samples();
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
}
