package io.vertigrad.internal.strategy;

import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.internal.collective.InitialSync;
import io.vertigrad.internal.collective.VectorSlices;
import io.vertigrad.internal.strategy.DecentralizedSgdConfig.Conformance;
import io.vertigrad.internal.strategy.DecentralizedSgdConfig.Momentum;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.MixingMatrix;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.Tag;
import io.vertigrad.strategy.Topology;
import java.nio.FloatBuffer;

/**
 * D-PSGD: {@code x_i <- sum_j W_ij x_j - gamma g_i}, the gradient taken at the pre-average {@code
 * x_i}; Lian et al. 2017.
 *
 * <p>The swap with the neighbours therefore starts before the gradient and goes on beside it. The
 * sum is formed in rank order. Only trainable elements are swapped; each worker's running
 * statistics follow its own batches, and are averaged when the model is evaluated.
 */
final class DecentralizedSgd implements PeerStrategy {

  private static final int PARAMETERS = 0;
  private static final int STATE = 1;

  private final DecentralizedSgdConfig config;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;
  private final float l2;
  private float[] mixed;
  private PeerGroup group;
  private Topology topology;
  private long round;
  private long begunNanos;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  DecentralizedSgd(DecentralizedSgdConfig config, PeerContext context) {
    this.config = config;
    this.context = context;
    this.replica = context.replica();
    this.l2 = (float) context.optimizer().l2();
    this.optimizer =
        context
            .optimizers()
            .apply(
                config.conformance() == Conformance.PUBLISHED
                    ? context.optimizer()
                    : context.optimizer().withL2(0));
    this.mixed = new float[replica.length()];
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    topology = config.topology().over(now);
    new InitialSync(context, now).settle(fresh);
    round = InitialSync.ROUNDS;
  }

  @Override
  public void begin() {
    begunNanos = context.nanoClock().getAsLong();
    offer(PARAMETERS, replica.parameters(), replica.trainable());
    if (momentumTravels()) {
      float[] state = Replica.state(optimizer);
      offer(STATE, state, state.length);
    }
  }

  @Override
  public void complete(LocalGradient gradient) {
    long readyNanos = context.nanoClock().getAsLong();
    float[] before = replica.parameters();
    System.arraycopy(before, 0, mixed, 0, before.length);
    mix(PARAMETERS, mixed, replica.trainable());
    if (momentumTravels()) {
      float[] state = Replica.state(optimizer);
      mix(STATE, state, state.length);
      optimizer.writeState(FloatBuffer.wrap(state));
    }
    if (group.size() > 1) {
      timing = timing.plus(begunNanos, readyNanos, context.peers().arrivedNanos());
    }
    step(before, gradient);
    mixed = before;
    round++;
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
    if (!gradient.isFinite()) {
      timing = timing.plusSkipped();
      replica.advance(mixed, 0);
      return;
    }
    for (int i = 0; l2 != 0 && i < replica.trainable(); i++) {
      gradient.values()[i] += l2 * before[i];
    }
    replica.step(optimizer, mixed, gradient.values(), samples);
  }

  private void offer(int phase, float[] vector, int length) {
    int[] targets = topology.at(round).targets(group.position());
    VectorSlices pieces = new VectorSlices(0, length, context.pieceElements());
    for (int piece = 0; targets.length > 0 && piece < pieces.count(); piece++) {
      TensorView tensor = pieces.of(vector, piece, context.type());
      for (int target : targets) {
        context.peers().send(group.rank(target), new Tag(round, phase, piece), tensor);
      }
    }
  }

  /** {@code vector <- W_ii vector + sum_j W_ij x_j}, own share first, then in rank order. */
  private void mix(int phase, float[] vector, int length) {
    MixingMatrix matrix = topology.at(round);
    int self = group.position();
    scale(vector, length, (float) matrix.weight(self, self));
    VectorSlices pieces = new VectorSlices(0, length, context.pieceElements());
    for (int source : matrix.sources(self)) {
      float weight = (float) matrix.weight(self, source);
      int rank = group.rank(source);
      for (int piece = 0; piece < pieces.count(); piece++) {
        TensorView tensor = context.peers().receive(rank, new Tag(round, phase, piece));
        pieces.checked(tensor, piece, rank).addTo(vector, pieces.start(piece), weight);
      }
    }
  }

  private boolean momentumTravels() {
    return config.momentum() == Momentum.AVERAGED && optimizer.stateLength() > 0;
  }

  private static void scale(float[] vector, int length, float factor) {
    for (int i = 0; i < length; i++) {
      vector[i] *= factor;
    }
  }
}
