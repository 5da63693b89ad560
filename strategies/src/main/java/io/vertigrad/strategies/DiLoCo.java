package io.vertigrad.strategies;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ErrorFeedback;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.collective.RingBroadcast;
import io.vertigrad.collective.ScatterMean;
import io.vertigrad.collective.StateAllGather;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Distributed low-communication training: every worker takes H inner steps alone, then all average
 * how far they have moved, and an outer optimizer takes one step with that average; Douillard et
 * al. 2023. With fragments, which are synchronised in turn, it is streaming DiLoCo; Douillard et
 * al. 2025.
 *
 * <p>A synchronisation of a fragment starts with the pseudo-gradient {@code g_i = global - x_i} and
 * sends it. It ends {@code fragmentSyncDelay} steps later:
 *
 * <pre>
 *   global &lt;- outer step with sum_i g_i / N
 *   x_i &lt;- global + alpha (x_i - global)
 * </pre>
 *
 * <p>All workers compute the same global parameters and the same outer momentum. Both are in this
 * rule's memory, and so are the residuals of compression and the pseudo-gradient that is on its
 * way, so a run goes on from a checkpoint with the same bits. Statistics are averaged along with
 * the last fragment; the optimizer's state stays local.
 *
 * <p>With {@linkplain WorkerGroups groups}, the workers of each take every inner step together with
 * the mean or sum of their gradients, and only their leaders exchange pseudo-gradients. A leader
 * passes the mean on to its group.
 *
 * <p>This is the form without servers; with servers, {@link OuterRounds} take the outer step.
 */
final class DiLoCo implements PeerStrategy {

  private static final long OUTER_STATE_ROUND = InitialSync.ROUNDS;
  private static final long GROUP_STATE_ROUND = OUTER_STATE_ROUND + 1;

  private final Config config;
  private final Optional<WorkerGroups> groups;
  private final FragmentSchedule schedule;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer inner;
  private final OuterOptimizer outer;
  private final Optional<ScatterMean.Feedback> feedback;

  /** The pseudo-gradient, later the mean, of one fragment; the tail has the statistics. */
  private final float[] exchanged;

  /** A copy of what was sent, to be sent again to another group. */
  private final float[] sent;

  private PeerGroup group;
  private Optional<GroupGradient> within = Optional.empty();
  private Optional<ScatterMean> mean;
  private Synchronisation underWay;
  private long sentEnd;
  private long round;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  /**
   * A synchronisation that has started.
   *
   * @param means mean of the fragment's pseudo-gradients, and of the statistics if they belong to
   *     the fragment; empty for a worker that gets them from its leader
   * @param begunNanos when it was sent
   */
  private record Synchronisation(List<ScatterMean.Mean> means, long begunNanos) {

    void advance() {
      means.forEach(ScatterMean.Mean::advance);
    }

    void await() {
      means.forEach(ScatterMean.Mean::await);
    }

    void delivered() {
      means.forEach(ScatterMean.Mean::delivered);
    }
  }

  /**
   * Creates the rule.
   *
   * @param groups groups that take their inner steps together; empty if every worker is alone
   */
  DiLoCo(Config config, Optional<WorkerGroups> groups, PeerContext context) {
    this.config = config;
    this.groups = groups;
    this.schedule = config.schedule();
    this.context = context;
    this.replica = context.replica();
    this.inner = context.optimizers().apply(context.optimizer());
    this.outer =
        new OuterOptimizer(config.outerLearningRate(), config.outerMomentum(), replica.trainable());
    this.feedback = feedback(context);
    this.exchanged = new float[replica.length()];
    this.sent = new float[schedule.delay() > 0 ? replica.length() : 0];
  }

  private static Optional<ScatterMean.Feedback> feedback(PeerContext context) {
    int length = context.replica().trainable();
    if (context.compression().isOn()) {
      return Optional.of(
          new ScatterMean.Feedback(
              new ErrorFeedback(context.compression(), length),
              new ErrorFeedback(context.compression(), length)));
    }
    return context.type() == DataType.FLOAT32
        ? Optional.empty()
        : Optional.of(
            new ScatterMean.Feedback(
                new ErrorFeedback(context.type(), length),
                new ErrorFeedback(context.type(), length)));
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    within = groups.map(each -> new GroupGradient(context, each.within(now), each.sums()));
    mean =
        groups.isEmpty()
            ? Optional.of(new ScatterMean(context, now))
            : groups
                .filter(each -> each.isLeader(now))
                .map(each -> new ScatterMean(context, each.between(now)));
    underWay = null;
    shareOuterState(new InitialSync(context, now).synchronize(fresh));
    within.ifPresent(this::shareGroupState);
    round = GROUP_STATE_ROUND + 1;
    if (schedule.isUnderWay(replica.updates())) {
      sendAgain();
    }
  }

  /** Gives newcomers, and workers that were behind, the outer state of the others. */
  private void shareOuterState(StateAllGather states) {
    if (states.allFresh()) {
      outer.begin(replica.parameters());
    } else if (!states.allAtOneVersion()) {
      float[] state = new float[outer.stateLength()];
      outer.read(FloatBuffer.wrap(state));
      new RingBroadcast(context.peers(), group, context.pieceElements())
          .from(states.furthest(), OUTER_STATE_ROUND, 0, state);
      outer.write(FloatBuffer.wrap(state));
    }
  }

  /** Gives all workers of a group the parameters and inner state of their leader. */
  private void shareGroupState(GroupGradient own) {
    float[] parameters = replica.parameters().clone();
    float[] state = Replica.state(inner);
    own.share(GROUP_STATE_ROUND, 0, parameters);
    own.share(GROUP_STATE_ROUND, 1, state);
    replica.setParameters(parameters);
    inner.writeState(FloatBuffer.wrap(state));
  }

  /** Sends the pseudo-gradient of a synchronisation that the previous group has not finished. */
  private void sendAgain() {
    long end = end(replica.updates());
    if (sentEnd == end) {
      System.arraycopy(sent, 0, exchanged, 0, sent.length);
    } else {
      takePseudoGradient();
    }
    send();
  }

  /** Handles what has arrived of a synchronisation. */
  @Override
  public void begin() {
    if (underWay != null) {
      underWay.advance();
    }
  }

  @Override
  public boolean beginsWithParameters() {
    return false;
  }

  @Override
  public void complete(LocalGradient gradient) {
    double samples = (double) gradient.samples() * group.size();
    boolean taken =
        within.isPresent()
            ? replica.step(inner, within.get().combined(round++, gradient), samples)
            : replica.step(inner, gradient, samples);
    if (!taken) {
      timing = timing.plusSkipped();
    }
    if (underWay != null) {
      underWay.advance();
    }
    if (schedule.begins(replica.updates())) {
      takePseudoGradient();
      send();
    }
    if (schedule.ends(replica.updates())) {
      finish();
    }
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  /** Returns 1, because one synchronisation averages exactly. */
  @Override
  public double spectralGap() {
    return 1;
  }

  @Override
  public float[] memory() {
    float[] memory = new float[memoryLength()];
    FloatBuffer values = FloatBuffer.wrap(memory);
    outer.read(values);
    feedback.ifPresent(each -> values.put(each.shares().residual()).put(each.means().residual()));
    values.put(sent);
    return memory;
  }

  @Override
  public void restore(float[] memory) {
    boolean begins = memory.length == 0;
    if (!begins && memory.length != memoryLength()) {
      throw new IllegalArgumentException(
          "the memory has %s elements, expected 0 or %s: has the strategy changed?"
              .formatted(memory.length, memoryLength()));
    }
    FloatBuffer values = FloatBuffer.wrap(begins ? new float[memoryLength()] : memory);
    outer.write(values);
    feedback.ifPresent(
        each -> {
          float[] residual = new float[replica.trainable()];
          values.get(residual);
          each.shares().restore(residual);
          values.get(residual);
          each.means().restore(residual);
        });
    values.get(sent);
    sentEnd = begins ? 0 : end(replica.updates());
  }

  private int memoryLength() {
    int residuals = feedback.isPresent() ? 2 * replica.trainable() : 0;
    return outer.stateLength() + residuals + sent.length;
  }

  /** Returns the step at which the synchronisation ends that is under way at a step. */
  private long end(long steps) {
    return (steps + schedule.interval() - 1) / schedule.interval() * schedule.interval();
  }

  private void takePseudoGradient() {
    int fragment = schedule.fragment(replica.updates());
    int first = schedule.first(fragment, replica.trainable());
    int end = first + schedule.length(fragment, replica.trainable());
    float[] parameters = replica.parameters();
    for (int i = first; i < end; i++) {
      exchanged[i] = outer.parameters()[i] - parameters[i];
    }
    if (hasStatistics(fragment)) {
      System.arraycopy(
          parameters, replica.trainable(), exchanged, replica.trainable(), statistics());
    }
    System.arraycopy(exchanged, 0, sent, 0, sent.length);
    sentEnd = end(replica.updates());
  }

  private void send() {
    int fragment = schedule.fragment(replica.updates());
    int trainable = replica.trainable();
    long begun = context.nanoClock().getAsLong();
    int first = schedule.first(fragment, trainable);
    int length = schedule.length(fragment, trainable);
    List<ScatterMean.Mean> means = new ArrayList<>();
    mean.ifPresent(
        each -> {
          means.add(each.begin(round, 0, exchanged, first, length, feedback));
          if (hasStatistics(fragment)) {
            means.add(
                each.begin(
                    round,
                    ScatterMean.PHASES,
                    exchanged,
                    trainable,
                    statistics(),
                    Optional.empty()));
          }
        });
    underWay = new Synchronisation(means, begun);
    round++;
  }

  private void finish() {
    long ready = context.nanoClock().getAsLong();
    underWay.await();
    within.ifPresent(own -> own.share(round++, 0, exchanged));
    if (group.size() > 1) {
      timing = timing.plus(underWay.begunNanos(), ready, context.peers().arrivedNanos());
    }
    int fragment = schedule.fragment(replica.updates());
    int first = schedule.first(fragment, replica.trainable());
    int length = schedule.length(fragment, replica.trainable());
    float[] next = replica.parameters().clone();
    if (isFinite(first, length)) {
      outer.step(exchanged, first, length);
      underWay.delivered();
    } else {
      timing = timing.plusSkipped();
    }
    merge(next, outer.parameters(), first, length);
    if (hasStatistics(fragment) && isFinite(replica.trainable(), statistics())) {
      merge(next, exchanged, replica.trainable(), statistics());
    }
    replica.setParameters(next);
    underWay = null;
  }

  /**
   * Moves the own parameters to the global ones: all the way with alpha 0, not at all with 1. An
   * element that is not finite becomes the global one.
   */
  private void merge(float[] own, float[] global, int first, int length) {
    float alpha = (float) config.fragmentUpdateAlpha();
    for (int i = first; i < first + length; i++) {
      float difference = own[i] - global[i];
      float merged =
          alpha < 0.5f ? global[i] + alpha * difference : own[i] - (1 - alpha) * difference;
      own[i] = Float.isFinite(merged) ? merged : global[i];
    }
  }

  private boolean isFinite(int first, int length) {
    return Magnitudes.largest(exchanged, first, length) <= Float.MAX_VALUE;
  }

  private boolean hasStatistics(int fragment) {
    return fragment == schedule.fragments() - 1 && statistics() > 0;
  }

  private int statistics() {
    return replica.length() - replica.trainable();
  }

  /**
   * The strategy's section of a job file.
   *
   * @param schedule when fragments are synchronised
   * @param fragmentUpdateAlpha share of the own parameters that stays when a fragment arrives
   * @param outerLearningRate rate of the outer optimizer
   * @param outerMomentum Nesterov momentum of the outer optimizer; 0 for plain SGD
   */
  record Config(
      FragmentSchedule schedule,
      double fragmentUpdateAlpha,
      double outerLearningRate,
      double outerMomentum) {

    private static final long MOST_STEPS = 1_000_000_000;

    static Config read(Settings settings) {
      long syncEvery = settings.longInteger("syncEvery", 100, 1, MOST_STEPS);
      int fragments = settings.integer("fragments", 1, 1, 65_536);
      long delay = settings.longInteger("fragmentSyncDelay", 0, 0, MOST_STEPS);
      Config config =
          new Config(
              new FragmentSchedule(syncEvery, fragments, delay),
              settings.number("fragmentUpdateAlpha", 0, 0, 1),
              settings.number("outerLearningRate", 0.7, 1e-12, 1e6),
              settings.number("outerMomentum", 0.9, 0, 0.999999));
      settings.refuseUnknown();
      if (syncEvery % fragments != 0) {
        throw settings.refuse(
            "syncEvery",
            "is %s, expected a multiple of fragments (%s): one is synchronised after another"
                .formatted(syncEvery, fragments));
      }
      if (delay >= syncEvery / fragments) {
        throw settings.refuse(
            "fragmentSyncDelay",
            ("is %s, expected less than syncEvery / fragments = %s: a fragment must arrive before"
                    + " the next one is sent")
                .formatted(delay, syncEvery / fragments));
      }
      return config;
    }

    /** Returns the traits of the strategy, alone or between groups. */
    StrategyTraits traits() {
      boolean agrees =
          schedule.fragments() == 1 && schedule.delay() == 0 && fragmentUpdateAlpha == 0;
      StrategyTraits traits = StrategyTraits.atWorkers(Rounds.EVERY_RANK).compressing();
      return agrees
          ? traits.agreeingEvery(schedule.interval())
          : traits.exchangingEvery(schedule.interval());
    }
  }

  /** Registers the strategy as {@code diloco}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "diloco";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Optional<OuterRounds> rounds = OuterRounds.read(settings);
      Config config = Config.read(settings);
      if (rounds.isPresent()) {
        return rounds.get().factory(config, settings);
      }
      return StrategyFactory.besideWorkers(
              config.traits(), context -> new DiLoCo(config, Optional.empty(), context))
          .checking(Provider::refusePipeline);
    }

    /** A stage may go on with its parameters in memory after it has lost the outer state. */
    static void refusePipeline(JobConfig job) {
      if (job.pipeline().isPresent()) {
        throw job.settings()
            .section("strategy")
            .refuse("name", "is \"diloco\" with a pipeline, expected \"allreduce\" or \"local\"");
      }
    }
  }
}
