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
 * From which trainable element on a gradient is final, as the layers of a backward pass report one
 * after the other.
 *
 * <p>A layer that reports nothing holds back itself and all in front of it.
 */
final class FinalElements {

  private static final GradientListener NOBODY = first -> {};

  private final Map<String, Integer> places = new HashMap<>();
  private final List<Integer> firsts = new ArrayList<>();
  private final boolean[] done;
  private GradientListener listener = NOBODY;
  private RuntimeException failure;
  private int open;

  /** Nobody listens yet. */
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

  /** A backward pass begins of which this one hears. */
  void begin(GradientListener now) {
    listener = now;
    failure = null;
    open = done.length;
    Arrays.fill(done, false);
  }

  /** The pass has ended: nobody hears of the next one; throws what the listener has thrown. */
  void end() {
    listener = NOBODY;
    if (failure != null) {
      throw failure;
    }
  }

  /** A layer's gradient is final. */
  void done(String layer) {
    Integer place = places.get(layer);
    if (listener == NOBODY || place == null) {
      return;
    }
    done[place] = true;
    int before = open;
    while (open > 0 && done[open - 1]) {
      open--;
    }
    if (open < before) {
      tell(firsts.get(open));
    }
  }

  /** The engine's own state would not outlive an exception in the middle of its pass. */
  private void tell(int first) {
    if (failure == null) {
      try {
        listener.ready(first);
      } catch (RuntimeException e) {
        failure = e;
      }
    }
  }
}
