package io.vertigrad.benchmarks.exchange;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.worker.TrainingLoop;
import io.vertigrad.internal.worker.TrainingPlan;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Optional;

/** Runs Vertigrad's training loop and exchange around a synthetic model; belongs to one thread. */
final class BusWorker {

  private final ExchangeCase exchange;
  private final SyntheticModel model;
  private final TrainingLoop loop;

  BusWorker(
      Vertx vertx, ExchangeCase exchange, SyntheticModel model, Membership membership, int rank) {
    this.exchange = exchange;
    this.model = model;
    JobConfig job = exchange.job();
    PartitionPlan partitions = exchange.plan();
    StrategyFactory strategy =
        StrategyProviders.configure(job.strategy(), BusWorker.class.getClassLoader());
    PartitionClient bus =
        PartitionClient.of(vertx, job.addresses(), job.exchange(), System::nanoTime)
            .receivingAnswers();
    bus.membershipChanged(membership);
    loop =
        TrainingLoop.withServers(
            model,
            TrainingPlan.of(job, strategy, partitions, 1),
            bus,
            () -> Optional.of(membership.worker(rank).orElseThrow()),
            (of, first) -> new OneBatch(),
            System::nanoTime);
  }

  RoundTimes work() {
    if (!loop.run()) {
      throw new IllegalStateException("the training loop stopped before its last version");
    }
    return new RoundTimes(model.gradientNanos()).after(exchange.warmRounds());
  }

  /** Returns the same single sample every time. */
  private static final class OneBatch implements BatchSource {

    private final Batch batch = new Batch(new float[1], new int[1], List.of(1), 0);

    @Override
    public Batch next() {
      return batch;
    }

    @Override
    public void close() {}
  }
}
