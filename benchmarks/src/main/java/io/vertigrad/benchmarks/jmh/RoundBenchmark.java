package io.vertigrad.benchmarks.jmh;

import io.vertigrad.benchmarks.exchange.ExchangeCase;
import io.vertigrad.benchmarks.exchange.ShardServer;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
import java.util.List;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Measures one synchronous round of two workers through a shard: check, sum, step, new tensor.
 *
 * <p>The model has as many partitions as a large model has at least; the rounds use the first one.
 */
@State(Scope.Thread)
public class RoundBenchmark {

  private static final int WORKERS = 2;
  private static final int PARTITIONS = 8;
  private static final int ENDLESS = Integer.MAX_VALUE - 1;

  private final ExchangeCase exchange =
      new ExchangeCase("jmh", "sync", PARTITIONS * FullFrame.ELEMENTS, WORKERS, ENDLESS, 0);
  private final List<Member> workers = List.of(new Member(0, 0, 0), new Member(1, 0, 0));
  private Shard shard;
  private TensorView gradient;
  private long job;
  private long layout;
  private long step;

  @Setup
  public void prepare() {
    shard = ShardServer.shard(exchange);
    shard.membershipChanged(new Membership(1, workers, List.of(new Member(0, 0, 0))));
    gradient = FullFrame.tensor(DataType.FLOAT32, 1);
    job = exchange.job().addresses().jobHash();
    layout = exchange.plan().layout();
  }

  /**
   * Runs a round and gives both answers back, as a server does once they are sent; the GB/s count
   * the gradients of both workers.
   *
   * @return the version after the round
   */
  @Benchmark
  @OperationsPerInvocation(WORKERS)
  public long syncRound() {
    Future<Frame> first = shard.handle(update(0));
    long version = versionOf(shard.handle(update(1)).result());
    versionOf(first.result());
    step++;
    return version;
  }

  private static long versionOf(Frame answer) {
    if (answer instanceof ParameterPartition next && next.outcome() == Outcome.APPLIED) {
      SharedTensor.giveBack(next.parameters());
      return next.version();
    }
    throw new IllegalStateException("expected an applied round, found " + answer);
  }

  private GradientPartition update(int worker) {
    ExchangeId id = new ExchangeId(job, worker, 0, 1, step, 0);
    // A new tensor, because one that was checked remembers that it is finite.
    TensorView unseen = Tensor.wrap(DataType.FLOAT32, gradient.bytes());
    return new GradientPartition(id, layout, step, 128, 0, unseen);
  }
}
