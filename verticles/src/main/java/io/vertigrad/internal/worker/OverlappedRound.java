package io.vertigrad.internal.worker;

import io.vertigrad.compute.Block;
import io.vertigrad.internal.exchange.PartitionExchange;
import io.vertigrad.job.Partition;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * A round with the servers that begins while the gradient is being computed. Partitions are checked
 * and sent as they become final, those of the last layers first. If several are final at once, they
 * are sent in the order of the round. Answers are held back until the gradient is complete, because
 * the gradient is computed at the parameters that the answers replace.
 *
 * <p>A partition that is not finite stops the sending. Partitions that were sent before stay sent.
 * This is rare, because a bad batch or bad parameters show up in the last layer's gradient.
 */
final class OverlappedRound implements ParameterExchange.Overlap, AutoCloseable {

  private final OutgoingGradient gradient;
  private final PartitionExchange exchange;
  private final IntFunction<GradientRound> rounds;
  private GradientRound round;
  private PartitionExchange.OpenRound open;
  private Optional<Partition> broken = Optional.empty();

  /**
   * Creates a round that has not begun.
   *
   * @param rounds creates the round for a number of samples
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
   * Marks the whole gradient as final and checks the rest of it.
   *
   * @return the first partition that is not sendable
   */
  Optional<Partition> computed() {
    round.computed();
    if (broken.isEmpty()) {
      broken = gradient.rest();
    }
    return broken;
  }

  /** Returns true if some partitions have been sent. */
  boolean sentAny() {
    return round.unsent().size() < round.order().size();
  }

  /** Sends the unsent partitions of a broken gradient as zeros and returns a message about it. */
  String leaveOutRest() {
    List<Partition> unsent = round.unsent();
    gradient.leaveOut(unsent);
    return ("partition %d held NaN, infinity or an element beyond exchange.maxMagnitude; %d partitions"
            + " had been sent before (exchange.overlap) and are applied, %d are not")
        .formatted(
            broken.orElseThrow().index(), round.order().size() - unsent.size(), unsent.size());
  }

  /** Returns the round with its results. */
  GradientRound round() {
    return round;
  }

  /** Sends the remaining partitions and waits for all answers. */
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
