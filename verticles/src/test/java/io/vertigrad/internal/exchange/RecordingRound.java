package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.exchange.PartitionClient.Round;
import io.vertigrad.job.Partition;
import java.util.ArrayList;
import java.util.List;

/** Sends the gradient {@code 0, 1, 2, ...} and records the answers. */
final class RecordingRound implements Round {

  final List<ParameterPartition> answers = new ArrayList<>();
  final List<Integer> dropped = new ArrayList<>();
  final List<Frame> takenBack = new ArrayList<>();
  volatile boolean abandoned;

  Outcome outcomeOf(int partition) {
    return answers.stream()
        .filter(answer -> answer.id().partition() == partition)
        .findFirst()
        .orElseThrow()
        .outcome();
  }

  @Override
  public List<Partition> order() {
    return BusFixture.PLAN.partitions();
  }

  @Override
  public Frame request(Partition partition) {
    float[] gradient = new float[partition.length()];
    for (int i = 0; i < gradient.length; i++) {
      gradient[i] = partition.first() + i;
    }
    ExchangeId id = new ExchangeId(BusFixture.ADDRESSES.jobHash(), 1, 4, 1, 7, partition.index());
    return new GradientPartition(
        id, BusFixture.PLAN.layout(), 0, 2, partition.first(), Tensor.ofFloats(gradient));
  }

  @Override
  public void answered(Partition partition, ParameterPartition answer) {
    answers.add(answer);
  }

  @Override
  public void reclaim(Frame request, boolean unread) {
    if (unread) {
      takenBack.add(request);
    }
  }

  @Override
  public void onNotFinite(Partition partition, Refusal why) {
    dropped.add(partition.index());
  }

  @Override
  public boolean isAbandoned() {
    return abandoned;
  }
}
