package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Engine;
import org.junit.jupiter.api.Tag;

/** The other engine, of which this module's tests know the name only. */
@Tag("slow")
class Dl4jEngineTest extends EngineContract {

  @Override
  Engine engine() {
    return Engine.named("dl4j");
  }
}
