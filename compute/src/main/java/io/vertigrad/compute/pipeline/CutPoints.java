package io.vertigrad.compute.pipeline;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The layers after which a network may be cut, with the reason why other layers are refused. For
 * engines. The network is given as a list of layers; each comes after the layers that it reads.
 */
public final class CutPoints {

  private static final int SHOWN = 12;

  private final String model;
  private final List<String> order;
  private final IntFunction<String> obstacles;
  private final ParameterLayout layout;
  private final Map<String, List<Integer>> shapes;

  /**
   * Describes a network that may be cut.
   *
   * @param model name of the model, for errors
   * @param order names of its layers
   * @param obstacles returns for the index of a layer the reason why no stage may end there; null
   *     if a stage may
   * @param layout its arrays, called {@code layer.array}
   * @param shapes one sample's dimensions of each layer's output
   */
  public CutPoints(
      String model,
      List<String> order,
      IntFunction<String> obstacles,
      ParameterLayout layout,
      Map<String, List<Integer>> shapes) {
    this.model = model;
    this.order = List.copyOf(order);
    this.obstacles = obstacles;
    this.layout = layout;
    this.shapes = shapes;
  }

  /**
   * Resolves names or indices of layers, in the order of the network.
   *
   * @param cuts names or indices of the layers with which all stages but the last end
   * @return their indices
   * @throws IllegalArgumentException naming the cut and why it is impossible
   */
  public List<Integer> named(List<String> cuts) {
    List<Integer> ends = new ArrayList<>();
    int first = 0;
    for (String cut : cuts) {
      int end = index(cut);
      if (end < first) {
        throw refused(cut, "it precedes the previous cut; name cuts in the network's order");
      }
      String obstacle = obstacles.apply(end);
      if (obstacle != null) {
        throw refused(cut, obstacle + "; possible: " + possible());
      }
      requireTrainable(cut, first, end);
      ends.add(end);
      first = end + 1;
    }
    if (!cuts.isEmpty()) {
      requireTrainable(cuts.get(cuts.size() - 1), first, order.size() - 1);
    }
    return ends;
  }

  /**
   * Returns one cut between each two layers with parameters that can be separated: the cut with the
   * smallest activation, the last of several.
   */
  List<Integer> sensible() {
    List<Integer> places = new ArrayList<>();
    int best = -1;
    int first = 0;
    for (int end = 0; end < order.size() - 1; end++) {
      if (trainable(end, end) > 0 && best >= 0) {
        places.add(best);
        first = best + 1;
        best = -1;
      }
      boolean parts = trainable(first, end) > 0 && obstacles.apply(end) == null;
      if (parts && (best < 0 || elements(end) <= elements(best))) {
        best = end;
      }
    }
    if (best >= 0 && trainable(best + 1, order.size() - 1) > 0) {
      places.add(best);
    }
    return places;
  }

  /** Returns the number of trainable elements of a range of layers, both ends included. */
  long trainable(int first, int last) {
    List<String> layers = order.subList(first, last + 1);
    return layout.blocks().stream()
        .filter(block -> block.kind() == Block.Kind.TRAINABLE)
        .filter(block -> layers.contains(layerOf(block)))
        .mapToLong(Block::length)
        .sum();
  }

  /** Creates the error that there are too few places to cut. */
  IllegalArgumentException tooFew(int stages) {
    return new IllegalArgumentException(
        "model %s: cannot be cut into %s stages, expected at most %s: one activation may cross a cut"
                .formatted(model, stages, sensible().size() + 1)
            + " and every stage needs parameters; possible: "
            + possible());
  }

  /**
   * Returns the layer of an array.
   *
   * @param block called {@code layer.array}
   * @return the name before the last dot
   */
  public static String layerOf(Block block) {
    return block.name().substring(0, block.name().lastIndexOf('.'));
  }

  private void requireTrainable(String cut, int first, int last) {
    if (trainable(first, last) == 0) {
      throw refused(
          cut,
          "the stage from %s to %s would have no parameters to train"
              .formatted(order.get(first), order.get(last)));
    }
  }

  private int index(String cut) {
    int named = order.indexOf(cut);
    if (named >= 0) {
      return named;
    }
    if (cut.matches("\\d{1,6}") && Integer.parseInt(cut) < order.size()) {
      return Integer.parseInt(cut);
    }
    throw refused(
        cut,
        "there is no such layer; expected one of %s, or an index from 0 to %s"
            .formatted(possible(), order.size() - 1));
  }

  private int elements(int end) {
    return shapes.get(order.get(end)).stream().reduce(1, Math::multiplyExact);
  }

  private String possible() {
    List<String> names =
        IntStream.range(0, order.size())
            .filter(end -> obstacles.apply(end) == null)
            .mapToObj(order::get)
            .toList();
    return names.size() <= SHOWN
        ? String.join(", ", names)
        : String.join(", ", names.subList(0, SHOWN))
            + " and %s more".formatted(names.size() - SHOWN);
  }

  private IllegalArgumentException refused(String cut, String why) {
    return new IllegalArgumentException(
        "model %s: no stage can end with %s: %s".formatted(model, cut, why));
  }
}
