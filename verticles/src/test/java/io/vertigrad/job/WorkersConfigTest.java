package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkersConfigTest {

  @ParameterizedTest
  @CsvSource({"1, 128", "2, 64", "4, 32", "128, 1"})
  void shouldShareTheBatchOfAllEvenlyWhenGiven(int workers, int batch) {
    JobConfig job = read("{\"count\":%d,\"totalBatch\":128}".formatted(workers));

    assertEquals(batch, job.workers().batch());
    assertEquals(batch, JobConfig.read("again", job.json()).workers().batch());
  }

  @Test
  void shouldNameTheKeyWhenTheBatchOfAllIsNoMultiple() {
    assertEquals(
        "job.json: workers.totalBatch is 128, expected 126: 42 for each of 3 workers; leave"
            + " workers.batch out to share it evenly",
        refusal("{\"count\":3,\"totalBatch\":128}"));
  }

  @Test
  void shouldNameTheKeyWhenBothBatchesAreGivenAndDisagree() {
    assertEquals(
        "job.json: workers.totalBatch is 128, expected 200: 100 for each of 2 workers; leave"
            + " workers.batch out to share it evenly",
        refusal("{\"count\":2,\"batch\":100,\"totalBatch\":128}"));
  }

  @Test
  void shouldComputeOnTheProcessorUnlessAnotherDeviceIsNamed() {
    assertEquals(Device.PROCESSOR, read("{}").workers().device());
    JobConfig job = read("{\"device\":\"cuda:3\"}");
    assertEquals(OptionalInt.of(3), job.workers().device().number());
    assertEquals("cuda:3", JobConfig.read("again", job.json()).workers().device().toString());
  }

  @Test
  void shouldNameTheKeyWhenThereIsNoSuchDevice() {
    assertEquals(
        "job.json: workers.device is \"gpu\", expected cpu, cuda, or cuda:N with the number N of a"
            + " GPU",
        refusal("{\"device\":\"gpu\"}"));
    assertEquals("job.json: workers.device is 3, expected a string", refusal("{\"device\":3}"));
  }

  private static String refusal(String workers) {
    return assertThrows(SettingsException.class, () -> read(workers)).getMessage();
  }

  private static JobConfig read(String workers) {
    return JobConfig.read("job.json", new JsonObject().put("workers", new JsonObject(workers)));
  }
}
