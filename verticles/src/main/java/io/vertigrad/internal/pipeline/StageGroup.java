package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.peer.PeerFrames;
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
 * One incarnation of a stage among all members: a line to its neighbours, and one to its own
 * replicas and to everybody for agreements.
 *
 * <p>{@link #membershipChanged} and {@link #wake} may be called by any thread, the rest by the
 * stage's.
 */
final class StageGroup {

  private final PipelineConfig pipeline;
  private final SenderIdentity self;
  private final WorkerPeers line;
  private final WorkerPeers peers;
  private volatile PeerGroup group;
  private boolean complete;

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
    line = new WorkerPeers(vertx, job, plan, self, patience, track, stop, stages);
    peers =
        new WorkerPeers(vertx, job, plan, self, patience, track, stop, PeerFrames.ofStrategies());
  }

  Future<?> open() {
    return Future.all(line.open(), peers.open());
  }

  Future<?> close() {
    return Future.join(line.close(), peers.close());
  }

  /** The line goes first: it is adopted last, so that it never lags behind. */
  void membershipChanged(Membership now) {
    line.membershipChanged(now);
    peers.membershipChanged(now);
  }

  void wake() {
    line.wake();
    peers.wake();
  }

  /** True while there is a newer membership than the adopted one. */
  boolean changed() {
    return peers.regrouped();
  }

  /** Waits for news, at most some 50 ms. */
  void pause() {
    peers.pause();
  }

  /** Goes over to the newest membership; true when every stage is there. */
  boolean adopt() {
    group = peers.adopt();
    PeerGroup ofLine = line.adopt();
    complete = missing().isEmpty() && ofLine.epoch() == group.epoch();
    return complete;
  }

  /** True while every stage is there and no newer membership was heard of. */
  boolean ready() {
    return complete && peers.current() && line.current();
  }

  /** Everybody. */
  PeerGroup all() {
    return group;
  }

  /** The replicas of this stage. */
  PeerGroup replicas() {
    int stage = pipeline.stageOf(self.rank());
    List<Integer> ranks =
        group.ranks().stream().filter(rank -> pipeline.stageOf(rank) == stage).toList();
    return new PeerGroup(group.epoch(), ranks, self.rank());
  }

  /** Stages that nobody plays, for people; empty for none. */
  String missing() {
    return IntStream.range(0, pipeline.members())
        .filter(rank -> !group.ranks().contains(rank))
        .mapToObj(pipeline::name)
        .collect(Collectors.joining(", "));
  }

  /** The line to the stages before and after this one. */
  StageNeighbours neighbours(JobConfig job, LongSupplier nanoClock) {
    return new StageNeighbours(
        line,
        pipeline,
        self.rank(),
        job.exchange().type(),
        job.exchange().partitionElements(),
        nanoClock);
  }

  WorkerPeers peers() {
    return peers;
  }

  /** What went to and came from other stages and replicas so far. */
  TrafficCounters traffic() {
    TrafficCounters both = new TrafficCounters();
    both.add(line.traffic());
    both.add(peers.traffic());
    return both;
  }
}
