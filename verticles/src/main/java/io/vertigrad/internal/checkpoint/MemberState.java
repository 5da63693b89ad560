package io.vertigrad.internal.checkpoint;

import io.vertigrad.compute.optimizer.Optimizer;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

/**
 * What a member must not lose: named parts, and the numbers of a {@link PartitionHead}. A server
 * has one state for each partition. A worker without servers and a stage have one for the replica,
 * and a worker with servers has one for what its next step starts with besides the parameters.
 *
 * <p>A state is copied by {@link #copy}, written to files by name, and restored by name. Belongs to
 * the thread that owns the parts.
 */
public final class MemberState {

  /** Name of the part with the parameters. */
  public static final String PARAMETERS = "parameters";

  /** Name of the part with the state of the optimizer. */
  public static final String OPTIMIZER = "optimizer";

  /** Name of the part with what a strategy keeps from step to step. */
  public static final String MEMORY = "memory";

  /** Name of the part with what compression has left out. */
  public static final String RESIDUAL = "residual";

  private final List<Part> parts;

  /** Creates a state of these parts; their names differ. */
  public MemberState(List<Part> parts) {
    this.parts = List.copyOf(parts);
  }

  /** One part: float32 elements, wherever they are kept. */
  public interface Part {

    /** Returns its name in files. */
    String name();

    /** Returns the number of its elements. */
    int length();

    /** Copies its elements out; the buffer has room for exactly these. */
    void give(FloatBuffer to);

    /** Copies its elements in; the buffer has exactly {@link #length} elements. */
    void take(FloatBuffer from);

    /** Lends its elements instead of giving a copy, if they stay as they are until released. */
    default Optional<Lent> lend() {
      return Optional.empty();
    }

    /** Creates a part. */
    static Part of(
        String name, IntSupplier length, Consumer<FloatBuffer> give, Consumer<FloatBuffer> take) {
      return new Part() {
        @Override
        public String name() {
          return name;
        }

        @Override
        public int length() {
          return length.getAsInt();
        }

        @Override
        public void give(FloatBuffer to) {
          give.accept(to);
        }

        @Override
        public void take(FloatBuffer from) {
          take.accept(from);
        }
      };
    }

    /** Creates the part of an optimizer. */
    static Part of(String name, Optimizer optimizer) {
      return of(name, optimizer::stateLength, optimizer::readState, optimizer::writeState);
    }
  }

  /** Elements that do not change until they are released. */
  public record Lent(FloatBuffer elements, Runnable release) {}

  /** Returns the parts, in order. */
  public List<Part> parts() {
    return parts;
  }

  /**
   * Starts a copy, which takes no time on this thread yet.
   *
   * @param memory pool for the copy
   */
  public PartitionCopy copy(PartitionHead head, CopyMemory memory) {
    return new PartitionCopy(head, parts, memory);
  }

  /** Returns a copy in arrays of its own. */
  public PartitionSnapshot snapshot(PartitionHead head) {
    return copy(head, new CopyMemory()).snapshot();
  }

  /**
   * Restores every part from a copy.
   *
   * @throws IllegalArgumentException naming the part, if one has another length or is not part of
   *     this state; then nothing has changed
   */
  public void restore(PartitionSnapshot from) {
    Map<String, Integer> expected = new TreeMap<>();
    from.parts().keySet().forEach(name -> expected.put(name, 0));
    parts.forEach(part -> expected.put(part.name(), part.length()));
    expected.forEach(
        (name, length) -> {
          int found = from.part(name).length;
          if (found != length) {
            throw new IllegalArgumentException(
                ("checkpoint of partition %s: found %s elements of %s, expected %s;"
                        + " resume with the job file it was written under")
                    .formatted(from.index(), found, name, length));
          }
        });
    for (Part part : parts) {
      if (part.length() > 0) {
        part.take(FloatBuffer.wrap(from.part(part.name())));
      }
    }
  }
}
