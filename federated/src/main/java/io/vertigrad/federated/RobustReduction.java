package io.vertigrad.federated;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Divergence;
import io.vertigrad.strategy.Barrier.Reduction;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Combines the updates of a round of one partition so that a few wrong workers cannot decide the
 * result, and steps with it.
 *
 * <p>A rule about whole vectors needs their inner products. Each trainable partition computes its
 * part of them before the step, and the parts are summed over all partitions of the job. So all
 * partitions compute the same coefficients and combine their own elements: {@code sum_j c_j u_j}.
 * For n workers a sum has about {@code n^2 / 2} numbers, or {@code 2 n} for centred clipping
 * without a mixing. A worker whose update did not reach all partitions gets the coefficient 0.
 *
 * <p>Coordinate-wise rules need no sum before the step. Statistics, such as those of batch
 * normalisation, are combined by the coordinate-wise median whatever the rule: they are no part of
 * the vectors that it compares.
 *
 * <p>An update that holds NaN or infinity in a partition counts as left out in all of them; without
 * sums, in that partition. A round that has no other updates changes nothing. The job ends when
 * more workers than the reduction must withstand have sent such updates for {@value
 * Divergence#REFUSED_IN_SEQUENCE} rounds in sequence.
 *
 * <p>All updates count alike, whatever number of samples their workers claim: a wrong worker could
 * claim most of them.
 *
 * <p>All updates of a round are kept until its step. After the step the partitions sum how far each
 * update was from the result, without waiting for it and perhaps not in each round; see {@link
 * RoundFacts}.
 */
final class RobustReduction implements Reduction {

  /** Elements that are combined together: their sums in double fit the first-level cache. */
  private static final int COMBINED = 1024;

  /** Rounds of gradients are many: the facts of some say as much, and cost a pass over them. */
  private static final int FACTS_EVERY = 4;

  private static final float[] ZEROS = new float[RoundVectors.BLOCK];

  private final ReductionConfig config;
  private final ServerStrategyContext context;
  private final boolean trainable;
  private final Mixing mixing;
  private final float[] memory;
  private final Step step;
  private final RoundFacts.Listener listener;
  private final int factsEvery;
  private final Expulsion expulsion;
  private final GramProducts products = new GramProducts();
  private final float[] aggregate;
  private final float[] block = new float[RoundVectors.BLOCK];
  private final BitSet finite = new BitSet();
  private TrimmedMean byCoordinate;
  private Decision decision;
  private int spoiltRounds;

  /** Takes exactly one step of a partition. */
  @FunctionalInterface
  interface Step {

    /**
     * Takes the step.
     *
     * @param aggregate of the round's updates; may be overwritten
     * @param samples number of training samples behind all updates
     */
    void take(float[] aggregate, long samples);
  }

  /**
   * How the updates of a round are combined.
   *
   * @param whole positions of the updates that take part, in rank order
   * @param coefficients of these, and of the previous aggregate if the rule uses it; empty for a
   *     coordinate-wise rule
   * @param mixing one row for each mixed vector of a coordinate-wise rule; empty for the updates
   *     themselves
   * @param gram inner products of the same vectors; empty if they are not known
   * @param notFinite ranks of the updates that are left out because they are not finite
   */
  private record Decision(
      int[] whole,
      double[] coefficients,
      double[][] mixing,
      Optional<GramMatrix> gram,
      List<Integer> notFinite) {

    boolean isByCoordinate() {
      return coefficients.length == 0;
    }
  }

  /**
   * Creates the reduction of one partition.
   *
   * @param seed of the job
   * @param memory of the partition, of which the first {@link ReductionConfig#memory} elements are
   *     for this reduction
   * @param step steps with the aggregate
   * @param listener receives the facts of rounds if this is the first partition
   * @param factsEvery number of rounds for each whose facts need further sums; at least 1. Where
   *     the facts follow from the inner products, and with expulsion, it is each round
   */
  RobustReduction(
      ReductionConfig config,
      long seed,
      ServerStrategyContext context,
      float[] memory,
      Step step,
      RoundFacts.Listener listener,
      int factsEvery) {
    this.config = config;
    this.context = context;
    this.memory = memory;
    this.step = step;
    this.listener = listener;
    this.factsEvery = config.expel() > 0 ? 1 : factsEvery;
    this.expulsion = new Expulsion(config.expel(), config.liars());
    this.trainable = context.partition().kind() == Block.Kind.TRAINABLE;
    this.mixing = config.mixing(seed);
    this.aggregate = new float[context.partition().length()];
  }

  /** Creates the reduction of one partition that steps with the optimizer and reports scalars. */
  static RobustReduction of(ReductionConfig config, long seed, ServerStrategyContext context) {
    PartitionStore store = context.store();
    int elements = config.memory(context.partition());
    return of(
        config,
        seed,
        context,
        elements == 0 ? new float[0] : store.memory(elements),
        (aggregate, samples) -> store.apply(aggregate, 1, samples),
        FACTS_EVERY);
  }

  /**
   * Creates the reduction of one partition that reports scalars.
   *
   * @param seed of the job
   * @param memory as of the constructor
   * @param step steps with the aggregate
   */
  static RobustReduction of(
      ReductionConfig config,
      long seed,
      ServerStrategyContext context,
      float[] memory,
      Step step,
      int factsEvery) {
    return new RobustReduction(
        config, seed, context, memory, step, facts -> report(facts, context.store()), factsEvery);
  }

  /** Reports how far the update of each worker was from the aggregate, as scalars of the worker. */
  static void report(RoundFacts facts, PartitionStore store) {
    double usual = facts.usualDistance();
    for (RoundFacts.Update update : facts.workers()) {
      if (update.isFinite()) {
        store.report(update.rank(), "update.distance", update.distance() / usual);
        store.report(update.rank(), "update.cosine", update.cosine());
      } else {
        store.report(update.rank(), "update.notFinite", 1);
      }
      store.report(update.rank(), "update.leftOut", update.isLeftOut() ? 1 : 0);
    }
    facts.expelled().forEach(rank -> store.report(rank, "update.expelled", 1));
  }

  @Override
  public Future<?> prepare(List<GradientPartition> updates, PartitionStore store) {
    long version = store.version();
    finite.clear();
    updates.forEach(update -> finite.set(rank(update), update.gradient().isFinite()));
    if (!trainable || !config.sumsPartitions()) {
      decision = ofAll(updates, version);
      return Future.succeededFuture();
    }
    boolean distances = config.usesPrevious() && mixing instanceof Mixing.None;
    RoundShare share = distances ? distances(updates) : products(updates);
    return context
        .sums()
        .sum(2 * version, share.numbers())
        .map(sum -> decision = distances ? byDistances(updates, sum) : byProducts(updates, sum));
  }

  @Override
  public void reduce(List<GradientPartition> updates, PartitionStore store) {
    long version = store.version();
    Decision made = decision;
    requireFinite(made.notFinite(), updates.size(), version);
    if (made.whole().length == 0) {
      store.skipTo(version + 1);
      judge(version, 0, List.of(), made.notFinite());
      return;
    }
    List<GradientPartition> whole = IntStream.of(made.whole()).mapToObj(updates::get).toList();
    boolean measured = trainable && !isKnown(made) && version % factsEvery == 0;
    RoundShare facts = combine(whole, made, measured);
    if (previous().hasRemaining()) {
      store.keepMemory();
      System.arraycopy(aggregate, 0, memory, 0, aggregate.length);
    }
    step.take(aggregate, samples(updates));
    if (isKnown(made)) {
      tell(version, whole, made);
    } else if (measured) {
      context
          .sums()
          .sum(2 * version + 1, facts.numbers())
          .onSuccess(sum -> tell(version, whole, made, sum));
    }
  }

  /**
   * Returns the number of samples behind all updates. The schedule of the optimizer may follow it,
   * so no worker counts for more than the one with the most samples after as many as may lie.
   */
  private long samples(List<GradientPartition> updates) {
    long[] sorted = updates.stream().mapToLong(GradientPartition::samples).sorted().toArray();
    long most = sorted[Math.max(0, sorted.length - 1 - config.liars())];
    return LongStream.of(sorted).map(each -> Math.min(each, most)).sum();
  }

  /** Ends the job if too many updates were not finite in too many rounds in sequence. */
  private void requireFinite(List<Integer> notFinite, int updates, long version) {
    spoiltRounds = notFinite.size() > config.liars() ? spoiltRounds + 1 : 0;
    if (spoiltRounds >= Divergence.REFUSED_IN_SEQUENCE) {
      throw new IllegalStateException(
          "training diverged: version %s: %s of %s updates hold NaN or infinity, those of workers %s, expected at most strategy.liars (%s), and so for %s rounds in sequence; lower optimizer.learningRate, or look at the data"
              .formatted(
                  version, notFinite.size(), updates, notFinite, config.liars(), spoiltRounds));
    }
  }

  /** Returns whether the inner products say how far each update is from the aggregate. */
  private static boolean isKnown(Decision made) {
    return made.gram().isPresent() && !made.isByCoordinate();
  }

  /** Returns the decision of a rule that needs no sums. */
  private Decision ofAll(List<GradientPartition> updates, long version) {
    boolean buckets = trainable && mixing instanceof Mixing.Buckets;
    int[] counted = counted(updates).toArray();
    return new Decision(
        counted,
        new double[0],
        buckets && counted.length > 0
            ? mixing.matrix(null, counted.length, version)
            : new double[0][],
        Optional.empty(),
        updates.stream().map(RobustReduction::rank).filter(rank -> !finite.get(rank)).toList());
  }

  private RoundShare distances(List<GradientPartition> updates) {
    RoundVectors vectors = new RoundVectors(updates, FloatBuffer.allocate(0));
    double[] squares = new double[vectors.size()];
    forEachBlock(
        (first, count) -> {
          System.arraycopy(memory, first, block, 0, count);
          products.addSquaredDistances(vectors.read(first, count), block, 0, count, squares);
        });
    RoundShare share = share(RoundShare.Layout.DISTANCES, updates);
    markNotFinite(share, updates);
    counted(updates).forEach(i -> share.set(rank(updates.get(i)), 1, squares[i]));
    return share;
  }

  private Decision byDistances(List<GradientPartition> updates, double[] sum) {
    RoundShare total = new RoundShare(RoundShare.Layout.DISTANCES, sum);
    int[] whole = whole(updates, total);
    double[] squares = new double[whole.length];
    for (int i = 0; i < whole.length; i++) {
      squares[i] = total.get(rank(updates.get(whole[i])), 1);
    }
    GramRule.CentredClipping rule = (GramRule.CentredClipping) config.rule();
    double[] coefficients = whole.length == 0 ? new double[0] : rule.coefficients(squares);
    return new Decision(
        whole, coefficients, new double[0][], Optional.empty(), notFinite(updates, total));
  }

  private RoundShare products(List<GradientPartition> updates) {
    RoundVectors vectors = new RoundVectors(updates, previous());
    double[] upper = new double[GramMatrix.elements(vectors.size())];
    forEachBlock((first, count) -> products.add(vectors.read(first, count), 0, count, upper));
    GramMatrix gram = new GramMatrix(vectors.size(), upper);
    RoundShare share = share(RoundShare.Layout.PRODUCTS, updates);
    markNotFinite(share, updates);
    int last = updates.size();
    boolean previous = vectors.size() > last;
    if (previous) {
      share.setOwn(gram.product(last, last));
    }
    for (int i : counted(updates).toArray()) {
      int own = i;
      int rank = rank(updates.get(i));
      share.set(rank, 1, previous ? gram.product(i, last) : 0);
      for (int j : counted(updates).filter(other -> other <= own).toArray()) {
        share.set(rank, RoundShare.columnOf(rank(updates.get(j))), gram.product(i, j));
      }
    }
    return share;
  }

  private Decision byProducts(List<GradientPartition> updates, double[] sum) {
    RoundShare total = new RoundShare(RoundShare.Layout.PRODUCTS, sum);
    int[] whole = whole(updates, total);
    int[] ranks = IntStream.of(whole).map(i -> rank(updates.get(i))).toArray();
    List<Integer> notFinite = notFinite(updates, total);
    if (whole.length == 0) {
      return new Decision(whole, new double[0], new double[0][], Optional.empty(), notFinite);
    }
    GramMatrix gram = gram(total, ranks);
    long version = context.store().version();
    if (config.kind().isByCoordinate()) {
      double[][] matrix = mixing.matrix(gram, whole.length, version);
      return new Decision(whole, new double[0], matrix, Optional.of(gram), notFinite);
    }
    double[] equal = new double[whole.length];
    Arrays.fill(equal, 1);
    double[] coefficients = new MixedRule(config.rule(), mixing).coefficients(gram, equal, version);
    return new Decision(whole, coefficients, new double[0][], Optional.of(gram), notFinite);
  }

  private GramMatrix gram(RoundShare total, int[] ranks) {
    int size = ranks.length + (config.usesPrevious() ? 1 : 0);
    double[] upper = new double[GramMatrix.elements(size)];
    int next = 0;
    for (int i = 0; i < size; i++) {
      for (int j = i; j < size; j++) {
        boolean last = j == ranks.length;
        upper[next++] =
            i == ranks.length
                ? total.own()
                : last
                    ? total.get(ranks[i], 1)
                    : total.get(ranks[j], RoundShare.columnOf(ranks[i]));
      }
    }
    return new GramMatrix(size, upper);
  }

  /** Computes the aggregate, and if it is to be measured, how far each update is from it. */
  private RoundShare combine(List<GradientPartition> whole, Decision made, boolean measured) {
    RoundVectors vectors = new RoundVectors(whole, previous());
    double[] squares = new double[vectors.size()];
    double[] inner = new double[vectors.size()];
    double[] norm = new double[1];
    forEachBlock(
        (first, count) -> {
          float[][] read = vectors.read(first, count);
          combine(read, made, count);
          System.arraycopy(block, 0, aggregate, first, count);
          if (measured) {
            products.addSquaredDistances(read, block, 0, count, squares);
            products.addProducts(read, block, 0, count, inner);
            products.addSquaredDistances(new float[][] {block}, ZEROS, 0, count, norm);
          }
        });
    RoundShare facts =
        new RoundShare(
            RoundShare.Layout.FACTS,
            Math.max(
                rank(whole.get(whole.size() - 1)),
                made.notFinite().stream().mapToInt(rank -> rank).max().orElse(0)));
    made.notFinite().forEach(facts::setNotFinite);
    facts.setOwn(norm[0]);
    for (int i = 0; i < whole.size(); i++) {
      facts.set(rank(whole.get(i)), 1, squares[i]);
      facts.set(rank(whole.get(i)), 2, inner[i]);
    }
    return facts;
  }

  /** Combines a block of all vectors into {@link #block}. */
  private void combine(float[][] read, Decision made, int count) {
    if (!made.isByCoordinate()) {
      for (int first = 0; first < count; first += COMBINED) {
        int part = Math.min(COMBINED, count - first);
        products.combine(read, made.coefficients(), first, part, block, first);
      }
    } else if (made.mixing().length > 0) {
      sorted(made.mixing().length).reduce(read, made.mixing(), 0, count, block);
    } else {
      sorted(read.length).reduce(read, 0, count, block);
    }
  }

  private TrimmedMean sorted(int vectors) {
    if (byCoordinate == null || byCoordinate.vectors() != vectors) {
      byCoordinate = trainable ? config.byCoordinate(vectors) : TrimmedMean.median(vectors);
    }
    return byCoordinate;
  }

  /** Takes how far the updates of a round were from the aggregate, by their inner products. */
  private void tell(long version, List<GradientPartition> whole, Decision made) {
    GramMatrix gram = made.gram().orElseThrow();
    double[] squares = gram.squaredDistancesTo(made.coefficients());
    double[] inner = gram.productsWith(made.coefficients());
    double norm = gram.squaredNorm(made.coefficients());
    List<RoundFacts.Update> workers = new ArrayList<>();
    for (int i = 0; i < whole.size(); i++) {
      workers.add(
          fact(
              rank(whole.get(i)),
              gram.product(i, i),
              inner[i],
              Math.sqrt(squares[i]),
              Math.sqrt(norm),
              share(made, i)));
    }
    judge(version, Math.sqrt(norm), workers, made.notFinite());
  }

  /** Takes how far the updates of a round were from the aggregate, by the sum of all partitions. */
  private void tell(long version, List<GradientPartition> whole, Decision made, double[] sum) {
    RoundShare total = new RoundShare(RoundShare.Layout.FACTS, sum);
    List<RoundFacts.Update> workers = new ArrayList<>();
    List<Integer> notFinite =
        IntStream.range(0, total.ranks()).filter(total::isNotFinite).boxed().toList();
    for (int i : whole(whole, total)) {
      int rank = rank(whole.get(i));
      double square = total.get(rank, 1);
      double product = total.get(rank, 2);
      double update = square + 2 * product - total.own();
      workers.add(
          fact(rank, update, product, Math.sqrt(square), Math.sqrt(total.own()), share(made, i)));
    }
    judge(version, Math.sqrt(total.own()), workers, notFinite);
  }

  /** Expels workers whose updates do not fit. The first partition passes the facts on. */
  private void judge(
      long version, double norm, List<RoundFacts.Update> workers, List<Integer> notFinite) {
    List<RoundFacts.Update> all = new ArrayList<>(workers);
    notFinite.stream()
        .filter(rank -> !expulsion.isExpelled(rank))
        .forEach(rank -> all.add(RoundFacts.Update.notFinite(rank)));
    expulsion.judge(all);
    if (context.partition().index() == 0) {
      listener.roundEnded(new RoundFacts(version, norm, all, expulsion.expelled()));
    }
  }

  private static double share(Decision made, int position) {
    return made.isByCoordinate() ? Double.NaN : made.coefficients()[position] * made.whole().length;
  }

  /**
   * Returns what is known of an update. The cosine is that of the inner product itself: the squares
   * of a huge update would hide it.
   *
   * @param square of its norm, within rounding
   * @param product with the aggregate
   */
  private static RoundFacts.Update fact(
      int rank, double square, double product, double distance, double aggregate, double share) {
    double norm = Math.sqrt(Math.max(0, square));
    double cosine = Math.max(-1, Math.min(1, product / norm / aggregate));
    return new RoundFacts.Update(rank, norm, distance, cosine, share);
  }

  private FloatBuffer previous() {
    return FloatBuffer.wrap(memory, 0, config.memory(context.partition()));
  }

  private static RoundShare share(RoundShare.Layout layout, List<GradientPartition> updates) {
    return new RoundShare(layout, rank(updates.get(updates.size() - 1)));
  }

  /**
   * Returns the positions of the finite updates whose workers are not expelled. An expelled one is
   * not in the sums either, so it is whole in no partition, whichever learned of it first.
   */
  private IntStream counted(List<GradientPartition> updates) {
    return IntStream.range(0, updates.size())
        .filter(i -> finite.get(rank(updates.get(i))))
        .filter(i -> !expulsion.isExpelled(rank(updates.get(i))));
  }

  /**
   * Returns the positions of the updates that all partitions have. A round has the updates of all
   * ranks, so other partitions have expelled a worker whose update they lack.
   */
  private int[] whole(List<GradientPartition> updates, RoundShare total) {
    updates.stream()
        .mapToInt(RobustReduction::rank)
        .filter(rank -> rank < context.ranks() && !total.isWhole(rank))
        .filter(rank -> !total.isNotFinite(rank))
        .forEach(expulsion::follow);
    return IntStream.range(0, updates.size())
        .filter(i -> total.isWhole(rank(updates.get(i))))
        .toArray();
  }

  private void markNotFinite(RoundShare share, List<GradientPartition> updates) {
    updates.stream()
        .mapToInt(RobustReduction::rank)
        .filter(rank -> !finite.get(rank) && !expulsion.isExpelled(rank))
        .forEach(share::setNotFinite);
  }

  private static List<Integer> notFinite(List<GradientPartition> updates, RoundShare total) {
    return updates.stream().map(RobustReduction::rank).filter(total::isNotFinite).toList();
  }

  private static int rank(GradientPartition update) {
    return update.id().worker();
  }

  /** Work on a block of elements. */
  @FunctionalInterface
  private interface BlockAction {

    void on(int first, int count);
  }

  private void forEachBlock(BlockAction action) {
    for (int first = 0; first < aggregate.length; first += RoundVectors.BLOCK) {
      action.on(first, Math.min(RoundVectors.BLOCK, aggregate.length - first));
    }
  }
}
