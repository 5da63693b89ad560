package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.peer.WorkerPeers;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerGroup;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * One incarnation of a stage among all members, with a connection to its neighbours.
 *
 * <p>Any thread may call {@link #membershipChanged} and {@link #wake}. The strategy's thread calls
 * {@link #adopt} while the stage waits; the stage's thread calls the rest.
 */
final class StageGroup {

  private final PipelineConfig pipeline;
  private final SenderIdentity self;
  private final WorkerPeers peers;
  private PeerGroup group;
  private volatile boolean complete;

  StageGroup(
      Vertx vertx,
      JobConfig job,
      long plan,
      SenderIdentity self,
      LongSupplier patience,
      SpanRecorder track,
      BooleanSupplier stop) {
    this.pipeline = job.pipeline().orElseThrow();
    this.self = self;
    StageFrames stages = new StageFrames(pipeline, job.exchange().partitionElements());
    peers = new WorkerPeers(vertx, job, plan, self, patience, track, stop, stages);
  }

  Future<?> open() {
    return peers.open();
  }

  Future<?> close() {
    return peers.close();
  }

  void membershipChanged(Membership now) {
    peers.membershipChanged(now);
  }

  void wake() {
    peers.wake();
  }

  /**
   * Adopts a membership that the strategy has adopted; returns true when every stage is present.
   */
  boolean adopt(PeerGroup all) {
    complete = false;
    group = all;
    PeerGroup ofLine = peers.adopt();
    complete = missing().isEmpty() && ofLine.epoch() == group.epoch();
    return complete;
  }

  /** Returns true while every stage is present and no newer membership has arrived. */
  boolean isComplete() {
    return complete && peers.current();
  }

  /** Returns the replicas of this stage. */
  PeerGroup replicas() {
    int stage = pipeline.stageOf(self.rank());
    List<Integer> ranks =
        group.ranks().stream().filter(rank -> pipeline.stageOf(rank) == stage).toList();
    return new PeerGroup(group.epoch(), ranks, self.rank());
  }

  /**
   * Returns the names of the stages without a member, for log messages; empty if there are none.
   */
  String missing() {
    return IntStream.range(0, pipeline.members())
        .filter(rank -> !group.ranks().contains(rank))
        .mapToObj(pipeline::name)
        .collect(Collectors.joining(", "));
  }

  /** Returns the connection to the stages before and after this one. */
  StageNeighbours neighbours(JobConfig job, LongSupplier nanoClock) {
    return new StageNeighbours(
        peers,
        pipeline,
        self.rank(),
        job.exchange().type(),
        job.exchange().partitionElements(),
        nanoClock);
  }

  /** Returns the counters of traffic with other stages. */
  TrafficCounters traffic() {
    return peers.traffic();
  }
}
