package io.vertigrad.federated;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.LongInFloats;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.Block;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;
import java.util.Arrays;

/**
 * FedBuff: collects the updates of workers that never wait, and steps when there are {@code K}.
 * Nguyen et al., "Federated learning with buffered asynchronous aggregation", 2022.
 *
 * <p>{@code p <- p - rate sum_i s(t_i) n_i u_i / sum_i n_i} over the {@code K} updates, where
 * {@code u_i} is how far worker {@code i} has moved, {@code n_i} its samples, the staleness {@code
 * t_i} the number of versions since the parameters that it began with, and {@code s(t) = 1 / sqrt(1
 * + t)}. The paper counts all updates alike, which is the same with equal numbers of samples.
 * Statistics are averaged without {@code s}.
 *
 * <p>An update is answered at once with the newest parameters. Until its step it is in the
 * partition's memory, and so in its checkpoints: an answered update is not sent again.
 */
final class BufferedUpdates implements ServerStrategy {

  private static final int COUNT = 0;
  private static final int FIRST_SAMPLES = 1;
  private static final int SAMPLES = FIRST_SAMPLES + LongInFloats.LENGTH;
  private static final int NUMBERS = SAMPLES + LongInFloats.LENGTH;

  private final int buffer;
  private final boolean statistic;
  private final ServerStrategyContext context;
  private final int length;
  private final float[] memory;
  private final float[] step;

  BufferedUpdates(int buffer, ServerStrategyContext context) {
    this.buffer = buffer;
    this.context = context;
    this.statistic = context.partition().kind() == Block.Kind.STATISTIC;
    this.length = context.partition().length();
    this.memory = context.store().memory(length + NUMBERS);
    this.step = new float[length];
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    PartitionStore store = context.store();
    long age = store.version() - update.version();
    int staleness = (int) Math.min(age, Integer.MAX_VALUE);
    store.keepMemory();
    if (memory[length + COUNT] == 0) {
      put(FIRST_SAMPLES, update.samples());
    }
    // Relative to the first, so that equal numbers of samples round nothing.
    double share = (double) update.samples() / number(FIRST_SAMPLES);
    update.gradient().addTo(memory, 0, (float) (weight(staleness) * share));
    put(SAMPLES, number(SAMPLES) + update.samples());
    memory[length + COUNT]++;
    if (memory[length + COUNT] >= buffer) {
      long samples = number(SAMPLES);
      System.arraycopy(memory, 0, step, 0, length);
      store.apply(step, (float) ((double) number(FIRST_SAMPLES) / samples), samples);
      Arrays.fill(memory, 0);
    }
    ExchangeId id = update.id();
    return Future.succeededFuture(context.answers().parameters(id, Outcome.APPLIED, staleness));
  }

  private double weight(int staleness) {
    return statistic ? 1 : 1 / Math.sqrt(1 + (double) staleness);
  }

  private long number(int at) {
    return LongInFloats.get(memory, length + at);
  }

  private void put(int at, long number) {
    LongInFloats.put(memory, length + at, number);
  }

  @Override
  public boolean borrows() {
    return true;
  }

  @Override
  public boolean appliesAtOnce() {
    return true;
  }

  /** Keeps the updates: they stay those of their samples, whoever sent them. */
  @Override
  public void membershipChanged(Membership now) {}

  @Override
  public void tick(long nowNanos) {}

  @Override
  public void close(String why) {}
}
