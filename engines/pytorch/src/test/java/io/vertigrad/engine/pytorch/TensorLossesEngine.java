package io.vertigrad.engine.pytorch;

/**
 * Runs the engine with the losses that a GPU has, on parameters and gradients that Java shares with
 * libtorch. Copies must not change a bit of what it computes.
 */
public final class TensorLossesEngine extends CopiesEngine {

  static final String NAME = "pytorch-tensor-losses";

  /** Creates the engine; called by the {@code ServiceLoader}. */
  public TensorLossesEngine() {
    super(NAME, Place::sharedWithTensorLosses);
  }
}
