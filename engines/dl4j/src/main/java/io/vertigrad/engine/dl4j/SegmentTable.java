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
 * Where each stretch of the exchange vector lies in a network's flat memory.
 *
 * <p>Batch-norm statistics lie among the trainable arrays there but at the end of the exchange
 * vector, so that both orders agree on stretches only; neighbours are merged into one.
 */
final class SegmentTable {

  /**
   * A stretch that is contiguous in both orders.
   *
   * @param exchange its first element in the exchange vector
   * @param memory its first element in the network's memory
   * @param length number of elements
   * @param kind whether an optimizer steps it
   */
  record Segment(int exchange, int memory, int length, Block.Kind kind) {

    /** Elements from the later of both starts to the earlier of both ends; negative for none. */
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

  /** Ordered by their place in the exchange vector. */
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

  /** Dimensions with the fastest last, which for DL4J's column-major weights is reversed. */
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
