package io.vertigrad.strategies;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.collective.MixingMatrix;
import io.vertigrad.collective.VectorSlices;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.settings.Settings;
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
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Asynchronous gossip, AD-PSGD. An active worker picks a passive one at random, both take the mean
 * of their parameters, {@code x_i, x_j <- (x_i + x_j) / 2}, and then each takes the step of its own
 * gradient; Lian et al. 2018.
 *
 * <p>Workers at even positions are active, those at odd positions passive, so waiting cannot form a
 * cycle: only an active worker waits, for one passive worker, which answers between its gradients
 * and whenever it is idle. An active worker's request overlaps with its gradient.
 */
final class Gossip implements PeerStrategy {

  private static final int REQUEST = 0;
  private static final int ANSWER = 1;

  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;
  private final Random random;
  private final VectorSlices pieces;
  private PeerGroup group;
  private List<Integer> others = List.of();
  private long[] rounds = new long[0];
  private boolean active;
  private int partner;
  private long begunNanos;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  Gossip(PeerContext context) {
    this.context = context;
    this.replica = context.replica();
    this.optimizer = context.optimizers().apply(context.optimizer());
    this.random = new Random();
    this.pieces = new VectorSlices(0, replica.length(), context.pieceElements());
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    active = now.position() % 2 == 0;
    int first = active ? 1 : 0;
    others =
        IntStream.range(0, now.size()).filter(i -> i % 2 == first).mapToObj(now::rank).toList();
    rounds = new long[others.size()];
    random.setSeed(now.self());
    new InitialSync(context, now).synchronizeKeepingCounts(fresh);
  }

  @Override
  public void begin() {
    begunNanos = context.nanoClock().getAsLong();
    if (active && !others.isEmpty()) {
      partner = random.nextInt(others.size());
      send(partner, REQUEST);
    } else {
      idle();
    }
  }

  @Override
  public boolean beginsWithParameters() {
    return !others.isEmpty();
  }

  @Override
  public void complete(LocalGradient gradient) {
    long readyNanos = context.nanoClock().getAsLong();
    if (active && !others.isEmpty()) {
      float[] theirs = new float[replica.length()];
      receive(partner, ANSWER, 0, theirs);
      rounds[partner]++;
      averageWith(theirs);
      timing = timing.plus(begunNanos, readyNanos, context.peers().arrivedNanos());
    } else {
      idle();
    }
    step(gradient);
  }

  /** Answers all requests that have arrived, in rank order. */
  @Override
  public void idle() {
    for (int other = 0; !active && other < others.size(); other++) {
      Tag tag = tag(other, REQUEST, 0);
      Optional<Tensor> request = context.peers().poll(others.get(other), tag);
      if (request.isPresent()) {
        answer(other, request.get());
      }
    }
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  /**
   * Returns the expected gap over a round with one exchange per active worker. An exchange of i and
   * j is the projection {@code I - (e_i - e_j)(e_i - e_j)^T / 2}; the gap follows from an
   * eigenvalue of its mean over all pairs.
   */
  @Override
  public double spectralGap() {
    int size = group.size();
    if (size == 1) {
      return 1;
    }
    int passives = size / 2;
    int actives = size - passives;
    double share = 0.5 / (actives * passives);
    double[][] mean = new double[size][size];
    for (int i = 0; i < size; i++) {
      int partners = i % 2 == 0 ? passives : actives;
      for (int j = 0; j < size; j++) {
        mean[i][j] = i == j ? 1 - partners * share : (i + j) % 2 == 1 ? share : 0;
      }
    }
    return 1 - Math.pow(MixingMatrix.of(mean).secondEigenvalue(), actives);
  }

  private void answer(int other, TensorView first) {
    float[] theirs = new float[replica.length()];
    first.copyTo(theirs, pieces.start(0));
    receive(other, REQUEST, 1, theirs);
    send(other, ANSWER);
    rounds[other]++;
    averageWith(theirs);
  }

  private void averageWith(float[] theirs) {
    float[] mine = replica.parameters();
    for (int i = 0; i < mine.length; i++) {
      theirs[i] = 0.5f * (mine[i] + theirs[i]);
    }
    replica.setParameters(theirs);
  }

  private void step(LocalGradient gradient) {
    double samples = (double) gradient.samples() * group.size();
    if (!replica.step(optimizer, gradient, samples)) {
      timing = timing.plusSkipped();
    }
  }

  private void send(int other, int phase) {
    for (int piece = 0; piece < pieces.count(); piece++) {
      FloatBuffer values = pieces.in(replica.parameters(), piece);
      context.peers().send(others.get(other), tag(other, phase, piece), context.type(), values);
    }
  }

  private void receive(int other, int phase, int from, float[] vector) {
    int rank = others.get(other);
    for (int piece = from; piece < pieces.count(); piece++) {
      TensorView tensor = context.peers().receive(rank, tag(other, phase, piece));
      pieces.checked(tensor, piece, rank).copyTo(vector, pieces.start(piece));
    }
  }

  /** Tags a message. Exchanges are counted per pair. */
  private Tag tag(int other, int phase, int piece) {
    return new Tag(InitialSync.ROUNDS + rounds[other], phase, piece);
  }

  /** Registers the strategy as {@code gossip}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "gossip";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      settings.refuseUnknown();
      // Workers exchange with any that are present, and one that takes no step still answers.
      return StrategyFactory.besideWorkers(
          StrategyTraits.atWorkers(Rounds.INDEPENDENT), Gossip::new);
    }
  }
}
