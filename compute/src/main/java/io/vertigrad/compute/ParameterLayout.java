package io.vertigrad.compute;

import io.vertigrad.codecs.Addresses;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The order of a model's arrays in the exchange vector: all trainable blocks, then all statistics.
 *
 * <p>The exchange vector is the form in which parameters and gradients are sent. An engine may use
 * another order in memory and copy.
 */
public record ParameterLayout(List<Block> blocks) {

  /**
   * Orders the blocks: trainable blocks first, statistics last, otherwise as given.
   *
   * @param blocks arrays of the model
   */
  public ParameterLayout {
    List<Block> ordered = new ArrayList<>();
    blocks.stream().filter(b -> b.kind() == Block.Kind.TRAINABLE).forEach(ordered::add);
    blocks.stream().filter(b -> b.kind() == Block.Kind.STATISTIC).forEach(ordered::add);
    blocks = List.copyOf(ordered);
  }

  /**
   * Returns the number of elements that the optimizer updates. They come first in the exchange
   * vector.
   *
   * @return a number of elements
   */
  public int trainable() {
    return length(Block.Kind.TRAINABLE);
  }

  /**
   * Returns the number of elements that are running statistics. They come last in the exchange
   * vector.
   *
   * @return a number of elements
   */
  public int statistics() {
    return length(Block.Kind.STATISTIC);
  }

  /**
   * Returns the length of the whole exchange vector.
   *
   * @return a number of elements
   */
  public int length() {
    return trainable() + statistics();
  }

  /**
   * Returns a hash that is equal for equal layouts. Every frame carries it, so that different
   * models never mix.
   *
   * @return the hash
   */
  public long hash() {
    return Addresses.hash(blocks.toString());
  }

  /**
   * Describes the first block in which another layout differs from this one.
   *
   * @param other another model's layout
   * @return the difference; empty when there is none
   */
  public Optional<String> firstDifference(ParameterLayout other) {
    int shared = Math.min(blocks.size(), other.blocks.size());
    for (int i = 0; i < shared; i++) {
      if (!blocks.get(i).equals(other.blocks.get(i))) {
        return Optional.of(
            "block %s: found %s, expected %s"
                .formatted(i, describe(other.blocks.get(i)), describe(blocks.get(i))));
      }
    }
    if (blocks.size() == other.blocks.size()) {
      return Optional.empty();
    }
    List<Block> longer = blocks.size() > shared ? blocks : other.blocks;
    return Optional.of(
        "found %s blocks, expected %s: %s is in one only"
            .formatted(other.blocks.size(), blocks.size(), describe(longer.get(shared))));
  }

  private int length(Block.Kind kind) {
    return blocks.stream()
        .filter(block -> block.kind() == kind)
        .mapToInt(Block::length)
        .reduce(0, Math::addExact);
  }

  private static String describe(Block block) {
    return "%s %s %s"
        .formatted(block.kind().name().toLowerCase(Locale.ROOT), block.name(), block.shape());
  }
}
