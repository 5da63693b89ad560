package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Engine;

class PyTorchEngineTest extends EngineContract {

  @Override
  Engine engine() {
    return Engine.named("pytorch");
  }
}
