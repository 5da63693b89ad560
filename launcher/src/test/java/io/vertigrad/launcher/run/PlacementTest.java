package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlacementTest {

  @ParameterizedTest
  @CsvSource({
    "ONE_JVM, 2, cuda:1, cuda:1",
    "ONE_JVM, 2, cpu, cpu",
    "ONE_JVM, 0, cuda:1, cpu",
    "PROCESSES, 2, cuda:1, cpu",
    "PROCESSES, 2, cpu, cpu",
    "ALL_PROCESSES, 2, cuda:1, cpu"
  })
  void shouldUseAGpuInTheCoordinatorsJvmOnlyForWorkers(
      Placement placement, int workers, String asked, String used) {
    JsonObject json = new JsonObject().put("workers", JsonObject.of("device", asked));
    JobConfig job = JobConfig.read("job.json", json);

    JobConfig here = placement.here(new LocalMembers(1, workers, 1), job);

    assertEquals(used, here.workers().device().toString());
    assertEquals(asked, job.workers().device().toString());
  }
}
