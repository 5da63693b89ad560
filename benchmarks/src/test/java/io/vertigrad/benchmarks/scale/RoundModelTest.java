package io.vertigrad.benchmarks.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the formulas with the real strategies on a simulated network. */
class RoundModelTest {

  private static final int ELEMENTS = 16_384;
  private static final int MOST = 512;
  private static final double BYTES_PER_SECOND = 1.25e9;
  private static final double LATENCY_SECONDS = 50e-6;

  private final RoundModel model = new RoundModel(ELEMENTS, BYTES_PER_SECOND, LATENCY_SECONDS);

  @ParameterizedTest
  @ValueSource(ints = {2, 4, 8, 33, 64})
  void shouldCountTheMessagesOfTheRing(int workers) {
    ScaleCase.Cost cost = measure(ring(), workers);

    assertEquals(model.ringMessages(workers, MOST), cost.messages());
    assertEquals(2.0 * (workers - 1) * (ELEMENTS + 1) * 4, cost.bytes());
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 64, 100})
  void shouldPredictTheTimeOfTheRing(int workers) {
    double seconds = measure(ring(), workers).seconds();

    assertEquals(model.ringSeconds(workers), seconds, 0.1 * seconds);
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 8, 64})
  void shouldPredictMessagesAndTimeOfAServer(int workers) {
    ScaleCase.Cost cost = measure(new JsonObject(), workers);

    assertEquals(RoundModel.serverMessages(workers, ELEMENTS / MOST), cost.messages());
    assertEquals(model.serverSeconds(workers, 1), cost.seconds(), 0.25 * cost.seconds());
  }

  private static JsonObject ring() {
    return new JsonObject().put("name", "allreduce").put("checkEvery", 0).put("directBytes", 0);
  }

  private static ScaleCase.Cost measure(JsonObject settings, int workers) {
    return new ScaleCase("", settings, workers, ELEMENTS, MOST)
        .measure(() -> new VirtualNetwork(BYTES_PER_SECOND, (long) (LATENCY_SECONDS * 1e9), 1));
  }
}
