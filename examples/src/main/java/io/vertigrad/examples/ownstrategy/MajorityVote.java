package io.vertigrad.examples.ownstrategy;

import io.vertigrad.collective.AllReduce;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;

/**
 * SignSGD with majority vote (Bernstein, Wang, Azizzadenesheli, Anandkumar, ICML 2018). Each worker
 * votes with the signs of its gradient, and all step by the sign of the sum. One worker, however
 * large its gradient, has one vote an element. Running statistics are averaged.
 */
final class MajorityVote implements PeerStrategy {

  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;
  private PeerGroup group;
  private AllReduce allReduce;
  private long round;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  MajorityVote(PeerContext context) {
    this.context = context;
    this.replica = context.replica();
    this.optimizer = context.optimizers().apply(context.optimizer());
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    allReduce = AllReduce.of(context, now, replica.length());
    new InitialSync(context, now).copyFurthest(fresh, optimizer, new float[0]);
    round = InitialSync.ROUNDS;
  }

  @Override
  public void begin() {}

  @Override
  public boolean beginsWithParameters() {
    return false;
  }

  @Override
  public void complete(LocalGradient gradient) {
    long ready = context.nanoClock().getAsLong();
    float[] votes = gradient.values();
    signs(votes, replica.trainable());
    allReduce.sum(round++, votes);
    signs(votes, replica.trainable());
    AllReduce.divide(votes, replica.trainable(), replica.length(), group.size());
    timing = timing.plus(ready, ready, context.peers().arrivedNanos());
    replica.step(optimizer, votes, (double) gradient.samples() * group.size());
  }

  /** Replaces elements by -1, 0 or 1; what is not a number stays, so that the step is skipped. */
  private static void signs(float[] values, int length) {
    for (int i = 0; i < length; i++) {
      values[i] = Math.signum(values[i]);
    }
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  @Override
  public double spectralGap() {
    return 1;
  }
}
