package io.vertigrad.internal.worker;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.BatchConfig;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.DistributedSampler;
import io.vertigrad.compute.data.PrefetchingBatchSource;
import io.vertigrad.compute.data.Sampler;
import io.vertigrad.compute.data.ShuffledSampler;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.WindowedExchange;
import io.vertigrad.internal.worker.PeerTrainingLoop.PeerTrainingPlan;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.function.Consumer;

/**
 * The one thread that builds a worker's model, trains it and closes it.
 *
 * <p>Engines bind workspaces and caches to threads, so the model never sees another one.
 */
public class WorkerThread {

  private final Vertx vertx;
  private final JobConfig job;
  private final WorkerMember member;
  private final ClassLoader loader = WorkerThread.class.getClassLoader();
  private final Promise<Boolean> ended = Promise.promise();
  private volatile WorkerTask work;

  public WorkerThread(Vertx vertx, JobConfig job, WorkerMember member) {
    this.vertx = vertx;
    this.job = job;
    this.member = member;
  }

  /** Completes, on this thread, with true when the job's last version was reached. */
  public final Future<Boolean> start() {
    Thread thread = new Thread(this::run, "worker of " + job.addresses().job());
    thread.setDaemon(true);
    thread.setContextClassLoader(loader);
    thread.start();
    return ended.future();
  }

  /** Counters; any thread. */
  public final LoopProgress progress() {
    WorkerTask running = work;
    return running == null ? LoopProgress.NONE : running.progress();
  }

  /** Samples applied by all workers, if this one knows; any thread. */
  public final long samplesOfAll() {
    WorkerTask running = work;
    return running == null ? 0 : running.samplesOfAll();
  }

  /** Test samples that went through, if this one tests; any thread. */
  public final long tested() {
    WorkerTask running = work;
    return running == null ? 0 : running.tested();
  }

  /** What else there is to tell; any thread. */
  public final List<TrainingEvent> news() {
    WorkerTask running = work;
    return running == null ? List.of() : running.news();
  }

  private void run() {
    try {
      ended.complete(train());
    } catch (Throwable e) {
      ended.fail(e);
    }
  }

  /** Builds what there is to compute and works on it until the job is over, or this one is. */
  protected boolean train() {
    StrategyFactory strategy = StrategyProviders.configure(job.strategy(), loader);
    Dataset data = DatasetProvider.open(job.data(), Split.TRAIN, loader);
    try (Model model = Engine.named(job.engine()).model(job.modelOn(data))) {
      PartitionPlan partitions = PartitionPlan.of(job, model.layout());
      TrainingPlan plan = TrainingPlan.of(job, strategy, partitions, data.size());
      return strategy instanceof PeerStrategyFactory peers
          ? trainWithPeers(peers, plan, model, data)
          : trainWithServers(plan, model, data);
    }
  }

  private boolean trainWithServers(TrainingPlan plan, Model model, Dataset data) {
    WindowedExchange exchange =
        WindowedExchange.of(vertx, job.addresses(), limits(plan), member.clock());
    TrainingLoop loop =
        new TrainingLoop(
            model, plan, exchange, member, rank -> batches(data, rank), System::nanoTime);
    return work(model.layout(), exchange::membershipChanged, loop);
  }

  /**
   * Where servers hold gradients back for a test, each partition does so by itself: one that has to
   * be applied before the test must not wait in a window behind those that are held.
   */
  private ExchangeConfig limits(TrainingPlan plan) {
    boolean held = job.evaluator().blocking() && !plan.lockstep();
    return held ? job.exchange().withoutWindow() : job.exchange();
  }

  private boolean trainWithPeers(
      PeerStrategyFactory strategy, TrainingPlan plan, Model model, Dataset data) {
    PeerTrainingPlan peers =
        new PeerTrainingPlan(
            vertx,
            job,
            plan,
            strategy,
            data.size(),
            System::nanoTime,
            member.clock(),
            member.track());
    PeerTrainingLoop loop = new PeerTrainingLoop(peers, model, member, rank -> batches(data, rank));
    return work(model.layout(), loop::membershipChanged, loop);
  }

  /** Lets the coordinator and the reports see the work, and does it. */
  protected final boolean work(
      ParameterLayout layout, Consumer<Membership> membership, WorkerTask begun) {
    work = begun;
    member.serve(layout, membership, begun);
    return begun.run();
  }

  private BatchSource batches(Dataset data, int rank) {
    Thread.currentThread().setName("worker %d of %s".formatted(rank, job.addresses().job()));
    return batches(data, rank, job.workers().count());
  }

  /** The batches of one rank of several. */
  protected final BatchSource batches(Dataset data, int rank, int ranks) {
    job.workers().requireBatch(data.size(), ranks);
    return PrefetchingBatchSource.start(
        "worker " + rank,
        data,
        sampler(data, rank, ranks),
        BatchConfig.of(job.workers().batch(), job.workers().dropLast(), job.seed() + rank),
        Augmentations.of(job.data(), data));
  }

  private Sampler sampler(Dataset data, int rank, int ranks) {
    return job.workers().sampler().equals("none")
        ? new ShuffledSampler(data.size(), rank, job.seed())
        : new DistributedSampler(data.size(), ranks, rank, job.seed());
  }
}
