package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.internal.checkpoint.ResidualFiles;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.checkpoint.SavedState.Head;
import io.vertigrad.internal.checkpoint.SavedState.Part;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.PartitionClient.PullRound;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Membership;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The exchange with the shards of parameter servers, partition by partition. */
final class ServerExchange implements ParameterExchange {

  private static final Logger LOG = LoggerFactory.getLogger(ServerExchange.class);

  private final TrainingPlan plan;
  private final PartitionClient client;
  private final Incarnation self;
  private final SpanRecorder timeline;
  private final ModelPartitions parameters;
  private final PartitionVersions versions;
  private final OutgoingGradient gradient;
  private final Optional<ResidualFiles> residuals;
  private final Optional<StateCopies> copies;
  private final long run;
  private final Optional<LocalSteps> local;

  /** What the next step starts with besides the parameters. */
  private final List<Part> current;

  /** The same once the gradient has been delivered. */
  private final List<Part> onceDelivered;

  private final TrafficCounters traffic = new TrafficCounters();
  private long nextStep;
  private boolean pulled;
  private boolean restored;
  private boolean keepFailed;
  private final boolean sendsNotFinite;

  /**
   * Creates an exchange whose residual a replacement of this worker can continue with.
   *
   * @param residuals files that hold the residual and the optimizer's state of local steps; closed
   *     with the exchange
   * @param copies holds the same in the memory of other members
   * @param run hash of the run's name
   * @param local the steps between two exchanges; empty for one
   * @param sendsNotFinite whether servers get a gradient that is not finite: NaN in all elements
   */
  ServerExchange(
      Model model,
      TrainingPlan plan,
      PartitionClient client,
      Incarnation self,
      SpanRecorder timeline,
      Optional<ResidualFiles> residuals,
      Optional<StateCopies> copies,
      long run,
      Optional<LocalSteps> local,
      boolean sendsNotFinite) {
    this.plan = plan;
    this.sendsNotFinite = sendsNotFinite;
    this.client = client;
    this.self = self;
    this.timeline = timeline;
    this.parameters = new ModelPartitions(model, plan.type());
    this.versions = new PartitionVersions(plan.partitions());
    this.gradient = new OutgoingGradient(model, parameters, plan);
    this.residuals = residuals;
    this.copies = copies;
    this.run = run;
    this.local = local;
    this.current = parts(gradient.currentResidual());
    this.onceDelivered = parts(gradient.pendingResidual());
  }

  private List<Part> parts(Part residual) {
    List<Part> parts = new ArrayList<>(List.of(residual));
    local.ifPresent(steps -> parts.addAll(steps.parts()));
    return parts;
  }

  @Override
  public void membershipChanged(Membership now) {
    client.membershipChanged(now);
    copies.ifPresent(all -> all.membershipChanged(now));
  }

  @Override
  public void wake() {
    client.wake();
  }

  @Override
  public void open() {
    keep(files -> files.continueFrom(self.firstStep()));
    copies.ifPresent(
        all -> {
          FutureAwait.await(all.open(self.identity()).map(true), self.stop());
          all.held(true);
        });
  }

  /** Returns what a warning calls the state that is kept between two steps. */
  private String keptName() {
    String residual = plan.leavesOut() ? "what compression left out" : "";
    String state = local.filter(LocalSteps::keepsState).isPresent() ? "the optimizer's state" : "";
    return residual.isEmpty() || state.isEmpty() ? residual + state : residual + " and " + state;
  }

  /** Goes on with what the first step starts with, as an earlier incarnation has kept it. */
  private void restore() {
    long step = self.firstStep();
    if (restored || step == 0 || current.stream().allMatch(part -> part.length() == 0)) {
      return;
    }
    restored = true;
    RunVersion at = new RunVersion(step, run);
    try {
      Optional<SavedState> found =
          residuals.isPresent() ? residuals.get().read(step) : Optional.empty();
      found
          .or(() -> copies.flatMap(all -> all.fetch(at, self.stop())))
          .orElseThrow(() -> new ExchangeException("no checkpoint and no other worker has it"))
          .restore(current);
    } catch (IOException | RuntimeException e) {
      LOG.warn(
          "worker {}: {} before step {} is lost, its next gradient goes without: {}",
          self.identity().rank(),
          keptName(),
          step,
          e.getMessage());
    }
  }

  /** The version is the one that all partitions have reached; in lockstep it is the next round. */
  @Override
  public State state() {
    return new State(pulled ? Status.READY : Status.NEEDS_FETCH, versions.lowest());
  }

  /** Pulls all partitions; in lockstep those of the first round that this worker takes part in. */
  @Override
  public Fetch fetch(long step) {
    restore();
    Ending ending =
        client.run(
            new PullRound(
                plan.partitions(),
                parameters,
                versions,
                self.identity(),
                client.epoch(),
                nextStep,
                self.firstVersion(),
                self.stop()));
    pulled = ending == Ending.COMPLETE;
    return new Fetch(ending, versions.highest(), step);
  }

  /**
   * Exchanges a gradient for the next parameters. Of one that is not finite everywhere, only the
   * first such partition is sent, which the server refuses and counts. In lockstep the round stays
   * open for the next batch; otherwise this worker pulls to catch up. Servers that take such
   * gradients get NaN in all elements. With overlap, partitions sent before are applied, and the
   * rest is sent as zeros, so that the round does not stay open for some partitions only.
   */
  @Override
  public Step exchange(long step, Computation computation) {
    if (!plan.overlap()) {
      Computed computed = computation.compute(Optional.empty());
      return exchangeWhole(gradient.check(), computed, step);
    }
    Computed computed;
    try (OverlappedRound begun = new OverlappedRound(step)) {
      computed = computation.compute(Optional.of(begun));
      Optional<Partition> notFinite = begun.complete();
      if (notFinite.isEmpty() || begun.sentAny()) {
        Optional<String> leftOut =
            notFinite.map(begun::replaceRest).filter(refused -> !sendsNotFinite);
        return awaitAnswers(begun.round, client::finish, leftOut, true, step);
      }
    }
    return exchangeWhole(gradient.check(), computed, step);
  }

  private Step exchangeWhole(Optional<Partition> notFinite, Computed computed, long step) {
    if (notFinite.isEmpty()) {
      // Before the gradient is sent, so that a replacement always finds it.
      keep(step + 1, onceDelivered);
    }
    if (notFinite.isPresent() && sendsNotFinite) {
      gradient.replace(plan.partitions().partitions(), Float.NaN);
    }
    List<Partition> order =
        notFinite.filter(p -> !sendsNotFinite).map(List::of).orElseGet(versions::oldestFirst);
    GradientRound round = new GradientRound(order, step, computed.samples());
    Step ended =
        awaitAnswers(
            round,
            () -> client.run(round),
            Optional.empty(),
            notFinite.isEmpty() || plan.lockstep(),
            step);
    if (notFinite.isPresent() || ended.ending() == Ending.COMPLETE && gradient.lacksDelivery()) {
      keep(step + 1, current);
    }
    if (round.saved) {
      keep(files -> files.keep(step));
    }
    return ended;
  }

  /** Keeps what a step starts with for a replacement. */
  private void keep(long step, List<Part> parts) {
    keep(files -> files.write(step, parts));
    copies.ifPresent(
        all -> {
          RunVersion at = new RunVersion(step, run);
          all.keep(self.identity().rank(), at, () -> SavedState.copy(new Head(step, 0), parts));
          all.awaitHeld(self.stop());
        });
  }

  /** A change of the files that a replacement continues with. */
  @FunctionalInterface
  private interface ResidualChange {

    void apply(ResidualFiles files) throws IOException;
  }

  /** Changes the files. A failure costs a replacement what they hold, so training goes on. */
  private void keep(ResidualChange change) {
    try {
      if (residuals.isPresent()) {
        change.apply(residuals.get());
      }
    } catch (IOException e) {
      if (!keepFailed) {
        keepFailed = true;
        LOG.warn(
            "worker {}: {} cannot be kept for a replacement: {}",
            self.identity().rank(),
            keptName(),
            e.toString());
      }
    }
  }

  /**
   * Waits for the answers.
   *
   * @param leftOut why this worker left out a part of the gradient, if it did
   * @param whole whether the answers are the parameters to continue with
   */
  private Step awaitAnswers(
      GradientRound round,
      Supplier<Ending> answers,
      Optional<String> leftOut,
      boolean whole,
      long step) {
    long begun = timeline.now();
    Ending ending = answers.get();
    round.recordSpans(begun, timeline.now());
    nextStep = step + 1;
    if (ending != Ending.COMPLETE) {
      return Step.without(ending);
    }
    traffic.add(round.sentAndReceived);
    pulled = whole;
    return new Step(
        ending,
        round.staleness().isPresent(),
        leftOut.or(() -> Optional.ofNullable(round.refusal).map(Refusal::message)),
        round.staleness(),
        versions.highest(),
        traffic);
  }

  @Override
  public void awaitChange(long version) {
    self.gate().await(version, self.stop());
  }

  @Override
  public void close() {
    copies.ifPresent(StateCopies::close);
    client.close();
    gradient.close();
    try {
      if (residuals.isPresent()) {
        residuals.get().close();
      }
    } catch (IOException e) {
      LOG.warn("worker {}: {}", self.identity().rank(), e.toString());
    }
  }

  /** The exchange of one step's gradient for the next parameters, with its counters. */
  private final class GradientRound implements PartitionClient.Round {

    private final List<Partition> order;
    private final int epoch = client.epoch();
    private final long step;
    private final int samples;
    private final Map<Partition, Long> offeredAt = new HashMap<>();

    /** Bytes of gradients to each shard, without retries, and of parameters from it. */
    private final TrafficCounters sentAndReceived = new TrafficCounters();

    private int readyFrom;
    private boolean complete = true;
    private int staleness = -1;
    private long sentNanos;

    /** Whether a server began a checkpoint that has all earlier steps of this rank. */
    private boolean saved;

    /** The refusal of a partition as not finite; null if none was refused. */
    private Refusal refusal;

    /**
     * Creates a round that has not begun.
     *
     * @param order the partitions to send, in this order
     * @param samples number of samples behind the gradient
     */
    GradientRound(List<Partition> order, long step, int samples) {
      this.order = order;
      this.step = step;
      this.samples = samples;
    }

    @Override
    public List<Partition> order() {
      return order;
    }

    /** Marks the gradient as still being computed: no partition is ready yet. */
    void markComputing() {
      readyFrom = Integer.MAX_VALUE;
      complete = false;
    }

    /** Marks all trainable elements from {@code first} on as final. */
    void readyFrom(int first) {
      readyFrom = first;
    }

    /** Marks the whole gradient as final. */
    void complete() {
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
      TensorView elements = gradient.partition(partition);
      sentAndReceived.sent(partition.shard(), elements);
      return new GradientPartition(
          self.identity().exchange(epoch, step, partition.index()),
          plan.partitions().layout(),
          offeredAt.computeIfAbsent(partition, versions::of),
          samples,
          partition.first(),
          elements);
    }

    @Override
    public void allSent() {
      if (sentNanos == 0) {
        sentNanos = timeline.now();
      }
    }

    @Override
    public void answered(Partition partition, ParameterPartition answer) {
      sentAndReceived.received(partition.shard(), answer.parameters());
      parameters.write(partition, answer.parameters());
      versions.set(partition, answer.version());
      saved |= answer.saved();
      if (answer.outcome() == Outcome.APPLIED || answer.outcome() == Outcome.DUPLICATE) {
        gradient.delivered(partition);
      }
      if (answer.outcome() == Outcome.APPLIED) {
        staleness = Math.max(staleness, answer.staleness());
      }
    }

    @Override
    public void reclaim(Frame request, boolean unread) {
      gradient.reclaim(((GradientPartition) request).gradient(), unread);
    }

    @Override
    public void onNotFinite(Partition partition, Refusal why) {
      refusal = why;
    }

    @Override
    public boolean isAbandoned() {
      return self.stop().getAsBoolean();
    }

    /** Records the time spent sending partitions and the time spent only waiting for answers. */
    void recordSpans(long begunNanos, long endedNanos) {
      long sent = sentNanos == 0 ? endedNanos : Math.max(begunNanos, sentNanos);
      timeline.span("send", begunNanos, sent, step);
      timeline.span("wait", sent, endedNanos, step);
    }

    /** Returns the largest staleness at which a partition was applied; empty if none was. */
    OptionalInt staleness() {
      return staleness < 0 ? OptionalInt.empty() : OptionalInt.of(staleness);
    }
  }

  /**
   * A round with the servers that begins while the gradient is being computed. Partitions are
   * checked and sent as they become final, those of the last layers first. If several are final at
   * once, they are sent in the order of the round. Answers are held back until the gradient is
   * complete, because the gradient is computed at the parameters that the answers replace.
   *
   * <p>A partition that is not finite stops the sending; those sent before stay sent.
   */
  private final class OverlappedRound implements Overlap, AutoCloseable {

    private final long step;
    private GradientRound round;
    private Optional<Partition> firstNotFinite = Optional.empty();

    OverlappedRound(long step) {
      this.step = step;
    }

    @Override
    public void begin(int samples) {
      gradient.begin();
      round = new GradientRound(versions.oldestFirst(), step, samples);
      round.markComputing();
      client.begin(round);
    }

    @Override
    public void ready(int first) {
      if (firstNotFinite.isPresent()) {
        return;
      }
      firstNotFinite =
          round.order().stream()
              .filter(each -> each.kind() == Block.Kind.TRAINABLE && each.first() >= first)
              .filter(each -> !gradient.isSendable(each))
              .findFirst();
      if (firstNotFinite.isEmpty()) {
        round.readyFrom(first);
        client.sendReady();
      }
    }

    /**
     * Marks the whole gradient as final and checks the rest of it.
     *
     * @return the first partition that is not sendable
     */
    Optional<Partition> complete() {
      round.complete();
      if (firstNotFinite.isEmpty()) {
        firstNotFinite = gradient.checkRest();
      }
      return firstNotFinite;
    }

    /** Returns true if some partitions have been sent. */
    boolean sentAny() {
      return round.unsent().size() < round.order().size();
    }

    /** Replaces the unsent partitions of such a gradient and returns a message about it. */
    String replaceRest(Partition notFinite) {
      List<Partition> unsent = round.unsent();
      gradient.replace(unsent, sendsNotFinite ? Float.NaN : 0);
      return ("partition %s held NaN, infinity or an element beyond exchange.maxMagnitude; %s"
              + " partitions had been sent before (exchange.overlap) and are applied, %s are not")
          .formatted(notFinite.index(), round.order().size() - unsent.size(), unsent.size());
    }

    /** Gives up the unanswered requests. */
    @Override
    public void close() {
      client.end();
    }
  }
}
