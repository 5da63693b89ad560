package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.ParameterLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tracks from which trainable element on a gradient is final, while the layers report one after
 * another during a backward pass.
 *
 * <p>A layer that reports nothing holds back its own elements and those of all layers before it.
 */
final class FinalElements {

  private static final GradientListener NO_LISTENER = first -> {};

  private final Map<String, Integer> places = new HashMap<>();
  private final List<Integer> firsts = new ArrayList<>();
  private final boolean[] done;
  private GradientListener listener = NO_LISTENER;
  private RuntimeException failure;
  private int open;

  /** Creates a tracker without a listener. */
  FinalElements(ParameterLayout layout) {
    int first = 0;
    for (Block block : layout.blocks()) {
      if (block.kind() == Block.Kind.TRAINABLE) {
        String layer = block.name().substring(0, block.name().lastIndexOf('.'));
        if (!places.containsKey(layer)) {
          places.put(layer, firsts.size());
          firsts.add(first);
        }
        first += block.length();
      }
    }
    done = new boolean[firsts.size()];
  }

  /**
   * Starts a backward pass.
   *
   * @param now receives the final elements of this pass
   */
  void begin(GradientListener now) {
    listener = now;
    failure = null;
    open = done.length;
    Arrays.fill(done, false);
  }

  /** Ends the pass and removes the listener. Rethrows an exception of the listener. */
  void end() {
    listener = NO_LISTENER;
    if (failure != null) {
      throw failure;
    }
  }

  /** Records that a layer's gradient is final. */
  void layerDone(String layer) {
    Integer place = places.get(layer);
    if (listener == NO_LISTENER || place == null) {
      return;
    }
    done[place] = true;
    int before = open;
    while (open > 0 && done[open - 1]) {
      open--;
    }
    if (open < before) {
      report(firsts.get(open));
    }
  }

  /**
   * Calls the listener and keeps its exception until the end of the pass, because an exception
   * inside the pass would corrupt the engine's state.
   */
  private void report(int first) {
    if (failure == null) {
      try {
        listener.ready(first);
      } catch (RuntimeException e) {
        failure = e;
      }
    }
  }
}
