package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Engine;
import org.junit.jupiter.api.Tag;

/** Runs the contract on the other engine, which this module's tests know only by name. */
@Tag("slow")
class Dl4jEngineTest extends EngineContract {

  @Override
  Engine engine() {
    return Engine.named("dl4j");
  }
}
