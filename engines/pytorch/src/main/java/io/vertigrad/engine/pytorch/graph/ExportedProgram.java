package io.vertigrad.engine.pytorch.graph;

import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * A network with the values of its tensors.
 *
 * @param graph its operations
 * @param tensors values by the module's names, in the order of the graph's inputs, then those that
 *     the graph does not read; two names of one tensor have the same object
 * @param sample dimensions of the user's input without the first; -1 for one that may vary
 * @param batch number of samples that the network takes, if it takes only that
 * @param input ATen's number of the user's input's type
 * @param source the program as {@code models/model.json} of an archive has it, from which an
 *     archive is written again
 */
public record ExportedProgram(
    Graph graph,
    Map<String, Stored> tensors,
    List<Long> sample,
    OptionalLong batch,
    int input,
    JsonObject source) {

  /**
   * The values of a tensor.
   *
   * @param type ATen's number of its type
   * @param shape its dimensions; empty for a number
   * @param values contiguous, little-endian, from position 0
   * @param trained whether gradients are computed for it
   */
  public record Stored(int type, List<Long> shape, ByteBuffer values, boolean trained) {

    private static final ByteBuffer NONE = ByteBuffer.allocate(0);

    /** Copies the shape. */
    public Stored {
      shape = List.copyOf(shape);
    }

    /** Returns the number of bytes that its values have. */
    long bytes() {
      long elements = shape.stream().reduce(1L, Math::multiplyExact);
      return elements * ElementType.ofAten(type).orElseThrow().bytes();
    }
  }

  /**
   * Returns the same program without the values of tensors that are kept elsewhere. It can be
   * written again only with them.
   *
   * @param names of those tensors
   */
  public ExportedProgram without(Set<String> names) {
    Map<Stored, Stored> emptied = new IdentityHashMap<>();
    for (String name : names) {
      Stored one = tensors.get(name);
      emptied.put(one, new Stored(one.type(), one.shape(), Stored.NONE, one.trained()));
    }
    Map<String, Stored> rest = new LinkedHashMap<>();
    tensors.forEach((name, stored) -> rest.put(name, emptied.getOrDefault(stored, stored)));
    return new ExportedProgram(graph, rest, sample, batch, input, source);
  }
}
