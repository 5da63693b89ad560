package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Refusal;
import io.vertigrad.compute.Model;
import io.vertigrad.internal.checkpoint.ResidualFiles;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.PartitionExchange;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.internal.exchange.PullRound;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The exchange with the shards of parameter servers, partition by partition. */
final class ServerExchange implements ParameterExchange {

  private static final Logger LOG = LoggerFactory.getLogger(ServerExchange.class);

  private final TrainingPlan plan;
  private final PartitionExchange exchange;
  private final Incarnation self;
  private final SpanRecorder track;
  private final ModelPartitions parameters;
  private final PartitionVersions versions;
  private final GradientRound.Replica replica;
  private final Optional<ResidualFiles> residuals;
  private final TrafficCounters traffic = new TrafficCounters();
  private final int elements;
  private long next;
  private boolean pulled;
  private boolean unkept;
  private Optional<OverlappedRound> overlapped = Optional.empty();

  /**
   * Creates an exchange that has not pulled anything yet.
   *
   * @param exchange sends partitions to the servers
   */
  ServerExchange(
      Model model,
      TrainingPlan plan,
      PartitionExchange exchange,
      Incarnation self,
      SpanRecorder track) {
    this(model, plan, exchange, self, track, Optional.empty());
  }

  /**
   * Creates an exchange whose residual a replacement of this worker can continue with.
   *
   * @param residuals files that hold the residual; closed with the exchange
   */
  ServerExchange(
      Model model,
      TrainingPlan plan,
      PartitionExchange exchange,
      Incarnation self,
      SpanRecorder track,
      Optional<ResidualFiles> residuals) {
    this.residuals = residuals;
    this.elements = model.layout().trainable();
    this.plan = plan;
    this.exchange = exchange;
    this.self = self;
    this.track = track;
    this.parameters = new ModelPartitions(model, plan.type());
    this.versions = new PartitionVersions(plan.partitions());
    this.replica =
        new GradientRound.Replica(
            self.identity(),
            plan.partitions().layout(),
            new OutgoingGradient(model, parameters, plan),
            parameters,
            versions);
  }

  @Override
  public void membershipChanged(Membership now) {
    exchange.membershipChanged(now);
  }

  @Override
  public void wake() {
    exchange.wake();
  }

  @Override
  public boolean changed() {
    return !pulled;
  }

  @Override
  public void open() {
    if (residuals.isEmpty()) {
      forget();
    } else if (self.firstVersion() > 0) {
      replica.gradient().owes(owed(residuals.get(), self.firstVersion()));
    }
  }

  private void forget() {
    if (plan.compression().isOn() && self.firstVersion() > 0) {
      LOG.warn(
          "worker {}: what compression left out before version {} is lost, its next gradient goes"
              + " without: it is kept only where checkpoints are on and every round waits for every"
              + " worker",
          self.identity().rank(),
          self.firstVersion());
    }
  }

  private float[] owed(ResidualFiles files, long version) {
    String why = "it is not in the checkpoints' folder of this machine";
    try {
      Optional<float[]> found = files.read(version, elements);
      if (found.isPresent()) {
        return found.get();
      }
    } catch (IOException e) {
      why = e.toString();
    }
    LOG.warn(
        "worker {}: what compression left out before version {} is lost, its next gradient goes"
            + " without: {}",
        self.identity().rank(),
        version,
        why);
    return new float[0];
  }

  /** Keeps the residual before the gradient is sent, so that a replacement always finds it. */
  private void keep(ResidualFiles files, long version) {
    try {
      files.write(version + 1, replica.gradient().owedAfter());
    } catch (IOException e) {
      if (!unkept) {
        unkept = true;
        LOG.warn(
            "worker {}: what compression leaves out cannot be kept for a replacement: {}",
            self.identity().rank(),
            e.toString());
      }
    }
  }

  @Override
  public void close() {
    letGo();
    try {
      if (residuals.isPresent()) {
        residuals.get().close();
      }
    } catch (IOException e) {
      LOG.warn("worker {}: {}", self.identity().rank(), e.toString());
    }
  }

  /** Pulls all partitions; in lockstep those of the first round that this worker takes part in. */
  @Override
  public Ending fetch() {
    Ending ending =
        ending(
            exchange.run(
                new PullRound(
                    plan.partitions(),
                    parameters,
                    versions,
                    self.identity(),
                    exchange.epoch(),
                    next,
                    self.firstVersion(),
                    self.stop())));
    pulled = ending == Ending.COMPLETE;
    return ending;
  }

  @Override
  public boolean ready() {
    return pulled;
  }

  /** Returns the version that all partitions have reached; in lockstep it is the next round. */
  @Override
  public long version() {
    return versions.lowest();
  }

  @Override
  public long newest() {
    return versions.highest();
  }

  @Override
  public Optional<Overlap> overlap(long step) {
    letGo();
    if (plan.overlap()) {
      overlapped =
          Optional.of(
              new OverlappedRound(
                  replica.gradient(),
                  exchange,
                  samples -> round(versions.oldestFirst(), step, samples)));
    }
    return overlapped.map(Overlap.class::cast);
  }

  /** Ends a round that was begun for a gradient that was never completed. */
  private void letGo() {
    overlapped.ifPresent(OverlappedRound::close);
    overlapped = Optional.empty();
  }

  private GradientRound round(List<Partition> order, long step, int samples) {
    return new GradientRound(replica, order, exchange.epoch(), step, samples, track, self.stop());
  }

  /**
   * Exchanges a gradient for the next parameters. A gradient that is not finite everywhere is not
   * applied anywhere: only its first broken partition is sent, and the server refuses and counts
   * it. In lockstep the round stays open for the next batch. Otherwise the other workers have moved
   * on meanwhile, and this worker pulls to catch up.
   *
   * <p>With overlap, partitions that were sent while the gradient was computed are applied. The
   * rest is sent as zeros, so that the round does not stay open for some partitions only.
   */
  @Override
  public Step exchange(Computed gradient, long step) {
    if (overlapped.isEmpty()) {
      return exchange(replica.gradient().computed(), gradient, step);
    }
    try (OverlappedRound early = overlapped.get()) {
      overlapped = Optional.empty();
      Optional<Partition> broken = early.computed();
      if (broken.isEmpty() || early.sentAny()) {
        Optional<String> leftOut = broken.map(first -> early.leaveOutRest());
        return exchanged(early.round(), early::finish, leftOut, true, step);
      }
    }
    return exchange(replica.gradient().computed(), gradient, step);
  }

  private Step exchange(Optional<Partition> broken, Computed gradient, long step) {
    if (broken.isEmpty() && residuals.isPresent()) {
      keep(residuals.get(), versions.lowest());
    }
    List<Partition> order = broken.map(List::of).orElseGet(versions::oldestFirst);
    GradientRound round = round(order, step, gradient.samples());
    return exchanged(
        round,
        () -> exchange.run(round),
        Optional.empty(),
        broken.isEmpty() || plan.lockstep(),
        step);
  }

  /**
   * Waits for the answers.
   *
   * @param leftOut why this worker left out a part of the gradient, if it did
   * @param whole whether the answers are the parameters to continue with
   */
  private Step exchanged(
      GradientRound round,
      Supplier<PartitionExchange.Ending> answers,
      Optional<String> leftOut,
      boolean whole,
      long step) {
    long begun = track.now();
    Ending ending = ending(answers.get());
    round.note(begun, track.now());
    next = step + 1;
    if (ending != Ending.COMPLETE) {
      return Step.without(ending);
    }
    traffic.add(round.traffic());
    pulled = whole;
    return new Step(
        ending,
        round.staleness().isPresent(),
        leftOut.or(() -> round.refusal().map(Refusal::message)),
        round.staleness());
  }

  @Override
  public boolean staysForOthers() {
    return false;
  }

  @Override
  public void idle(long version) {
    self.gate().await(version, self.stop());
  }

  @Override
  public TrafficCounters traffic() {
    return traffic;
  }

  private static Ending ending(PartitionExchange.Ending of) {
    return switch (of) {
      case COMPLETE -> Ending.COMPLETE;
      case REJOIN -> Ending.REJOIN;
      case ABANDONED -> Ending.ABANDONED;
    };
  }
}
