package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

class JobCheckTest {

  @Test
  void shouldRefuseAPartitionBeforeTheStartWhenTheDataAreTooFewForTheWorkers() {
    JsonObject json =
        new JsonObject(
            """
            {
              "steps": 10,
              "model": {"name": "convnet"},
              "data": {"name": "digits", "train": 1000, "test": 100},
              "workers": {
                "count": 101,
                "batch": 4,
                "partition": {"kind": "dirichlet", "alpha": 0.5}
              }
            }
            """);
    JobConfig job = JobCheck.counted(JobConfig.read("job.json", json));

    InputException refused =
        assertThrows(InputException.class, () -> JobCheck.files(job, LocalMembers.of(job), false));

    assertEquals(
        "job.json: workers.partition: 1000 samples for 101 workers, expected at least 10 for each;"
            + " use fewer workers",
        refused.getMessage());
  }
}
