package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Engine;

/** The contract where parameters and gradients are copied, as on a GPU. */
class CopiesEngineTest extends EngineContract {

  @Override
  Engine engine() {
    return Engine.named(CopiesEngine.NAME);
  }
}
