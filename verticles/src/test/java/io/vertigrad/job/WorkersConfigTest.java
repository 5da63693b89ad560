package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
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

  private static String refusal(String workers) {
    return assertThrows(SettingsException.class, () -> read(workers)).getMessage();
  }

  private static JobConfig read(String workers) {
    return JobConfig.read("job.json", new JsonObject().put("workers", new JsonObject(workers)));
  }
}
