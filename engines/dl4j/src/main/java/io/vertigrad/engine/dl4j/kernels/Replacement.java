package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.layers.BaseLayer;

/** Moves a stock layer's parameters to the layer that replaces it. */
final class Replacement {

  private Replacement() {}

  /** Returns the replacement, which uses the same parameter memory as the stock layer. */
  static <T extends BaseLayer<?>> T adopt(T replacement, Layer stock) {
    replacement.setParamsViewArray(stock.params());
    replacement.setParamTable(stock.paramTable());
    return replacement;
  }
}
