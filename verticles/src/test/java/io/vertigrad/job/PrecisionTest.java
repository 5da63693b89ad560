package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.Precision;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The key {@code model.precision}; what it does is tested with the engine pytorch. */
class PrecisionTest {

  private static final String REFUSED =
      "job.json: model.precision is bfloat16, but the engine dl4j computes in float32 only: leave"
          + " it out, or use the engine pytorch";

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"precision\": \"float32\"}"})
  void shouldComputeInFloat32UnlessAnotherPrecisionIsNamed(String model) {
    JobConfig job = read(model);

    job.checkModel();

    assertEquals(Precision.FLOAT32, job.modelOn(List.of(1, 28, 28), 10).precision());
    assertEquals("float32", job.json().getJsonObject("model").getString("precision"));
  }

  @Test
  void shouldNameTheKeyWhenTheEngineDoesNotComputeInThePrecision() {
    JobConfig job = read("{\"precision\": \"bfloat16\"}");

    assertEquals(REFUSED, refusal(job::checkModel));
    assertEquals(REFUSED, refusal(() -> job.modelOn(List.of(1, 28, 28), 10)));
  }

  @Test
  void shouldNameTheKeyWhenThereIsNoSuchPrecision() {
    assertEquals(
        "job.json: model.precision is \"half\", expected one of float32, bfloat16",
        refusal(() -> read("{\"precision\": \"half\"}")));
  }

  @Test
  void shouldBeAgreedOnByAllMembers() {
    assertEquals(Set.of(KeyTrait.AGREED), read("{}").settings().traits("model.precision"));
  }

  private static String refusal(Runnable reading) {
    return assertThrows(SettingsException.class, reading::run).getMessage();
  }

  private static JobConfig read(String model) {
    return JobConfig.read(
        "job.json", new JsonObject().put("engine", "dl4j").put("model", new JsonObject(model)));
  }
}
