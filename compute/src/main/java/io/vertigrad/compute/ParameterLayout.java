package io.vertigrad.compute;

import io.vertigrad.codecs.Addresses;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The order of a model's arrays in the exchange vector: all trainable blocks, then all statistics.
 *
 * <p>The exchange vector is what travels. An engine may keep its own order in memory and gather.
 */
public record ParameterLayout(List<Block> blocks) {

  /**
   * Orders the blocks: trainable first, statistics last, otherwise as given.
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
   * Elements the optimizer steps; they are the head of the exchange vector.
   *
   * @return a number of elements
   */
  public int trainable() {
    return length(Block.Kind.TRAINABLE);
  }

  /**
   * Elements that are running statistics; they are its tail.
   *
   * @return a number of elements
   */
  public int statistics() {
    return length(Block.Kind.STATISTIC);
  }

  /**
   * Elements of the whole exchange vector.
   *
   * @return a number of elements
   */
  public int length() {
    return trainable() + statistics();
  }

  /**
   * Equal for equal layouts; carried by every frame so that different models never mix.
   *
   * @return the hash
   */
  public long hash() {
    return Addresses.hash(blocks.toString());
  }

  /**
   * Where another layout first differs from this one, in words that name the block.
   *
   * @param other another model's layout
   * @return the difference; empty when there is none
   */
  public Optional<String> firstDifference(ParameterLayout other) {
    int shared = Math.min(blocks.size(), other.blocks.size());
    for (int i = 0; i < shared; i++) {
      if (!blocks.get(i).equals(other.blocks.get(i))) {
        return Optional.of(
            "block %d: found %s, expected %s"
                .formatted(i, describe(other.blocks.get(i)), describe(blocks.get(i))));
      }
    }
    if (blocks.size() == other.blocks.size()) {
      return Optional.empty();
    }
    List<Block> longer = blocks.size() > shared ? blocks : other.blocks;
    return Optional.of(
        "found %d blocks, expected %d: %s is in one only"
            .formatted(other.blocks.size(), blocks.size(), describe(longer.get(shared))));
  }

  private int length(Block.Kind kind) {
    return blocks.stream()
        .filter(block -> block.kind() == kind)
        .mapToInt(Block::length)
        .reduce(0, Math::addExact);
  }

  private static String describe(Block block) {
    return "%s %s %s".formatted(block.kind().name().toLowerCase(), block.name(), block.shape());
  }
}
