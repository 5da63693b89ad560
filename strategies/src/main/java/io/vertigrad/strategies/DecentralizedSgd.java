package io.vertigrad.strategies;

import io.vertigrad.collective.InitialSync;
import io.vertigrad.collective.MixingMatrix;
import io.vertigrad.collective.Topology;
import io.vertigrad.collective.VectorSlices;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategies.DecentralizedSgd.Config.Conformance;
import io.vertigrad.strategies.DecentralizedSgd.Config.Momentum;
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
import io.vertigrad.strategy.Tag;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * D-PSGD: {@code x_i <- sum_j W_ij x_j - gamma g_i}, with the gradient at {@code x_i} before
 * averaging; Lian et al. 2017.
 *
 * <p>So the exchange with the neighbours starts before the gradient and overlaps with it. Each
 * worker adds its own share first, then its neighbours' in rank order. Only trainable elements are
 * exchanged; each worker's running statistics follow its own batches, and are averaged when the
 * model is evaluated.
 *
 * <p>Compressed, the rule is {@link ChocoSgd}. With {@linkplain QuasiGlobalMomentum quasi-global
 * momentum} each worker takes its step first and averages afterwards, because the momentum follows
 * from the average.
 */
final class DecentralizedSgd implements PeerStrategy {

  private static final int PARAMETERS = 0;
  private static final int STATE = 1;

  private final Config config;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;
  private final float l2;
  private final Optional<QuasiGlobalMomentum> quasiGlobal;
  private float[] mixed;

  /** The optimizer's state, if it is averaged. */
  private float[] state = new float[0];

  private PeerGroup group;
  private Topology topology;
  private long round;
  private long begunNanos;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  DecentralizedSgd(Config config, PeerContext context) {
    this.config = config;
    this.context = context;
    this.replica = context.replica();
    this.l2 = (float) context.optimizer().l2();
    OptimizerConfig each = context.optimizer();
    this.quasiGlobal =
        config.momentum() == Momentum.QUASI_GLOBAL
            ? Optional.of(new QuasiGlobalMomentum(each, replica.trainable()))
            : Optional.empty();
    if (quasiGlobal.isPresent()) {
      each = each.withMomentum(0);
    }
    this.optimizer =
        context
            .optimizers()
            .apply(config.conformance() == Conformance.PUBLISHED ? each : each.withL2(0));
    this.mixed = new float[replica.length()];
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    topology = config.topology().over(now);
    new InitialSync(context, now).synchronize(fresh);
    round = InitialSync.ROUNDS;
    if (averagesMomentum()) {
      state = Replica.state(optimizer);
    }
  }

  @Override
  public void begin() {
    if (quasiGlobal.isPresent()) {
      return;
    }
    begunNanos = context.nanoClock().getAsLong();
    offer(PARAMETERS, replica.parameters(), replica.trainable());
    if (averagesMomentum()) {
      offer(STATE, state, state.length);
    }
  }

  @Override
  public boolean beginsWithParameters() {
    return quasiGlobal.isEmpty();
  }

  @Override
  public void complete(LocalGradient gradient) {
    if (quasiGlobal.isPresent()) {
      completeBeforeAveraging(gradient, quasiGlobal.get());
      return;
    }
    long readyNanos = context.nanoClock().getAsLong();
    float[] before = replica.parameters();
    System.arraycopy(before, 0, mixed, 0, before.length);
    mix(PARAMETERS, mixed, replica.trainable());
    if (averagesMomentum()) {
      mix(STATE, state, state.length);
      optimizer.writeState(FloatBuffer.wrap(state));
    }
    if (group.size() > 1) {
      timing = timing.plus(begunNanos, readyNanos, context.peers().arrivedNanos());
    }
    step(before, gradient);
    if (averagesMomentum()) {
      // Read here, because begin() runs while the model may compute on its device.
      state = Replica.state(optimizer);
    }
    mixed = before;
    round++;
  }

  private void completeBeforeAveraging(LocalGradient gradient, QuasiGlobalMomentum momentum) {
    MixingMatrix weights = matrix();
    long updates = replica.updates();
    double epochs = replica.epochs();
    float[] before = replica.parameters();
    mixed = before.clone();
    momentum.addTo(gradient.values());
    step(before, gradient);
    mixed = replica.parameters();
    begunNanos = context.nanoClock().getAsLong();
    offer(weights, PARAMETERS, mixed, replica.trainable());
    float[] next = mixed.clone();
    mix(weights, PARAMETERS, next, replica.trainable());
    if (group.size() > 1) {
      timing = timing.plus(begunNanos, begunNanos, context.peers().arrivedNanos());
    }
    momentum.update(before, next, updates, epochs);
    replica.setParameters(next);
    mixed = before;
    round++;
  }

  /** Returns the quasi-global momentum; each worker has its own. */
  @Override
  public float[] memory() {
    return quasiGlobal.map(QuasiGlobalMomentum::values).orElseGet(() -> new float[0]);
  }

  @Override
  public void restore(float[] memory) {
    quasiGlobal.ifPresent(momentum -> momentum.restore(memory));
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  @Override
  public double spectralGap() {
    return topology.spectralGap();
  }

  private void step(float[] before, LocalGradient gradient) {
    double samples = (double) gradient.samples() * group.size();
    for (int i = 0; l2 != 0 && i < replica.trainable(); i++) {
      gradient.values()[i] += l2 * before[i];
    }
    replica.setParameters(mixed);
    if (!replica.step(optimizer, gradient, samples)) {
      timing = timing.plusSkipped();
    }
  }

  private void offer(int phase, float[] vector, int length) {
    offer(matrix(), phase, vector, length);
  }

  private void offer(MixingMatrix weights, int phase, float[] vector, int length) {
    int[] targets = weights.targets(group.position());
    VectorSlices pieces = new VectorSlices(0, length, context.pieceElements());
    for (int piece = 0; targets.length > 0 && piece < pieces.count(); piece++) {
      Tag tag = new Tag(round, phase, piece);
      for (int target : targets) {
        context.peers().send(group.rank(target), tag, context.type(), pieces.in(vector, piece));
      }
    }
  }

  /**
   * Computes {@code vector <- W_ii vector + sum_j W_ij x_j}, own share first, then in rank order.
   */
  private void mix(int phase, float[] vector, int length) {
    mix(matrix(), phase, vector, length);
  }

  private void mix(MixingMatrix matrix, int phase, float[] vector, int length) {
    int self = group.position();
    scale(vector, length, (float) matrix.weight(self, self));
    VectorSlices pieces = new VectorSlices(0, length, context.pieceElements());
    for (int source : matrix.sources(self)) {
      float weight = (float) matrix.weight(self, source);
      int rank = group.rank(source);
      List<Tag> tags =
          IntStream.range(0, pieces.count()).mapToObj(i -> new Tag(round, phase, i)).toList();
      context
          .peers()
          .receive(
              rank,
              tags,
              (tag, tensor) ->
                  pieces
                      .checked(tensor, tag.piece(), rank)
                      .addTo(vector, pieces.start(tag.piece()), weight));
    }
  }

  /** Returns the weights of this step, which do not depend on how often the group has changed. */
  private MixingMatrix matrix() {
    return topology.at(replica.updates());
  }

  private boolean averagesMomentum() {
    return config.momentum() == Momentum.AVERAGED && optimizer.stateLength() > 0;
  }

  private static void scale(float[] vector, int length, float factor) {
    for (int i = 0; i < length; i++) {
      vector[i] *= factor;
    }
  }

  /**
   * The strategy's section of a job file.
   *
   * @param topology the neighbours of each worker
   * @param conformance point at which coupled weight decay is added
   * @param momentum whether the optimizer's state is averaged along with the parameters
   * @param consensusRate how far compressed parameters move to their average in a step
   */
  record Config(
      TopologyConfig topology, Conformance conformance, Momentum momentum, double consensusRate) {

    /** The treatment of coupled weight decay, in this program or in the published ring program. */
    enum Conformance {
      /** Adds {@code optimizer.l2} once, at the point where the gradient was computed. */
      CLEAN,
      /**
       * Adds it there and again in the optimizer, at the average, as the published program does.
       */
      PUBLISHED
    }

    /** The treatment of the optimizer's state. */
    enum Momentum {
      /** Each worker keeps its own state. */
      LOCAL,
      /**
       * The state is averaged like the parameters: twice the bytes with momentum, three times with
       * Adam.
       */
      AVERAGED,
      /** The momentum follows from how far the average has moved the parameters. */
      QUASI_GLOBAL
    }

    static Config read(Settings settings) {
      String conformance = settings.choice("conformance", "clean", "clean", "published");
      String momentum = settings.choice("momentum", "local", "local", "averaged", "quasi-global");
      Config config =
          new Config(
              TopologyConfig.read(settings),
              conformance.equals("clean") ? Conformance.CLEAN : Conformance.PUBLISHED,
              Momentum.valueOf(momentum.toUpperCase(Locale.ROOT).replace('-', '_')),
              settings.number("consensusRate", 0.5, 1e-6, 1));
      settings.refuseUnknown();
      return config;
    }

    private void check(JobConfig job) {
      if (momentum == Momentum.QUASI_GLOBAL) {
        QuasiGlobalMomentum.check(job);
      }
      if (!job.exchange().compression().isOn()) {
        return;
      }
      Settings section = job.settings().section("strategy");
      String with = "with exchange.compression \"%s\"".formatted(job.exchange().compression());
      if (!topology.isFixed()) {
        throw section.refuse(
            "topology",
            "is \"%s\" %s, expected one whose weights are the same in every round"
                .formatted(topology.name(), with));
      }
      if (momentum != Momentum.LOCAL) {
        throw section.refuse("momentum", "is not \"local\" " + with + ", expected \"local\"");
      }
      if (conformance == Conformance.PUBLISHED) {
        throw section.refuse("conformance", "is \"published\" " + with + ", expected \"clean\"");
      }
    }

    private PeerStrategy rule(PeerContext context) {
      return context.compression().isOn()
          ? new ChocoSgd(topology::over, consensusRate, context)
          : new DecentralizedSgd(this, context);
    }
  }

  /** Registers the strategy as {@code dpsgd}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "dpsgd";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Config config = Config.read(settings);
      return StrategyFactory.besideWorkers(
              StrategyTraits.atWorkers(Rounds.EVERY_RANK).compressing(), config::rule)
          .checking(config::check);
    }
  }
}
