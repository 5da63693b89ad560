package io.vertigrad.internal.checkpoint;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.settings.FailureReason;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

/**
 * What a member must not lose, at one version: named parts of float32 elements, and the numbers of
 * a {@link Head}. It goes from the member to a file or to another member, and back.
 *
 * <p>A server has one state for each partition. A worker without servers and a stage have one for
 * the replica, and a worker with servers has one for what its next step starts with besides the
 * parameters.
 *
 * <p>A state that was {@linkplain #begin begun} is copied by the first thread that needs it: the
 * thread that writes the checkpoint, or the owner's thread before it changes anything. Any thread
 * may call its methods. The elements never change.
 */
public final class SavedState {

  /** Name of the part with the parameters. */
  public static final String PARAMETERS = "parameters";

  /** Name of the part with the state of the optimizer. */
  public static final String OPTIMIZER = "optimizer";

  /** Name of the part with what a strategy keeps from step to step. */
  public static final String MEMORY = "memory";

  /** Name of the part with the parameters of the version before. */
  public static final String PREVIOUS = "previous";

  /** Name of the part with what compression has left out. */
  public static final String RESIDUAL = "residual";

  private static final FloatBuffer NONE = FloatBuffer.allocate(0);

  private final Head head;
  private final List<Part> parts;
  private final Map<String, FloatBuffer> elements = new LinkedHashMap<>();
  private final Map<String, Runnable> lent = new LinkedHashMap<>();
  private final List<FloatBuffer> copied = new ArrayList<>();
  private final CopyMemory memory;
  private boolean made;
  private Throwable failure;
  private boolean released;

  /**
   * The numbers of a state.
   *
   * @param index index of the partition; 0 for the state of a worker
   * @param first index of its first element in the exchange vector
   * @param version updates applied; of a worker with servers, the step that starts with this state
   * @param samples training samples applied
   * @param ledger outcomes of all updates up to {@code version}
   */
  public record Head(int index, int first, long version, double samples, LedgerSnapshot ledger) {

    /** Creates the head of a worker's state. */
    public Head(long version, double samples) {
      this(0, 0, version, samples, LedgerSnapshot.EMPTY);
    }
  }

  /**
   * One part of a member: float32 elements, wherever they are kept. Belongs to the member's thread.
   */
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

  private SavedState(Head head, List<Part> parts, CopyMemory memory) {
    this.head = head;
    this.parts = parts;
    this.memory = memory;
  }

  /**
   * Begins a state, which takes no time on the owner's thread yet. {@linkplain #release Release} it
   * when it is written or not needed any more.
   *
   * @param parts the owner's parts, in the order of the file; their names differ
   * @param memory pool for the copy
   */
  public static SavedState begin(Head head, List<Part> parts, CopyMemory memory) {
    SavedState begun = new SavedState(head, parts, memory);
    for (Part part : parts) {
      Optional<Lent> now = part.lend();
      begun.elements.put(part.name(), now.map(Lent::elements).orElse(NONE));
      now.ifPresent(unchanged -> begun.lent.put(part.name(), unchanged.release()));
    }
    return begun;
  }

  /** Copies the parts now, on the owner's thread, into memory that need not be released. */
  public static SavedState copy(Head head, List<Part> parts) {
    Map<String, float[]> copies = new LinkedHashMap<>();
    for (Part part : parts) {
      float[] copy = new float[part.length()];
      if (copy.length > 0) {
        part.give(FloatBuffer.wrap(copy));
      }
      copies.put(part.name(), copy);
    }
    return of(head, copies);
  }

  /** Creates a state of these parts, by name; the arrays must not change any more. */
  public static SavedState of(Head head, Map<String, float[]> parts) {
    SavedState whole = new SavedState(head, List.of(), new CopyMemory(0));
    parts.forEach((name, each) -> whole.elements.put(name, FloatBuffer.wrap(each)));
    whole.made = true;
    return whole;
  }

  /** Returns the numbers. */
  public Head head() {
    return head;
  }

  /** Returns the version. */
  public long version() {
    return head.version();
  }

  /**
   * Copies the parts if they are not copied, and the state is not released. A second caller waits
   * for the first. If they cannot be copied, the owner goes on, and writing the state fails.
   */
  public synchronized void make() {
    if (made || failure != null || released) {
      return;
    }
    try {
      for (Part part : parts) {
        if (!lent.containsKey(part.name()) && part.length() > 0) {
          FloatBuffer own = memory.take(part.length());
          copied.add(own);
          part.give(own);
          elements.put(part.name(), own.flip());
        }
      }
      made = true;
    } catch (RuntimeException | Error e) {
      failure = e;
    }
  }

  /** Copies the parts as {@link #make} does. Returns their bytes; 0 if the state is released. */
  synchronized long makeAndMeasure() {
    make();
    return released
        ? 0
        : (long) Float.BYTES * parts().values().stream().mapToLong(FloatBuffer::remaining).sum();
  }

  /**
   * Returns the elements of each part by name, copied if need be.
   *
   * @throws IllegalStateException if they could not be copied, or the state is released
   */
  public synchronized Map<String, FloatBuffer> parts() {
    make();
    if (failure != null) {
      throw new IllegalStateException(
          "partition %s could not be copied for a checkpoint: %s"
              .formatted(head.index(), FailureReason.of(failure)),
          failure);
    }
    if (released) {
      throw new IllegalStateException("a checkpoint's copy was released before it was written");
    }
    Map<String, FloatBuffer> all = new LinkedHashMap<>();
    elements.forEach((name, each) -> all.put(name, each.duplicate()));
    return all;
  }

  /** Returns a copy of a part; empty if there is none of this name. */
  public float[] part(String name) {
    FloatBuffer found = parts().getOrDefault(name, NONE);
    float[] copy = new float[found.remaining()];
    found.get(copy);
    return copy;
  }

  /** Releases memory that was taken or lent for a state that was begun. */
  synchronized void release() {
    if (parts.isEmpty() || released) {
      return;
    }
    released = true;
    lent.values().forEach(Runnable::run);
    copied.forEach(memory::giveBack);
    elements.clear();
  }

  /**
   * Restores every part of a member.
   *
   * @throws IllegalArgumentException naming the part, if one has another length or is not part of
   *     the member; then nothing has changed
   */
  public void restore(List<Part> into) {
    Map<String, FloatBuffer> found = parts();
    Map<String, Integer> expected = new TreeMap<>();
    found.keySet().forEach(name -> expected.put(name, 0));
    into.forEach(part -> expected.put(part.name(), part.length()));
    expected.forEach(
        (name, length) -> {
          int present = found.getOrDefault(name, NONE).remaining();
          if (present != length) {
            throw new IllegalArgumentException(
                ("checkpoint of partition %s: found %s elements of %s, expected %s;"
                        + " resume with the job file it was written under")
                    .formatted(head.index(), present, name, length));
          }
        });
    for (Part part : into) {
      if (part.length() > 0) {
        part.take(found.get(part.name()));
      }
    }
  }
}
