package io.vertigrad.strategies;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.collective.LeaderGather;
import io.vertigrad.collective.MixingMatrix;
import io.vertigrad.collective.StateAllGather;
import io.vertigrad.collective.Topology;
import io.vertigrad.collective.VectorSlices;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.Function;

/**
 * Decentralized SGD with compressed parameters, CHOCO-SGD; Koloskova et al. 2019. Each worker keeps
 * an estimate y of its own parameters that its neighbours know, too, and sends how far it is off:
 *
 * <pre>
 *   h_i &lt;- step(x_i, g_i)
 *   q_i &lt;- C(h_i - y_i),   sent to the neighbours
 *   y_i &lt;- y_i + q_i,      s_i &lt;- s_i + sum_j W_ij q_j
 *   x_i &lt;- h_i + gamma (s_i - y_i)
 * </pre>
 *
 * <p>{@code s_i = sum_j W_ij y_j}, so a worker stores two vectors however many neighbours it has.
 * Both are in this rule's memory. When the workers of a group do not all hold them for this very
 * group, they exchange their parameters uncompressed once. Statistics stay local.
 */
final class ChocoSgd implements PeerStrategy {

  private static final long VALID_ROUND = InitialSync.ROUNDS;
  private static final long ESTIMATES_ROUND = VALID_ROUND + 1;
  private static final int HASH_ELEMENTS = 2;
  private static final int HALF = 16;
  private static final int NO_GROUP = 0;

  private final Function<PeerGroup, Topology> topologies;
  private final float consensusRate;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;
  private final VectorSlices pieces;
  private final float[] estimate;
  private final float[] mixedEstimates;
  private int estimatesOf = NO_GROUP;
  private PeerGroup group;
  private Topology topology;
  private long round;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  /**
   * Creates the rule.
   *
   * @param topologies returns a topology with the same matrix in every round
   * @param consensusRate gamma, above 0 and at most 1
   */
  ChocoSgd(Function<PeerGroup, Topology> topologies, double consensusRate, PeerContext context) {
    this.topologies = topologies;
    this.consensusRate = (float) consensusRate;
    this.context = context;
    this.replica = context.replica();
    this.optimizer = context.optimizers().apply(context.optimizer());
    this.pieces = new VectorSlices(0, replica.trainable(), context.pieceElements());
    this.estimate = new float[replica.trainable()];
    this.mixedEstimates = new float[replica.trainable()];
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    topology = topologies.apply(now);
    StateAllGather states = new InitialSync(context, now).synchronize(fresh);
    boolean valid = !fresh && estimatesOf == hash(now);
    if (states.allFresh()) {
      System.arraycopy(replica.parameters(), 0, estimate, 0, estimate.length);
      System.arraycopy(replica.parameters(), 0, mixedEstimates, 0, estimate.length);
    } else if (!allValid(valid)) {
      exchangeParameters();
    }
    estimatesOf = hash(now);
    round = ESTIMATES_ROUND + 1;
  }

  /** Does nothing: a worker sends after its step. */
  @Override
  public void begin() {}

  @Override
  public boolean beginsWithParameters() {
    return false;
  }

  @Override
  public void complete(LocalGradient gradient) {
    double samples = (double) gradient.samples() * group.size();
    estimatesOf = NO_GROUP;
    if (!replica.step(optimizer, gradient, samples)) {
      timing = timing.plusSkipped();
    }
    float[] parameters = replica.parameters();
    exchangeDifferences(parameters);
    for (int i = 0; i < estimate.length; i++) {
      parameters[i] += consensusRate * (mixedEstimates[i] - estimate[i]);
    }
    estimatesOf = hash(group);
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

  @Override
  public float[] memory() {
    float[] memory = new float[2 * estimate.length + HASH_ELEMENTS];
    FloatBuffer.wrap(memory)
        .put(estimate)
        .put(mixedEstimates)
        .put(estimatesOf & 0xffff)
        .put(estimatesOf >>> HALF);
    return memory;
  }

  @Override
  public void restore(float[] memory) {
    if (memory.length == 0) {
      Arrays.fill(estimate, 0);
      Arrays.fill(mixedEstimates, 0);
      estimatesOf = NO_GROUP;
      return;
    }
    FloatBuffer values = FloatBuffer.wrap(memory).get(estimate).get(mixedEstimates);
    estimatesOf = (int) values.get() | (int) values.get() << HALF;
  }

  /** Returns whether every worker has the estimates of this group. */
  private boolean allValid(boolean own) {
    return LeaderGather.decide(
                context.peers(),
                group,
                new Tag(VALID_ROUND, 0, 0),
                new Tag(VALID_ROUND, 1, 0),
                number(own ? 1 : 0),
                all -> number(all.stream().mapToInt(ByteBuffer::getInt).min().orElseThrow()))
            .getInt()
        == 1;
  }

  private static ByteBuffer number(int value) {
    return ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).putInt(value).flip();
  }

  private void exchangeParameters() {
    MixingMatrix matrix = topology.at(0);
    float[] parameters = replica.parameters();
    System.arraycopy(parameters, 0, estimate, 0, estimate.length);
    Arrays.fill(mixedEstimates, 0);
    for (int piece = 0; piece < pieces.count(); piece++) {
      TensorView own = pieces.of(parameters, piece, DataType.FLOAT32);
      send(matrix, new Tag(ESTIMATES_ROUND, 0, piece), own);
      mix(matrix, piece, own);
    }
    receive(matrix, ESTIMATES_ROUND);
  }

  private void exchangeDifferences(float[] parameters) {
    long begun = context.nanoClock().getAsLong();
    MixingMatrix matrix = topology.at(0);
    float[] difference = new float[estimate.length];
    for (int i = 0; i < difference.length; i++) {
      difference[i] = parameters[i] - estimate[i];
    }
    for (int piece = 0; piece < pieces.count(); piece++) {
      int start = pieces.start(piece);
      int length = Math.min(context.pieceElements(), difference.length - start);
      Tensor own = context.compression().of(FloatBuffer.wrap(difference, start, length));
      own.addTo(estimate, start, 1);
      send(matrix, new Tag(round, 0, piece), own);
      mix(matrix, piece, own);
    }
    receive(matrix, round);
    if (group.size() > 1) {
      timing = timing.plus(begun, begun, context.peers().arrivedNanos());
    }
  }

  private void send(MixingMatrix matrix, Tag tag, TensorView tensor) {
    for (int target : matrix.targets(group.position())) {
      context.peers().send(group.rank(target), tag, tensor);
    }
  }

  private void mix(MixingMatrix matrix, int piece, TensorView own) {
    int self = group.position();
    own.addTo(mixedEstimates, pieces.start(piece), (float) matrix.weight(self, self));
  }

  private void receive(MixingMatrix matrix, long number) {
    int self = group.position();
    for (int source : matrix.sources(self)) {
      int rank = group.rank(source);
      for (int piece = 0; piece < pieces.count(); piece++) {
        TensorView tensor = context.peers().receive(rank, new Tag(number, 0, piece));
        pieces
            .checked(tensor, piece, rank)
            .addTo(mixedEstimates, pieces.start(piece), (float) matrix.weight(self, source));
      }
    }
  }

  /** Returns a number that is equal for equal groups; never {@link #NO_GROUP}. */
  private static int hash(PeerGroup group) {
    return group.ranks().hashCode() | 1;
  }
}
