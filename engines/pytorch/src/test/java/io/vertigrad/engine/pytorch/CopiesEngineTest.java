package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Engine;

/** Runs the contract with parameters and gradients that are copied, as on a GPU. */
class CopiesEngineTest extends EngineContract {

  @Override
  Engine engine() {
    return Engine.named(CopiesEngine.NAME);
  }
}
