package io.vertigrad.benchmarks.exchange;

import io.vertigrad.codecs.Frame;
import io.vertigrad.compute.Engine;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.ParameterStore.ParameterSource;
import io.vertigrad.internal.shard.ParameterStore.StoreConfig;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardConfig;
import io.vertigrad.internal.shard.UpdateOutcomes;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import java.nio.FloatBuffer;

/** Vertigrad's only shard of a synthetic model, in the endpoint of a strategy verticle. */
public final class ShardServer implements FrameEndpoint {

  private static final long TICK_MILLIS = 100;
  private static final long TRAINING_SAMPLES = 60_000;

  private final Shard shard;

  private ShardServer(Shard shard) {
    this.shard = shard;
  }

  /** Returns a verticle that serves the whole job with this membership. */
  static VerticleBase verticle(ExchangeCase exchange, Membership membership) {
    Shard shard = shard(exchange);
    shard.membershipChanged(membership);
    return new VerticleBase() {
      @Override
      public Future<?> start() {
        String address = exchange.job().addresses().shard(0, 0);
        FrameEndpoint endpoint = new ShardServer(shard);
        vertx.setPeriodic(TICK_MILLIS, id -> endpoint.tick(System.nanoTime()));
        return Transport.borrow(vertx, address, endpoint::handle);
      }
    };
  }

  /** Returns the shard alone, without members. */
  public static Shard shard(ExchangeCase exchange) {
    JobConfig job = exchange.job();
    StrategyFactory strategy =
        StrategyProviders.configure(job.strategy(), ShardServer.class.getClassLoader());
    StoreConfig store =
        new StoreConfig(
            exchange.plan(),
            0,
            job.optimizer(),
            Engine.named(job.engine()),
            TRAINING_SAMPLES,
            job.exchange().type());
    return new Shard(
        new ShardConfig(
            job.addresses().jobHash(),
            job.strategy().name(),
            0,
            0,
            strategy.traits().lastVersion(job.steps(), exchange.workers()),
            job.exchange().deadlineMillis(),
            Float.MAX_VALUE),
        new ParameterStore(store, zeros(exchange.parameters())),
        strategy,
        System::nanoTime,
        new UpdateOutcomes(0, System::nanoTime, event -> {}),
        () -> new PartitionLedger(0));
  }

  @Override
  public Future<Frame> handle(Frame frame) {
    return shard.handle(frame);
  }

  @Override
  public void tick(long nowNanos) {
    shard.tick(nowNanos);
  }

  @Override
  public void close(String why) {
    shard.close(why);
  }

  private static ParameterSource zeros(int length) {
    return ParameterSource.of(FloatBuffer.allocate(length));
  }
}
