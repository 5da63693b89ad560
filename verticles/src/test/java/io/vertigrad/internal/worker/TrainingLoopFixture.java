package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.fixture.ConstantBatches;
import io.vertigrad.fixture.FakeShard;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.worker.TrainingLoop.JoinRequester;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.QuadraticModel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/** A training loop of worker 1 with a quadratic model, a fake shard and a manual clock. */
final class TrainingLoopFixture {

  static final int TRAINABLE = 6;
  static final int STATISTICS = 2;
  static final float RATE = 0.25f;
  static final float TARGET = 8;
  static final long JOB = 77;

  final PartitionPlan partitions =
      PartitionPlan.of(QuadraticModel.layout(TRAINABLE, STATISTICS), 4, 1);
  final FakeShard shard = new FakeShard(partitions, TRAINABLE + STATISTICS, RATE);
  final QuadraticModel model = new QuadraticModel(TRAINABLE, STATISTICS);
  final ConstantBatches batches = new ConstantBatches(TRAINABLE, TARGET);
  final List<Member> joined = new ArrayList<>();
  final AtomicLong clock = new AtomicLong();

  Optional<Member> join() {
    Member member = new Member(1, joined.size(), 0);
    joined.add(member);
    return Optional.of(member);
  }

  TrainingPlan plan(long lastVersion, double clipNorm, boolean lockstep) {
    return TrainingPlans.of(
        JOB, partitions, DataType.FLOAT32, Compression.NONE, clipNorm, lastVersion, lockstep);
  }

  TrainingLoop loop(TrainingPlan plan, JoinRequester requester) {
    return loop(plan, requester, served -> {});
  }

  TrainingLoop loop(TrainingPlan plan, JoinRequester requester, IntConsumer onBatch) {
    return TrainingLoop.withServers(
        model, plan, shard.client(), requester, (rank, first) -> watched(onBatch), clock::get);
  }

  private BatchSource watched(IntConsumer onBatch) {
    return new BatchSource() {
      @Override
      public Batch next() {
        Batch batch = batches.next();
        onBatch.accept(batches.served);
        return batch;
      }

      @Override
      public void close() {
        batches.close();
      }
    };
  }

  static Refusal refusal(Frame frame, Reason reason) {
    return new Refusal(((GradientPartition) frame).id(), reason, "element 0 is NaN");
  }
}
