package io.vertigrad.federated;

import io.vertigrad.collective.InitialSync;
import io.vertigrad.collective.MixingMatrix;
import io.vertigrad.collective.Topology;
import io.vertigrad.collective.VectorSlices;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.GroupChangedException;
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
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Decentralized training that withstands wrong neighbours (He, Karimireddy, Jaggi 2022): each
 * worker takes a step of its own, and then moves towards its neighbours, but towards none by more
 * than a radius:
 *
 * <pre>
 * h_i &lt;- step(x_i, g_i)
 * x_i &lt;- h_i + sum_j W_ij clip(h_j - h_i, radius_i)
 * </pre>
 *
 * <p>Only trainable elements are exchanged and clipped; each worker's running statistics follow its
 * own batches. A neighbour whose vector holds NaN or infinity is left out of the round. A worker
 * reports how far its farthest neighbour is, as the scalar {@code neighbour.RANK.distance}, once
 * that was {@value #FAR} times as far as the median of its neighbours.
 *
 * <p>A round that is given up because the group changes has no effect: parameters, count and the
 * optimizer's state are as they were before the step. So between two steps there is nothing to
 * remember besides the replica and the optimizer.
 */
final class ClippedGossip implements PeerStrategy {

  /** A neighbour is worth a report from so many times the median distance on. */
  private static final double FAR = 2;

  /** Reported of a neighbour that is infinitely far: its vector holds NaN or infinity. */
  private static final double MOST_RATIO = 1e6;

  private static final int MOST_REPORTED = 16;

  private final Config config;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;

  /** The neighbours that were once far, of which each round is reported from then on. */
  private final Set<Integer> reported = new HashSet<>();

  private PeerGroup group;
  private Topology topology;
  private int[] sources;
  private double[] weights;
  private double wrong;
  private long round;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  ClippedGossip(Config config, PeerContext context) {
    this.config = config;
    this.context = context;
    this.replica = context.replica();
    this.optimizer = context.optimizers().apply(context.optimizer());
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    topology = Topology.named(config.topology(), now.size());
    MixingMatrix matrix = topology.at(0);
    sources = matrix.sources(now.position());
    weights = Arrays.stream(sources).mapToDouble(j -> matrix.weight(now.position(), j)).toArray();
    wrong = config.wrongWeight(weights);
    new InitialSync(context, now).synchronize(fresh);
    round = InitialSync.ROUNDS;
  }

  /** Does nothing: neighbours exchange what their steps lead to. */
  @Override
  public void begin() {}

  @Override
  public boolean beginsWithParameters() {
    return false;
  }

  @Override
  public void complete(LocalGradient gradient) {
    double samples = (double) gradient.samples() * group.size();
    if (group.size() == 1) {
      count(replica.step(optimizer, gradient, samples));
      return;
    }
    float[] before = replica.parameters().clone();
    float[] state = Replica.state(optimizer);
    long updates = replica.updates();
    double counted = replica.samples();
    boolean stepped = replica.step(optimizer, gradient, samples);
    try {
      replica.setParameters(mixed(replica.parameters()));
    } catch (GroupChangedException | ExchangeException givenUp) {
      replica.setParameters(before);
      replica.resume(updates, counted);
      optimizer.writeState(FloatBuffer.wrap(state));
      throw givenUp;
    }
    count(stepped);
    round++;
  }

  private void count(boolean stepped) {
    timing = stepped ? timing : timing.plusSkipped();
  }

  /** Returns the worker's vector after it has moved towards those of its neighbours. */
  private float[] mixed(float[] own) {
    long begun = context.nanoClock().getAsLong();
    VectorSlices pieces = new VectorSlices(0, replica.trainable(), context.pieceElements());
    int[] targets = topology.at(0).targets(group.position());
    for (int piece = 0; piece < pieces.count(); piece++) {
      Tag tag = new Tag(round, 0, piece);
      for (int target : targets) {
        context.peers().send(group.rank(target), tag, context.type(), pieces.in(own, piece));
      }
    }
    float[][] neighbours = new float[sources.length][];
    for (int j = 0; j < sources.length; j++) {
      neighbours[j] = received(group.rank(sources[j]), pieces);
    }
    timing = timing.plus(begun, begun, context.peers().arrivedNanos());
    double[] distances = SelfCentredClipping.distances(own, neighbours);
    double radius =
        config.clipRadius() > 0
            ? config.clipRadius()
            : SelfCentredClipping.radius(distances, weights, wrong);
    SelfCentredClipping.mix(own, neighbours, distances, weights, radius);
    reportFarthest(distances);
    return own;
  }

  /** Reports how far the farthest neighbour is over the median of all, if it was ever far. */
  private void reportFarthest(double[] distances) {
    if (distances.length < 2) {
      return;
    }
    double[] sorted = distances.clone();
    Arrays.sort(sorted);
    double most = sorted[sorted.length - 1];
    double usual = sorted[(sorted.length - 1) / 2];
    double ratio = most == 0 ? 1 : Math.min(MOST_RATIO, most / usual);
    int farthest = group.rank(sources[indexOf(most, distances)]);
    if (ratio >= FAR && reported.size() < MOST_REPORTED) {
      reported.add(farthest);
    }
    if (reported.contains(farthest)) {
      replica.report("neighbour.%s.distance".formatted(farthest), ratio);
    }
  }

  private static int indexOf(double value, double[] values) {
    return IntStream.range(0, values.length).filter(i -> values[i] == value).findFirst().orElse(0);
  }

  private float[] received(int rank, VectorSlices pieces) {
    float[] vector = new float[replica.trainable()];
    List<Tag> tags =
        IntStream.range(0, pieces.count()).mapToObj(piece -> new Tag(round, 0, piece)).toList();
    context
        .peers()
        .receive(
            rank,
            tags,
            (tag, tensor) ->
                pieces
                    .checked(tensor, tag.piece(), rank)
                    .copyTo(vector, pieces.start(tag.piece())));
    return vector;
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  /** Returns that of the topology, as if no neighbour was clipped. */
  @Override
  public double spectralGap() {
    return topology.spectralGap();
  }

  /**
   * The strategy's section of a job file.
   *
   * @param topology {@code ring} or {@code complete}
   * @param liars number of wrong workers among the neighbours of any worker to withstand: f
   * @param clipRadius longest difference from a neighbour that counts in full; 0 to follow the
   *     distances of the nearest neighbours
   */
  record Config(String topology, int liars, double clipRadius) {

    private static final int MOST_WORKERS = 4096;

    static Config read(Settings settings) {
      Config config =
          new Config(
              settings.choice("topology", "ring", "ring", "complete"),
              settings.integer("liars", 1, 0, MOST_WORKERS),
              settings.number("clipRadius", 0, 0, Float.MAX_VALUE));
      if (config.clipRadius > 0 && settings.has("liars")) {
        throw settings.refuse(
            "liars",
            "is %s beside a clipRadius of %s, expected one of them: without a radius, it follows from liars"
                .formatted(config.liars, config.clipRadius));
      }
      settings.refuseUnknown();
      return config;
    }

    private void check(JobConfig job) {
      if (job.pipeline().isPresent()) {
        throw job.settings()
            .section("strategy")
            .refuse(
                "name",
                "is \"clippedGossip\" with a pipeline, expected \"dpsgd\": a stage would compare its part of the model alone");
      }
      int workers = job.workers().count();
      int neighbours = topology.equals("ring") ? Math.min(2, workers - 1) : workers - 1;
      if (clipRadius == 0 && 2 * liars > neighbours) {
        throw job.settings()
            .section("strategy")
            .refuse(
                "liars",
                "is %s with topology \"%s\" and %s workers, expected at most %s: half of a worker's neighbours; use %s"
                    .formatted(
                        liars,
                        topology,
                        workers,
                        neighbours / 2,
                        2 * liars <= workers - 1 ? "\"complete\"" : "more workers"));
      }
    }

    /** Returns the weight of the wrong neighbours: that of the {@code liars} heaviest ones. */
    private double wrongWeight(double[] weights) {
      double[] sorted = weights.clone();
      Arrays.sort(sorted);
      return Arrays.stream(sorted, Math.max(0, sorted.length - liars), sorted.length).sum();
    }
  }

  /** Registers the strategy as {@code clippedGossip}. */
  public static final class Provider implements StrategyProvider {

    /** Creates the provider; called by the service loader. */
    public Provider() {}

    @Override
    public String name() {
      return "clippedGossip";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Config config = Config.read(settings);
      return StrategyFactory.besideWorkers(
              StrategyTraits.atWorkers(Rounds.EVERY_RANK),
              context -> new ClippedGossip(config, context))
          .checking(config::check);
    }
  }
}
