package io.vertigrad.internal.worker;

import io.vertigrad.compute.Block;
import io.vertigrad.internal.exchange.PartitionExchange;
import io.vertigrad.job.Partition;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * A gradient's round with the servers that begins while the gradient is computed: partitions are
 * looked at and sent as they become final, those of the last layers first, and of several at once
 * the front one. Answers wait until the gradient is there, because it is computed at the parameters
 * that they replace.
 *
 * <p>A partition that is not finite stops it. What had been sent before stays sent: it is rare,
 * because what is wrong with a batch or with the parameters shows in the last layer's gradient.
 */
final class OverlappedRound implements ParameterExchange.Overlap, AutoCloseable {

  private final OutgoingGradient gradient;
  private final PartitionExchange exchange;
  private final IntFunction<GradientRound> rounds;
  private GradientRound round;
  private PartitionExchange.OpenRound open;
  private Optional<Partition> broken = Optional.empty();

  /**
   * A round that has not begun.
   *
   * @param rounds makes it for so many samples
   */
  OverlappedRound(
      OutgoingGradient gradient, PartitionExchange exchange, IntFunction<GradientRound> rounds) {
    this.gradient = gradient;
    this.exchange = exchange;
    this.rounds = rounds;
  }

  @Override
  public void begin(int samples) {
    gradient.begin();
    round = rounds.apply(samples);
    round.compute();
    open = exchange.begin(round);
  }

  @Override
  public void ready(int first) {
    if (broken.isPresent()) {
      return;
    }
    broken =
        round.order().stream()
            .filter(each -> each.kind() == Block.Kind.TRAINABLE && each.first() >= first)
            .filter(each -> !gradient.isSendable(each))
            .findFirst();
    if (broken.isEmpty()) {
      round.readyFrom(first);
      open.sendReady();
    }
  }

  /**
   * All of the gradient is there.
   *
   * @return the first partition that was found to break it
   */
  Optional<Partition> computed() {
    round.computed();
    if (broken.isEmpty()) {
      broken = gradient.rest();
    }
    return broken;
  }

  /** True when some of it is on its way. */
  boolean sentAny() {
    return round.unsent().size() < round.order().size();
  }

  /** Has whatever of a broken gradient was not sent travel as zeros; says what became of it. */
  String leaveOutRest() {
    List<Partition> unsent = round.unsent();
    gradient.leaveOut(unsent);
    return ("partition %d held NaN, infinity or an element beyond exchange.maxMagnitude; %d partitions"
            + " had been sent before (exchange.overlap) and are applied, %d are not")
        .formatted(
            broken.orElseThrow().index(), round.order().size() - unsent.size(), unsent.size());
  }

  /** The round, to ask what became of it. */
  GradientRound round() {
    return round;
  }

  /** Sends what is left and waits for all answers. */
  PartitionExchange.Ending finish() {
    return open.finish();
  }

  @Override
  public void close() {
    if (open != null) {
      open.close();
    }
  }
}
