package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.layers.BaseLayer;

/** Hands a stock layer's parameters to the layer that takes its place. */
final class Replacement {

  private Replacement() {}

  /** Returns the replacement, working on the very same parameter memory. */
  static <T extends BaseLayer<?>> T adopt(T replacement, Layer stock) {
    replacement.setParamsViewArray(stock.params());
    replacement.setParamTable(stock.paramTable());
    return replacement;
  }
}
