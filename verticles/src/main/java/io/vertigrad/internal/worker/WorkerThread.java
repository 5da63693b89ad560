package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.BatchConfig;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.DistributedSampler;
import io.vertigrad.compute.data.DividedSampler;
import io.vertigrad.compute.data.PrefetchingBatchSource;
import io.vertigrad.compute.data.Sampler;
import io.vertigrad.compute.data.ShuffledSampler;
import io.vertigrad.compute.data.StreamDataset;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.ResidualFiles;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.peer.SnapshotServer;
import io.vertigrad.internal.worker.BatchGradients.BatchNumber;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.internal.worker.TrainingLoop.JoinRequester;
import io.vertigrad.internal.worker.TrainingLoop.ModelSources;
import io.vertigrad.internal.worker.TrainingLoop.Sources;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Function;

/**
 * The thread that builds a worker's model, trains it and closes it.
 *
 * <p>Engines bind workspaces and caches to threads, so no other thread uses the model.
 */
public class WorkerThread {

  /** Extra files to keep, because a server may be late with a checkpoint or fail to write it. */
  private static final int SPARE_RESIDUALS = 4;

  protected final Vertx vertx;
  protected final JobConfig job;
  protected final WorkerMember member;
  protected final ClassLoader loader = WorkerThread.class.getClassLoader();
  private final StrategyFinder finder;
  private final Optional<MovedMember> session;
  private final Optional<BatchBalance> balance;
  private final Promise<Boolean> ended = Promise.promise();
  private Optional<StateCopies> copies = Optional.empty();
  private Optional<OwnSamples> own = Optional.empty();

  /** Creates the thread's task. Call it on the verticle's context. */
  public WorkerThread(Vertx vertx, JobConfig job, WorkerMember member) {
    this(vertx, job, member, Optional.empty());
  }

  /**
   * Creates the thread's task. Call it on the verticle's context.
   *
   * @param session set if the worker runs beside its strategy, with gradients of another JVM
   */
  public WorkerThread(
      Vertx vertx, JobConfig job, WorkerMember member, Optional<MovedMember> session) {
    this.vertx = vertx;
    this.session = session;
    this.finder =
        new StrategyFinder(
            vertx, vertx.getOrCreateContext(), job, Role.WORKER, session.map(MovedMember::host));
    this.job = job;
    this.member = member;
    this.balance =
        Optional.of(new BatchBalance(member::division))
            .filter(unused -> job.workers().balancesSpeed());
  }

  /**
   * Starts the thread. The future completes on that thread, with true if the job's last version was
   * reached.
   */
  public final Future<Boolean> start() {
    Thread thread = new Thread(this::run, "worker of " + job.addresses().job());
    thread.setDaemon(true);
    thread.setContextClassLoader(loader);
    thread.start();
    return ended.future();
  }

  private void run() {
    try {
      ended.complete(train());
    } catch (Throwable e) {
      ended.fail(e);
    } finally {
      copies.ifPresent(StateCopies::close);
    }
  }

  /** Builds the model and trains it until the job or this worker ends. */
  protected boolean train() {
    StrategyFactory strategy = StrategyProviders.configure(job.strategy(), loader);
    StrategyTraits traits = strategy.traits();
    Dataset data = DatasetProvider.open(job.data(), Split.TRAIN, loader);
    if (balance.isPresent() && data instanceof StreamDataset) {
      throw job.settings()
          .section("workers")
          .refuse(
              "balance",
              "is \"speed\", expected \"equal\" with a stream: its events are divided evenly");
    }
    member.show(job.fingerprints(Set.of(Split.TRAIN), loader));
    ModelConfig config = job.modelOn(data).on(job.workers().device());
    try (Model model = InitialParameters.into(JobModel.of(job, config), job)) {
      model.reportTo(member::scalar);
      BatchOpener batches = batches(traits, model, data);
      TrainingPlan plan =
          TrainingPlan.of(job, strategy, PartitionPlan.of(job, model.layout()), data.size());
      if (traits.besideServers()) {
        Optional<LocalSteps> local = localSteps(strategy, model, data);
        Model sent = local.map(LocalSteps::model).orElse(model);
        // One copy for each step would cost more than compression saves.
        copies(local.isPresent() && keepsState(plan, local), model.layout().hash());
        Function<Incarnation, ParameterExchange> servers = withServers(strategy, plan, sent, local);
        return train(plan, model, data, batches, BatchNumber.STEP, servers, local, member);
      }
      try (ReplicaCheckpoints checkpoints = checkpoints(traits, model)) {
        return session.isPresent()
            ? trainOnReceived(session.get(), traits, checkpoints, plan, model, data)
            : train(
                plan,
                model,
                data,
                batches,
                BatchNumber.VERSION,
                withPeers(traits, checkpoints, plan, vector(plan, model, data)),
                Optional.empty(),
                new GradientSender(
                    vertx,
                    job,
                    member,
                    finder,
                    model,
                    plan.partitions(),
                    batches,
                    apartReason(data)));
      }
    }
  }

  /** Trains on the gradients that a worker in another JVM computes. */
  private boolean trainOnReceived(
      MovedMember from,
      StrategyTraits traits,
      ReplicaCheckpoints checkpoints,
      TrainingPlan plan,
      Model model,
      Dataset data) {
    try (ReceivedGradients received =
        new ReceivedGradients(model, Engine.named(job.engine()), plan, data.size())) {
      received.open(vertx, from);
      return runLoop(
          model.layout(),
          new TrainingLoop(
              plan,
              member,
              received::source,
              withPeers(traits, checkpoints, plan, received),
              System::nanoTime));
    }
  }

  /** Returns why this worker must have its strategy in this JVM; empty if it need not. */
  private Optional<String> apartReason(Dataset data) {
    if (data instanceof StreamDataset) {
      return Optional.of("it reads a stream");
    }
    return balance.map(divided -> "workers.balance is \"speed\"");
  }

  private Optional<LocalSteps> localSteps(StrategyFactory strategy, Model model, Dataset data) {
    StrategyTraits traits = strategy.traits();
    if (traits.localSteps() > 0 && data instanceof StreamDataset) {
      throw job.settings()
          .section("data")
          .refuse(
              "name",
              "is %s, a stream, expected another kind of data set: workers of %s send once in several steps"
                  .formatted(job.data().name(), job.strategy().name()));
    }
    return traits.localSteps() == 0
        ? Optional.empty()
        : Optional.of(
            new LocalSteps(model, job, strategy, rank -> ownSamples(data, rank), data.size()));
  }

  private boolean train(
      TrainingPlan plan,
      Model model,
      Dataset data,
      BatchOpener batches,
      BatchNumber batchNumber,
      Function<Incarnation, ParameterExchange> exchanges,
      Optional<LocalSteps> local,
      JoinRequester requester) {
    Sources sources =
        data instanceof StreamDataset stream
            ? self -> streamGradients(model, stream, batchNumber, self)
            : new ModelSources(
                model, batches, batchNumber, member, System::nanoTime, local, balance);
    return runLoop(
        model.layout(), new TrainingLoop(plan, requester, sources, exchanges, System::nanoTime));
  }

  private GradientSource streamGradients(
      Model model, StreamDataset stream, BatchNumber batchNumber, Incarnation self) {
    int rank = self.identity().rank();
    Thread.currentThread().setName("worker %s of %s".formatted(rank, job.addresses().job()));
    return new StreamGradients(
        model,
        stream.classes(),
        self,
        step -> stream.open(request(rank, step)),
        step -> stream.recorded(request(rank, step)),
        batchNumber,
        System::nanoTime,
        member.timeline(),
        new EventPublisher(vertx, job.addresses())::publish);
  }

  private StreamDataset.Request request(int rank, long step) {
    CheckpointConfig checkpoint = job.checkpoint();
    return new StreamDataset.Request(
        "worker " + rank,
        rank,
        job.workers().count(),
        job.workers().batch(),
        step,
        job.dataLength(),
        checkpoint.isOn() || checkpoint.directory().isPresent()
            ? Optional.of(checkpoint.directoryOf(job.addresses().job(), member.run()))
            : Optional.empty(),
        vertx);
  }

  private ReplicaCheckpoints checkpoints(StrategyTraits traits, Model model) {
    return checkpoints(
        model.layout().hash(),
        WorkerAgreement.checkpointEvery(job, traits),
        WorkerAgreement.checkpointKeep(job, traits),
        traits.needsEveryRank());
  }

  /**
   * Creates this worker's checkpoints.
   *
   * @param layout hash of the layout of its vector
   * @param interval versions between two checkpoints; 0 if the coordinator names the versions
   * @param keep number of checkpoints to keep per rank
   * @param allRanks true if all ranks write the same versions; copies are held in memory then, too
   */
  protected final ReplicaCheckpoints checkpoints(
      long layout, long interval, int keep, boolean allRanks) {
    return new ReplicaCheckpoints(
        job,
        layout,
        interval,
        keep,
        allRanks,
        member.checkpointOwner(),
        member.gate()::saveAt,
        new EventPublisher(vertx, job.addresses())::publish,
        copies(allRanks, layout));
  }

  /** Returns copies of states in memory; empty if they are not wanted, or without a provider. */
  private Optional<StateCopies> copies(boolean wanted, long layout) {
    copies =
        ServiceLoader.load(StateCopies.Provider.class, loader)
            .findFirst()
            .filter(some -> wanted)
            .map(
                some ->
                    some.create(vertx, job, layout, member.clock(), () -> member.run().isEmpty()));
    return copies;
  }

  private VectorModel vector(TrainingPlan plan, Model model, Dataset data) {
    return new VectorModel(
        model, Engine.named(job.engine()), plan.clipNorm(), data.size(), plan.maxMagnitude());
  }

  private Function<Incarnation, ParameterExchange> withPeers(
      StrategyTraits traits,
      ReplicaCheckpoints checkpoints,
      TrainingPlan plan,
      VectorModel vector) {
    return self ->
        new StrategyExchange(
            environment(plan, "exchange", traits),
            self,
            vector.beginIncarnation(),
            new WorkerAgreement(job, traits, checkpoints, self, vector, member::choose),
            WorkerAgreement.saves(job, checkpoints, self),
            new SnapshotServer(
                plan.partitions(),
                self.identity().incarnation(),
                plan.type(),
                job.exchange().deadlineMillis(),
                member.clock(),
                partition -> OptionalInt.of(partition.first())));
  }

  private Function<Incarnation, ParameterExchange> withServers(
      StrategyFactory strategy, TrainingPlan plan, Model model, Optional<LocalSteps> local) {
    StrategyTraits traits = strategy.traits();
    PartitionClient client =
        PartitionClient.of(vertx, job.addresses(), limits(traits, plan), member.clock())
            .receivingAnswers();
    return self ->
        new ServerExchange(
            model,
            plan,
            client,
            self,
            member.timeline(),
            residuals(traits, plan, self, local),
            copies.filter(all -> self.identity().rank() < job.workers().count()),
            Addresses.hash(member.run()),
            local,
            strategy.takesNotFinite());
  }

  /** Kept if a replacement must produce the same bits and servers write checkpoints. */
  private Optional<ResidualFiles> residuals(
      StrategyTraits traits, TrainingPlan plan, Incarnation self, Optional<LocalSteps> local) {
    int rank = self.identity().rank();
    CheckpointConfig checkpoint = job.checkpoint();
    boolean isKept = keepsState(plan, local) && checkpoint.isOn() && rank < job.workers().count();
    // Servers that count on their own write their checkpoints at steps of their own.
    int moments = traits.lockstep() ? 1 : job.servers().count();
    return isKept
        ? Optional.of(
            new ResidualFiles(
                CheckpointFolder.of(
                    job, member.run(), moments * checkpoint.keep() + SPARE_RESIDUALS),
                rank,
                plan.job(),
                plan.partitions().layout()))
        : Optional.empty();
  }

  /** Returns whether a step starts with more than the servers' parameters. */
  private static boolean keepsState(TrainingPlan plan, Optional<LocalSteps> local) {
    return plan.leavesOut() || local.filter(LocalSteps::keepsState).isPresent();
  }

  /**
   * Returns what a strategy exchange needs.
   *
   * @param span name of its wait in timelines
   */
  protected final StrategyExchange.Environment environment(
      TrainingPlan plan, String span, StrategyTraits traits) {
    return new StrategyExchange.Environment(
        finder,
        member::stop,
        job,
        span,
        plan.lastVersion(),
        System::nanoTime,
        member.clock(),
        member.timeline(),
        EvaluationPlan.of(job, traits));
  }

  /**
   * If servers hold gradients back for a test, they do so per partition. A partition that has to be
   * applied before the test must not wait in a window behind held ones, so there is no window. Nor
   * is there one if the partitions of a round wait for each other.
   */
  private ExchangeConfig limits(StrategyTraits traits, TrainingPlan plan) {
    boolean held = traits.sumsPartitions() || job.evaluator().blocking() && !plan.lockstep();
    return held ? job.exchange().withoutWindow() : job.exchange();
  }

  /** Connects the loop to the coordinator and the progress reports, and runs it. */
  protected final boolean runLoop(ParameterLayout layout, TrainingLoop created) {
    member.serve(layout, created::membershipChanged, created);
    return created.run();
  }

  private BatchOpener batches(StrategyTraits traits, Model model, Dataset data) {
    if (job.workers().ownSamples()) {
      EventPublisher events = new EventPublisher(vertx, job.addresses());
      EvaluationPlan tests = EvaluationPlan.of(job, traits);
      own = Optional.of(new OwnSamples(job, data, model, tests, events, member::scalar));
      return own.get();
    }
    return (rank, first) -> {
      Thread.currentThread().setName("worker %s of %s".formatted(rank, job.addresses().job()));
      return batches(data, rank, job.workers().count(), first);
    };
  }

  /**
   * Opens the batches of one rank.
   *
   * @param first number of the first batch that the source returns
   */
  protected final BatchSource batches(Dataset data, int rank, int ranks, long first) {
    job.workers().requireBatch(data.size(), ranks);
    int size = balance.map(divided -> divided.shares().get(rank)).orElseGet(job.workers()::batch);
    return PrefetchingBatchSource.start(
        "worker " + rank,
        data,
        sampler(data, rank, ranks),
        BatchConfig.of(size, job.workers().dropLast(), job.seed() + rank),
        Augmentations.of(job.data(), data),
        first);
  }

  /** Returns the number of samples that one pass of a rank has. */
  private long ownSamples(Dataset data, int rank) {
    return own.map(each -> (long) each.size(rank))
        .orElseGet(() -> job.workers().share(data.size(), job.workers().count()));
  }

  private Sampler sampler(Dataset data, int rank, int ranks) {
    if (balance.isPresent()) {
      return new DividedSampler(
          data.size(), rank, job.seed(), balance.get().shares(), job.workers().dropLast());
    }
    return job.workers().sampler().equals("none")
        ? new ShuffledSampler(data.size(), rank, job.seed())
        : new DistributedSampler(data.size(), ranks, rank, job.seed());
  }
}
