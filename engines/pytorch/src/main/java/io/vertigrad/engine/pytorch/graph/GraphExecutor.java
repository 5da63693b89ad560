package io.vertigrad.engine.pytorch.graph;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.Tensor;

/**
 * Runs a graph with libtorch. Operators, constants and the order of arguments are resolved when it
 * is made, so that a pass only passes values on. Belongs to one thread.
 */
public final class GraphExecutor implements AutoCloseable {

  /** An operation that is ready to run. */
  interface Step extends AutoCloseable {

    /**
     * Runs the operation.
     *
     * @param values of the graph by their slots, of which it reads some and sets others
     * @param stack for the arguments and results of operators
     */
    void run(IValue[] values, IValueVector stack, boolean training);

    @Override
    void close();
  }

  /** A step, and the slots whose values no later step reads. */
  private record Planned(String node, Step step, int[] expired) {}

  /**
   * A buffer that a value replaces in training mode.
   *
   * @param buffer the module's tensor
   * @param own the same, as a value of the graph
   * @param read slot of the buffer
   * @param slot of the new value
   */
  private record Replaced(Tensor buffer, IValue own, int read, int slot) {}

  private final IValue[] values;
  private final List<Planned> steps = new ArrayList<>();
  private final List<Replaced> updates = new ArrayList<>();
  private final IValueVector stack = new IValueVector().retainReference();
  private final int inputs;
  private final int user;
  private final int output;
  private final Optional<Boolean> exportedInTraining;
  private boolean frozen;

  /**
   * Resolves a graph.
   *
   * @param tensors parameters, buffers and constants by the module's names; two names may have one
   *     tensor. They stay the caller's
   * @param device of the tensors, and of those that the graph creates
   * @throws IllegalArgumentException naming the node that cannot run
   */
  @SuppressWarnings("try")
  public GraphExecutor(Graph graph, Map<String, Tensor> tensors, Device device) {
    Map<String, Integer> slots = new HashMap<>();
    graph.inputs().forEach(one -> slots.put(one.value(), slots.size()));
    inputs = slots.size();
    for (Graph.Node node : graph.nodes()) {
      for (Graph.Output returned : node.outputs()) {
        returned.names().stream()
            .filter(name -> !name.isEmpty())
            .forEach(name -> slots.putIfAbsent(name, slots.size()));
      }
    }
    values = new IValue[slots.size()];
    output = slots.get(graph.output());
    int batch = -1;
    try (PointerScope temporary = new PointerScope()) {
      for (Graph.Input one : graph.inputs()) {
        int slot = slots.get(one.value());
        if (one.kind() == Graph.Kind.USER) {
          batch = slot;
        } else {
          values[slot] = new IValue(tensors.get(one.tensor())).retainReference();
        }
      }
      user = batch;
      exportedInTraining = resolve(graph, slots, device);
      for (Graph.Update one : graph.updates()) {
        Tensor buffer = tensors.get(one.buffer());
        for (Graph.Input input : graph.inputs()) {
          if (input.kind().isBuffer() && input.tensor().equals(one.buffer())) {
            int read = slots.get(input.value());
            updates.add(new Replaced(buffer, values[read], read, slots.get(one.value())));
          }
        }
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private Optional<Boolean> resolve(Graph graph, Map<String, Integer> slots, Device device) {
    List<Resolver> resolvers =
        graph.nodes().stream().map(node -> new Resolver(node, slots, device)).toList();
    List<Boolean> modes =
        resolvers.stream().flatMap(one -> one.mode().stream()).distinct().toList();
    // Batch norm that stays in inference mode is frozen on purpose if anything else trains.
    boolean trains = modes.contains(true);
    frozen = !trains && resolvers.stream().anyMatch(Resolver::isFrozen);
    Map<String, Resolver.Origin> origins = new HashMap<>();
    for (Graph.Input one : graph.inputs()) {
      origins.put(one.value(), new Resolver.Origin(one.kind(), slots.get(one.value())));
    }
    int[] lastUse = lastUse(graph, slots);
    List<List<Integer>> expired = new ArrayList<>();
    resolvers.forEach(one -> expired.add(new ArrayList<>()));
    for (int slot = inputs; slot < lastUse.length; slot++) {
      if (lastUse[slot] >= 0) {
        expired.get(lastUse[slot]).add(slot);
      }
    }
    for (int i = 0; i < resolvers.size(); i++) {
      steps.add(
          new Planned(
              resolvers.get(i).description(),
              resolvers.get(i).step(trains, origins),
              expired.get(i).stream().mapToInt(Integer::intValue).toArray()));
    }
    return modes.isEmpty() ? Optional.empty() : Optional.of(trains);
  }

  /** Returns the index of the last node that reads or sets each slot; -1 if it has to stay. */
  private int[] lastUse(Graph graph, Map<String, Integer> slots) {
    int[] last = new int[slots.size()];
    Arrays.fill(last, -1);
    for (int i = 0; i < graph.nodes().size(); i++) {
      Graph.Node node = graph.nodes().get(i);
      for (Graph.Argument argument : node.arguments()) {
        mark(argument.value(), slots, last, i);
      }
      for (Graph.Output returned : node.outputs()) {
        for (String name : returned.names()) {
          if (!name.isEmpty()) {
            last[slots.get(name)] = i;
          }
        }
      }
    }
    last[output] = -1;
    graph.updates().forEach(one -> last[slots.get(one.value())] = -1);
    return last;
  }

  private static void mark(Graph.Value value, Map<String, Integer> slots, int[] last, int node) {
    if (value instanceof Graph.Reference reference) {
      last[slots.get(reference.value())] = node;
    } else if (value instanceof Graph.Elements list) {
      list.elements().forEach(one -> mark(one, slots, last, node));
    }
  }

  /**
   * Returns whether the graph was exported in training mode; empty if nothing in it depends on the
   * mode. One that was not trains with batch norm and dropout in training mode all the same.
   */
  public Optional<Boolean> exportedInTraining() {
    return exportedInTraining;
  }

  /**
   * Returns whether the graph was exported in inference mode and decomposed, so that its batch norm
   * stays in that mode.
   */
  public boolean isFrozen() {
    return frozen;
  }

  /**
   * Runs the graph. Records gradients if the thread's mode says so.
   *
   * @param batch the user's input
   * @param training runs batch norm, dropout and their like in training mode, and changes buffers
   * @return the output, which belongs to the innermost {@code PointerScope}
   * @throws RuntimeException of libtorch, its message beginning with the node that failed
   * @throws IllegalArgumentException when the output is no tensor
   */
  public Tensor forward(Tensor batch, boolean training) {
    Planned running = null;
    try {
      values[user] = new IValue(batch);
      if (training) {
        // The backward pass needs the values from before the update.
        updates.forEach(one -> values[one.read()] = new IValue(one.buffer().clone()));
      }
      for (Planned next : steps) {
        running = next;
        next.step().run(values, stack, training);
        for (int slot : next.expired()) {
          release(slot);
        }
      }
      running = null;
      if (training) {
        update();
      }
      IValue returned = values[output];
      if (!returned.isTensor()) {
        throw new IllegalArgumentException(
            "its output is a %s, expected one tensor".formatted(returned.tagKind().getString()));
      }
      // What the presets return is a part of the value, which is released below.
      return new Tensor(returned.toTensor());
    } catch (RuntimeException e) {
      boolean ofNode =
          e.getClass() == RuntimeException.class
              || e instanceof ArithmeticException
              || e instanceof IllegalArgumentException;
      if (running == null || !ofNode) {
        throw e;
      }
      throw new RuntimeException("node %s: %s".formatted(running.node(), e.getMessage()), e);
    } finally {
      stack.clear();
      for (int slot = inputs; slot < values.length; slot++) {
        release(slot);
      }
      release(user);
      for (Replaced one : updates) {
        if (values[one.read()] != one.own()) {
          release(one.read());
          values[one.read()] = one.own();
        }
      }
    }
  }

  /** Copies new values into buffers, without recording gradients. */
  private void update() {
    boolean recorded = GradMode.is_enabled();
    GradMode.set_enabled(false);
    try {
      updates.forEach(one -> one.buffer().copy_(values[one.slot()].toTensor()));
    } finally {
      GradMode.set_enabled(recorded);
    }
  }

  private void release(int slot) {
    if (values[slot] != null) {
      values[slot].close();
      values[slot] = null;
    }
  }

  @Override
  public void close() {
    steps.forEach(one -> one.step().close());
    for (int slot = 0; slot < values.length; slot++) {
      release(slot);
    }
    stack.close();
  }
}
