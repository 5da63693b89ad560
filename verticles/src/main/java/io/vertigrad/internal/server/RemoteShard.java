package io.vertigrad.internal.server;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.host.StrategyService.RemoteMember;
import io.vertigrad.internal.host.StrategyThread;
import io.vertigrad.internal.server.RuleSession.RulePartition;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Answers;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Runs the rules of a shard that is in another JVM, on its own thread: the other end of a {@link
 * RemoteStrategy}. It holds gradients of open rounds and no parameters. A rule's step goes to the
 * shard as one gradient, and answers leave once the shard has taken it.
 */
public final class RemoteShard implements RemoteMember {

  private static final Tensor EMPTY = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.allocate(0));

  private final Vertx vertx;
  private final JobConfig job;
  private final StrategyFactory strategy;
  private final StrategyThread thread;
  private final SortedMap<Integer, RemotePartition> partitions = new TreeMap<>();
  private RuleSession session;
  private Membership membership = Membership.NONE;
  private volatile long now;
  private volatile boolean closed;

  public RemoteShard(Vertx vertx, JobConfig job, StrategyFactory strategy) {
    this.vertx = vertx;
    this.job = job;
    this.strategy = strategy;
    this.thread = new StrategyThread("strategy of a shard of " + job.addresses().job());
  }

  /**
   * Refuses strategies that must run beside their server. A rule that steps with each gradient, or
   * without some of them, would have to report which gradients are in a step.
   */
  static void requireRounds(JobConfig job, StrategyTraits traits) {
    if (!traits.needsEveryRank()) {
      throw new IllegalStateException(
          ("%s: strategy \"%s\" %s, expected one whose rounds have a gradient of every worker: only"
                  + " those work in another JVM than their server; leave its strategy verticle out")
              .formatted(
                  job.origin(),
                  job.strategy().name(),
                  traits.lockstep() ? "has a quorum" : "steps with each gradient"));
    }
  }

  @Override
  public Future<Void> open(JsonObject request) {
    return thread.call(
        () -> {
          requireRounds(job, strategy.traits());
          closeSession("another session has begun");
          openSession(request);
          return Future.succeededFuture();
        });
  }

  private void openSession(JsonObject request) {
    session = RuleSession.read(request);
    now = session.now();
    membership = session.membership();
    session.partitions().stream()
        .map(RemotePartition::new)
        .forEach(part -> partitions.put(part.partition.index(), part));
  }

  @Override
  public Future<JsonObject> call(String name, JsonObject request) {
    return thread.call(
        () -> {
          if (name.equals("membership")) {
            membership = Membership.fromJson(request.getJsonObject("membership"));
            partitions.values().forEach(part -> part.rule.membershipChanged(membership));
          } else {
            now = request.getLong("now");
            partitions.values().forEach(part -> part.rule.tick(now));
          }
          return Future.succeededFuture(new JsonObject());
        });
  }

  @Override
  public Future<Frame> handle(Frame frame) {
    if (!(frame instanceof GradientPartition lent)) {
      return frame instanceof Malformed
          ? Future.succeededFuture(frame)
          : Future.failedFuture("expected a gradient, found " + frame);
    }
    GradientPartition update = lent.retain();
    return thread.call(
        () -> {
          RemotePartition part = partitions.get(update.id().partition());
          return part == null
              ? Future.failedFuture("no partition " + update.id().partition())
              : part.exchange(update);
        });
  }

  @Override
  public Future<?> close(String reason) {
    Future<Void> ended =
        thread.call(
            () -> {
              closeSession(reason);
              return Future.succeededFuture();
            });
    closed = true;
    thread.end();
    return ended;
  }

  private void closeSession(String reason) {
    partitions.values().forEach(part -> part.rule.close(reason));
    partitions.clear();
  }

  /** One partition: its rule, and the version that the shard has or is about to have. */
  private final class RemotePartition implements PartitionStore {

    private final Partition partition;
    private final ServerStrategy rule;
    private final Transport transport = Transport.of(vertx, job.exchange());
    private final boolean restored;
    private final RuleSession opened = session;
    private long version;
    private Future<Frame> stored = Future.succeededFuture();

    RemotePartition(RulePartition of) {
      partition = of.partition();
      restored = of.restored();
      version = of.version();
      rule =
          strategy.create(
              new ServerStrategyContext(
                  partition,
                  this,
                  new Answers(opened.layout(), opened.incarnation(), partition, this),
                  membership,
                  opened.ranks(),
                  opened.lastVersion(),
                  () -> now));
    }

    /**
     * Passes a gradient to the rule; the answer leaves once the shard has taken the rule's steps.
     */
    Future<Frame> exchange(GradientPartition update) {
      return rule.exchange(update).compose(answer -> stored.map(answer));
    }

    @Override
    public int length() {
      return partition.length();
    }

    @Override
    public long version() {
      return version;
    }

    /** Fails if a version is skipped: rounds of every rank never are. */
    @Override
    public void skipTo(long newVersion) {
      if (newVersion != version) {
        throw new IllegalStateException(
            "partition %d: strategy \"%s\" goes from version %d to %d without a step, which it can"
                    .formatted(partition.index(), job.strategy().name(), version, newVersion)
                + " only beside its server");
      }
    }

    @Override
    public boolean isRestored() {
      return restored;
    }

    @Override
    public void apply(float[] gradient, float scale, long samples) {
      if (scale != 1f) {
        for (int i = 0; i < gradient.length; i++) {
          gradient[i] *= scale;
        }
      }
      GradientPartition step =
          new GradientPartition(
              id(),
              opened.layout(),
              version,
              Math.toIntExact(samples),
              partition.first(),
              Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(gradient, 0, length())));
      stored = stored.compose(before -> send(step));
      version++;
    }

    private ExchangeId id() {
      return new ExchangeId(
          job.addresses().jobHash(),
          partition.shard(),
          opened.incarnation(),
          membership.epoch(),
          version,
          partition.index());
    }

    private Future<Frame> send(Frame frame) {
      return transport
          .request(opened.rounds(), frame, job.exchange().deadlineMillis())
          .compose(
              answer -> {
                if (answer instanceof Malformed) {
                  return send(frame);
                }
                return answer instanceof Refusal refusal
                    ? Future.<Frame>failedFuture(refusal.message())
                    : Future.succeededFuture(answer);
              });
    }

    /** Pulls the parameters from the shard and blocks until they arrive. */
    @Override
    public Tensor parameters() {
      PullRequest pull = new PullRequest(id(), opened.layout(), 0);
      Frame answer =
          FutureAwait.await(stored.compose(before -> send(pull)), () -> closed)
              .orElseThrow(() -> new ExchangeException("this strategy verticle is stopping"));
      return ((ParameterPartition) answer).parameters().retain();
    }

    /** Returns an empty tensor: the shard puts its parameters into the answer. */
    @Override
    public TensorView lend() {
      return EMPTY;
    }
  }
}
