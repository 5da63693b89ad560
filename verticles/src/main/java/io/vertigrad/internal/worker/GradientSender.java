package io.vertigrad.internal.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.compute.Model;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.host.StrategyFinder;
import io.vertigrad.internal.host.StrategyLink;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.internal.worker.BatchGradients.BatchNumber;
import io.vertigrad.internal.worker.BatchGradients.BatchOpener;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Computes the gradients of a worker that runs beside its strategy in another JVM, where they are
 * {@link ReceivedGradients}. To the training loop of this JVM it is a way to join: it returns a
 * member only where the strategy is in this JVM.
 *
 * <p>Belongs to the thread that owns the model.
 */
final class GradientSender implements TrainingLoop.JoinRequester {

  private static final RecordJson JSON = RecordJson.strict((part, key, value) -> false);
  private static final Logger LOG = LoggerFactory.getLogger(GradientSender.class);

  private final Vertx vertx;
  private final JobConfig job;
  private final WorkerMember member;
  private final StrategyFinder finder;
  private final Model model;
  private final PartitionPlan plan;
  private final BatchOpener data;
  private final Optional<String> beside;

  /**
   * Creates a way to join.
   *
   * @param data opens the batches of a rank
   * @param beside why the worker must have its strategy in this JVM; empty if it need not
   */
  GradientSender(
      Vertx vertx,
      JobConfig job,
      WorkerMember member,
      StrategyFinder finder,
      Model model,
      PartitionPlan plan,
      BatchOpener data,
      Optional<String> beside) {
    this.vertx = vertx;
    this.job = job;
    this.member = member;
    this.finder = finder;
    this.model = model;
    this.plan = plan;
    this.data = data;
    this.beside = beside;
  }

  @Override
  public StepGate gate() {
    return member.gate();
  }

  @Override
  public void epochTrained(EpochTrained epoch) {
    member.epochTrained(epoch);
  }

  @Override
  public SpanRecorder timeline() {
    return member.timeline();
  }

  @Override
  public Optional<Membership.Member> join() {
    Optional<Membership.Member> admitted = member.join();
    while (admitted.isPresent()) {
      int rank = admitted.get().rank();
      Optional<StrategyLink> apart =
          FutureAwait.await(finder.elsewhere(rank), member::isStopping).flatMap(link -> link);
      if (apart.isEmpty()) {
        return admitted;
      }
      if (beside.isPresent()) {
        throw finder.refusal(rank, apart.get(), beside.get());
      }
      admitted = compute(apart.get()) ? member.join() : Optional.empty();
    }
    return admitted;
  }

  /** Computes gradients until the session ends. Returns true if the worker begins anew. */
  private boolean compute(StrategyLink link) {
    Future<Void> serves = link.open(member::transferAdmission, member::isStopping);
    Session session = new Session(link);
    try {
      FutureAwait.await(serves.otherwiseEmpty(), member::isStopping);
      while (!session.isAbandoned()) {
        session.step();
      }
    } catch (RuntimeException failure) {
      // Before the member at the strategy leaves as stopped.
      LeaveReason failed = LeaveReason.of(member.name(), failure);
      FutureAwait.await(member.leave(failed).otherwiseEmpty(), member::isStopping);
      throw failure;
    } finally {
      session.close();
    }
    StrategyLink.End end = link.ended().result();
    if (end.lost() || member.isStopping()) {
      return end.lost();
    }
    if (serves.failed()) {
      throw new ExchangeException(serves.cause().getMessage(), serves.cause());
    }
    member.transferredHasLeft();
    LOG.info("{} has ended at {}: {}", member.name(), link.address(), end.reason());
    return false;
  }

  static Computed read(JsonObject facts) {
    JsonObject computed = facts.getJsonObject("computed");
    computed.put("loss", Double.parseDouble(computed.getString("loss")));
    return JSON.read(Computed.class, computed, "facts about a gradient");
  }

  /** Writes the loss as text, because it may not be finite. */
  static JsonObject write(long turn, Computed computed) {
    JsonObject facts = JSON.write(computed).put("loss", Double.toString(computed.loss()));
    return new JsonObject().put("turn", turn).put("computed", facts);
  }

  /** The turns of one session: parameters in, gradient out. */
  private final class Session implements PartitionClient.Round {

    private final StrategyLink link;
    private final PartitionClient client;
    private final ModelPartitions partitions = new ModelPartitions(model, DataType.FLOAT32);
    private final TensorMemory memory = new TensorMemory();
    private final BatchesOfRank batches = new BatchesOfRank(data);
    private int rank;
    private final GradientSource source =
        new BatchGradients(
            model,
            step -> batches.batch(rank, step),
            batches::peek,
            BatchNumber.VERSION,
            System::nanoTime,
            member.timeline(),
            version -> {});
    private Optional<Computed> computed = Optional.empty();
    private long turn;
    private long version;
    private long answeredTurn;
    private boolean mixed;

    Session(StrategyLink link) {
      this.link = link;
      // A turn is answered when all of it has arrived, so there is no window. It takes as long as
      // the strategy waits for others, which has limits of its own.
      client =
          new PartitionClient(
                  Transport.of(vertx, job.exchange()),
                  (shard, incarnation) -> link.frames(),
                  job.exchange().withoutWindow(),
                  () -> 0)
              .receivingAnswers();
      client.membershipChanged(
          new Membership(
              1,
              List.of(),
              IntStream.range(0, job.servers().count())
                  .mapToObj(shard -> new Membership.Member(shard, 0, 0))
                  .toList()));
    }

    /** Sends a gradient and takes the next parameters, or takes parameters to begin with. */
    void step() {
      if (turn > 0) {
        member.computing(version);
        computed = Optional.of(computed());
        link.computed(write(turn, computed.get()));
      }
      mixed = false;
      answeredTurn = 0;
      boolean complete = client.run(this) == PartitionClient.Ending.COMPLETE;
      turn = complete && !mixed ? answeredTurn : 0;
    }

    private Computed computed() {
      try {
        return source.compute(version, version, Optional.empty());
      } catch (RuntimeException | Error thrown) {
        throw JobModel.failure(job.model().name(), "step " + version, thrown);
      }
    }

    @Override
    public List<Partition> order() {
      return plan.partitions();
    }

    @Override
    public Frame request(Partition part) {
      SenderIdentity self = new SenderIdentity(job.addresses().jobHash(), rank, 0);
      return turn == 0
          ? new PullRequest(self.exchange(0, 0, part.index()), plan.layout(), 0)
          : new GradientPartition(
              self.exchange(0, turn, part.index()),
              plan.layout(),
              version,
              computed.get().samples(),
              part.first(),
              partitions.gradient(part, memory));
    }

    /** If the worker gives up a turn meanwhile, some partitions are answered for the next one. */
    @Override
    public void answered(Partition part, ParameterPartition answer) {
      partitions.write(part, answer.parameters());
      mixed |= answeredTurn != 0 && answeredTurn != answer.id().step();
      answeredTurn = answer.id().step();
      version = answer.version();
      rank = answer.id().worker();
    }

    @Override
    public void reclaim(Frame request, boolean unread) {
      if (request instanceof GradientPartition sent && unread) {
        memory.giveBack(sent.gradient());
      } else if (request instanceof GradientPartition sent) {
        TensorMemory.leave(sent.gradient());
      }
    }

    @Override
    public boolean isAbandoned() {
      return member.isStopping() || link.ended().isComplete();
    }

    void close() {
      FutureAwait.await(link.close(), () -> false);
      client.close();
      batches.close();
    }
  }
}
