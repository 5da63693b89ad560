package io.vertigrad.compute;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DivergenceTest {

  @ParameterizedTest
  @CsvSource({
    "2.3, 9.4, 9.4, 2.33, 0, true",
    "2.3, 2.3, 2.2, 2.3, 0, false",
    "2.3, 19, 19, 19, 0, true",
    "2.3, NaN, NaN, 19, 0, true",
    "NaN, NaN, NaN, Infinity, 0, true",
    "2.3, 2.4, 2.2, NaN, 0, true",
    // It has memorised its training set.
    "2.3, 6, 0.01, 6, 0, false",
    "2.3, 5, 5, 1.2, 0, false",
    "NaN, 19, 19, 19, 0, false",
    "2.3, 2.3, 2.3, 2.3, 4, false",
    "2.3, 2.3, 2.3, 2.3, 5, true",
    "2.3, 2.3, 0.4, 2.3, 5, false",
    "NaN, NaN, 1, 1, 20, true",
  })
  void shouldDecideByLossesAndRefusedUpdates(
      double first, double highest, double training, double model, long refused, boolean diverged) {
    assertEquals(diverged, Divergence.isShownBy(first, highest, training, model, refused));
  }

  @Test
  void shouldNameStepLossAndWhatToTry() {
    assertEquals(
        "training diverged at step 19: the loss is not a finite number, and 20 gradients in"
            + " sequence were refused",
        Divergence.at(19, Double.NaN, 20));
    assertEquals(
        "training diverged at step 19: the loss is 1.234e+12, and 20 gradients in sequence were"
            + " refused",
        Divergence.at(19, 1.234e12, 20));
    assertEquals(
        "training diverged at step 3: the gradient holds NaN or infinity, the loss is 5.000",
        Divergence.at(3, 5, 1));
    assertEquals(
        "training diverged at step 3: the gradient holds NaN or infinity",
        Divergence.at(3, Double.NaN, 1));
    assertEquals(
        "the loss rose from 2.354 before the first step to 20.72",
        Divergence.rise(2.3535, 20.72, 2.33));
    assertEquals("the loss is not a finite number", Divergence.rise(2.3, 9, Double.NaN));
  }

  @Test
  void shouldAdviseWhatTheDocsDo() {
    JsonObject job =
        new JsonObject(
            "{\"optimizer\": {\"learningRate\": 100}, \"strategy\": {\"name\": \"sync\"}}");

    assertEquals("Lower optimizer.learningRate (100), to a tenth", Divergence.remedy(job, 4));
    job.put("strategy", JsonObject.of("name", "async"))
        .put("optimizer", JsonObject.of("learningRate", 0.5));
    assertEquals("Divide optimizer.learningRate (0.5) by workers.count", Divergence.remedy(job, 4));
    assertEquals("Lower optimizer.learningRate (0.5), to a tenth", Divergence.remedy(job, 1));
    job.put("strategy", JsonObject.of("name", "async", "damping", "inverse"));
    assertEquals("Lower optimizer.learningRate (0.5), to a tenth", Divergence.remedy(job, 4));
    assertEquals(
        "Lower optimizer.learningRate (0.01), to a tenth", Divergence.remedy(new JsonObject(), 4));
  }

  @Test
  void shouldNameTheNoiseOfUpdatesWhenThereIsSome() {
    JsonObject strategy = JsonObject.of("name", "federated", "clip", 0.5);
    JsonObject job = JsonObject.of("strategy", strategy);
    assertEquals("Lower optimizer.learningRate (0.01), to a tenth", Divergence.remedy(job, 4));

    strategy.put("noise", 10);

    assertEquals(
        "Lower optimizer.learningRate (0.01), to a tenth; or the noise of each element of an update"
            + " is too large: its deviation is strategy.noise (10.0) times strategy.clip (0.5):"
            + " lower one of them, or train more workers",
        Divergence.remedy(job, 4));
  }
}
