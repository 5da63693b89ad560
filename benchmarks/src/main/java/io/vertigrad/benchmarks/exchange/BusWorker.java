package io.vertigrad.benchmarks.exchange;

import io.vertigrad.verticles.exchange.BusExchange;
import io.vertigrad.verticles.exchange.Identity;
import io.vertigrad.verticles.exchange.ModelPartitions;
import io.vertigrad.verticles.exchange.PartitionExchange.Ending;
import io.vertigrad.verticles.exchange.PartitionVersions;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.job.PartitionPlan;
import io.vertx.core.Vertx;

/** A worker with the product's exchange and a synthetic model; belongs to one thread. */
final class BusWorker {

  private final ExchangeCase exchange;
  private final PartitionPlan plan;
  private final BusExchange bus;
  private final ModelPartitions model;
  private final PartitionVersions versions;
  private final Identity identity;
  private long step;

  BusWorker(Vertx vertx, ExchangeCase exchange, int rank) {
    this.exchange = exchange;
    JobConfig job = exchange.job();
    plan = exchange.plan();
    bus =
        new BusExchange(
            vertx.eventBus(), job.addresses(), job.exchange(), plan.partitions().size());
    bus.membershipChanged(BusNode.membership(exchange));
    model =
        new ModelPartitions(new SyntheticModel(exchange.parameters()), job.exchange().type());
    versions = new PartitionVersions(plan);
    identity = new Identity(job.addresses().jobHash(), rank, 0);
  }

  RoundTimes work() {
    for (int round = 0; round < exchange.warmRounds(); round++) {
      round();
    }
    long[] nanos = new long[exchange.rounds() + 1];
    nanos[0] = System.nanoTime();
    for (int round = 1; round <= exchange.rounds(); round++) {
      round();
      nanos[round] = System.nanoTime();
    }
    return new RoundTimes(nanos);
  }

  private void round() {
    SyntheticRound round =
        new SyntheticRound(plan, model, versions, identity, bus.epoch(), step++);
    Ending ending = bus.run(round);
    if (ending != Ending.COMPLETE) {
      throw new IllegalStateException("step %d ended %s, expected COMPLETE".formatted(step, ending));
    }
  }
}
