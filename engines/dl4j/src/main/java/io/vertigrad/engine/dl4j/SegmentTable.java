package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Maps ranges of the exchange vector to ranges of a network's flat memory.
 *
 * <p>In memory, batch-norm statistics lie among the trainable arrays; in the exchange vector they
 * come last. So the orders agree only range by range; neighbouring ranges are merged.
 */
final class SegmentTable {

  /**
   * A range that is contiguous in both orders.
   *
   * @param exchange index of its first element in the exchange vector
   * @param memory index of its first element in the network's memory
   * @param length number of elements
   * @param kind whether the optimizer updates it
   */
  record Segment(int exchange, int memory, int length, Block.Kind kind) {

    /**
     * Returns the number of elements that this segment shares with a range; negative if there is
     * none.
     */
    int overlap(int first, int count) {
      return Math.min(exchange + length, first + count) - Math.max(exchange, first);
    }
  }

  private final ParameterLayout layout;
  private final List<Segment> segments;

  private SegmentTable(ParameterLayout layout, List<Segment> segments) {
    this.layout = layout;
    this.segments = segments;
  }

  static SegmentTable of(Network network) {
    long origin = NativeFloats.address(network.parameters());
    List<Network.Parameter> inMemory =
        network.arrays().stream()
            .sorted(Comparator.comparingLong(p -> NativeFloats.address(p.values())))
            .toList();
    ParameterLayout layout =
        new ParameterLayout(inMemory.stream().map(SegmentTable::block).toList());
    List<Segment> segments = new ArrayList<>();
    int exchange = 0;
    for (Block.Kind kind : List.of(Block.Kind.TRAINABLE, Block.Kind.STATISTIC)) {
      for (Network.Parameter parameter : inMemory) {
        if (parameter.kind() == kind) {
          long bytes = NativeFloats.address(parameter.values()) - origin;
          int memory = Math.toIntExact(bytes / Float.BYTES);
          int length = Math.toIntExact(parameter.values().length());
          append(segments, new Segment(exchange, memory, length, kind));
          exchange += length;
        }
      }
    }
    return new SegmentTable(layout, List.copyOf(segments));
  }

  ParameterLayout layout() {
    return layout;
  }

  /** Returns the segments in the order of the exchange vector. */
  List<Segment> segments() {
    return segments;
  }

  private static void append(List<Segment> segments, Segment next) {
    if (!segments.isEmpty()) {
      Segment last = segments.get(segments.size() - 1);
      if (last.kind() == next.kind() && last.memory() + last.length() == next.memory()) {
        segments.remove(last);
        next =
            new Segment(last.exchange(), last.memory(), last.length() + next.length(), next.kind());
      }
    }
    segments.add(next);
  }

  /**
   * Describes an array with its fastest dimension last. DL4J's weights are column-major, so their
   * dimensions are reversed.
   */
  private static Block block(Network.Parameter parameter) {
    INDArray values = parameter.values();
    List<Integer> shape = new ArrayList<>();
    Arrays.stream(values.shape()).forEach(size -> shape.add(Math.toIntExact(size)));
    if (values.ordering() == 'f' && values.rank() > 1) {
      java.util.Collections.reverse(shape);
    }
    return new Block(parameter.name(), shape, parameter.kind());
  }
}
