package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Block;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.internal.exchange.PartitionRound;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.Partition;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;

/** The exchange of one step's gradient for the next parameters, with its counters. */
final class GradientRound implements PartitionRound {

  private final Replica replica;
  private final List<Partition> order;
  private final int epoch;
  private final long step;
  private final int samples;
  private final SpanRecorder track;
  private final BooleanSupplier stop;
  private int readyFrom;
  private boolean complete = true;
  private final Map<Partition, Long> offeredAt = new HashMap<>();
  private final TrafficCounters traffic = new TrafficCounters();
  private int staleness = -1;
  private long sentNanos;
  private Refusal refusal;

  /**
   * Creates a round that has not begun.
   *
   * @param order the partitions to send, in this order
   * @param epoch membership epoch of the requests
   * @param samples number of samples behind the gradient
   */
  GradientRound(
      Replica replica,
      List<Partition> order,
      int epoch,
      long step,
      int samples,
      SpanRecorder track,
      BooleanSupplier stop) {
    this.replica = replica;
    this.order = order;
    this.epoch = epoch;
    this.step = step;
    this.samples = samples;
    this.track = track;
    this.stop = stop;
  }

  /** What a round needs from its worker: identity, gradient, parameters and their versions. */
  record Replica(
      SenderIdentity identity,
      long layout,
      OutgoingGradient gradient,
      ModelPartitions parameters,
      PartitionVersions versions) {}

  @Override
  public List<Partition> order() {
    return order;
  }

  /** Marks the gradient as still being computed: no partition is ready yet. */
  void compute() {
    readyFrom = Integer.MAX_VALUE;
    complete = false;
  }

  /** Marks all trainable elements from {@code first} on as final. */
  void readyFrom(int first) {
    readyFrom = first;
  }

  /** Marks the whole gradient as final. */
  void computed() {
    complete = true;
  }

  @Override
  public boolean isReady(Partition partition) {
    return complete || partition.kind() == Block.Kind.TRAINABLE && partition.first() >= readyFrom;
  }

  /** Returns the partitions that have not been requested yet. */
  List<Partition> unsent() {
    return order.stream().filter(partition -> !offeredAt.containsKey(partition)).toList();
  }

  @Override
  public Frame request(Partition partition) {
    TensorView gradient = replica.gradient().partition(partition);
    traffic.sent(partition.shard(), gradient);
    return new GradientPartition(
        replica.identity().exchange(epoch, step, partition.index()),
        replica.layout(),
        offeredAt.computeIfAbsent(partition, replica.versions()::of),
        samples,
        partition.first(),
        gradient);
  }

  @Override
  public void allSent() {
    if (sentNanos == 0) {
      sentNanos = track.now();
    }
  }

  @Override
  public void answered(Partition partition, ParameterPartition answer) {
    traffic.received(partition.shard(), answer.parameters());
    replica.parameters().write(partition, answer.parameters());
    replica.versions().set(partition, answer.version());
    if (answer.outcome() == Outcome.APPLIED || answer.outcome() == Outcome.DUPLICATE) {
      replica.gradient().delivered(partition);
    }
    if (answer.outcome() == Outcome.APPLIED) {
      staleness = Math.max(staleness, answer.staleness());
    }
  }

  @Override
  public void takeBack(Frame request) {
    replica.gradient().takeBack(((GradientPartition) request).gradient());
  }

  @Override
  public void dropped(Partition partition, Refusal why) {
    refusal = why;
  }

  @Override
  public boolean abandoned() {
    return stop.getAsBoolean();
  }

  /** Records the time spent sending partitions and the time spent only waiting for answers. */
  void note(long begunNanos, long endedNanos) {
    long sent = sentNanos == 0 ? endedNanos : Math.max(begunNanos, sentNanos);
    track.span("send", begunNanos, sent, step);
    track.span("wait", sent, endedNanos, step);
  }

  /** Returns the number of training samples behind the gradient. */
  int samples() {
    return samples;
  }

  /** Returns the bytes of gradients to each shard, without retries, and of parameters from it. */
  TrafficCounters traffic() {
    return traffic;
  }

  /** Returns the largest staleness at which a partition was applied; empty if none was applied. */
  OptionalInt staleness() {
    return staleness < 0 ? OptionalInt.empty() : OptionalInt.of(staleness);
  }

  /** Returns why a server refused a partition as not finite, if one was refused. */
  Optional<Refusal> refusal() {
    return Optional.ofNullable(refusal);
  }
}
