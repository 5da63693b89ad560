package io.vertigrad.federated;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import io.vertigrad.strategy.Tag;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * A strategy named {@code lyingGossip}: {@code clippedGossip} in a ring, in which worker 3 sends
 * its neighbours a constant vector.
 */
public final class LyingGossip implements StrategyProvider {

  static final int LIAR = 3;
  static final float LIE = -50;

  /** Creates the provider; called by the {@code ServiceLoader}. */
  public LyingGossip() {}

  @Override
  public String name() {
    return "lyingGossip";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    settings.refuseUnknown();
    return StrategyFactory.besideWorkers(
        StrategyTraits.atWorkers(Rounds.EVERY_RANK), context -> new Gossip(context));
  }

  private static final class Gossip implements PeerStrategy {

    private final LyingPeers peers;
    private final ClippedGossip rule;

    Gossip(PeerContext context) {
      peers = new LyingPeers(context.peers());
      rule =
          new ClippedGossip(
              new ClippedGossip.Config("ring", 1, 0),
              new PeerContext(
                  peers,
                  context.replica(),
                  context.optimizers(),
                  context.optimizer(),
                  context.workers(),
                  context.batch(),
                  context.type(),
                  context.compression(),
                  context.pieceElements(),
                  context.nanoClock()));
    }

    @Override
    public void open(PeerGroup group, boolean fresh) {
      rule.open(group, fresh);
      peers.lie = group.rank(group.position()) == LIAR;
    }

    @Override
    public void begin() {
      rule.begin();
    }

    @Override
    public boolean beginsWithParameters() {
      return rule.beginsWithParameters();
    }

    @Override
    public void complete(LocalGradient gradient) {
      rule.complete(gradient);
    }

    @Override
    public ExchangeTiming timing() {
      return rule.timing();
    }

    @Override
    public double spectralGap() {
      return rule.spectralGap();
    }
  }

  /** The worker's connections; the first parameters are sent as they are. */
  private static final class LyingPeers implements Peers {

    private final Peers peers;
    private boolean lie;

    LyingPeers(Peers peers) {
      this.peers = peers;
    }

    @Override
    public PeerGroup adopt() {
      return peers.adopt();
    }

    @Override
    public void send(int rank, Tag tag, TensorView tensor) {
      peers.send(rank, tag, tensor);
    }

    @Override
    public void send(int rank, Tag tag, DataType type, FloatBuffer values) {
      float[] lies = new float[values.remaining()];
      Arrays.fill(lies, LIE);
      peers.send(rank, tag, Tensor.copyOf(type, lie ? FloatBuffer.wrap(lies) : values));
    }

    @Override
    public Tensor receive(int rank, Tag tag) {
      return peers.receive(rank, tag);
    }

    @Override
    public void receive(int rank, Collection<Tag> tags, BiConsumer<Tag, TensorView> taker) {
      peers.receive(rank, tags, taker);
    }

    @Override
    public Optional<Tensor> poll(int rank, Tag tag) {
      return peers.poll(rank, tag);
    }

    @Override
    public long arrivedNanos() {
      return peers.arrivedNanos();
    }
  }
}
