package io.vertigrad.examples.ownstrategy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("slow")
@Timeout(120)
class BadWorkerTest {

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void closeVertx() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldConvergeByTrimmedMeanOnlyWhenOneWorkerIsBroken() throws Exception {
    double mean = accuracy("sync");
    double trimmed = accuracy("trimmed-mean");

    assertTrue(mean < 50, "sync: " + mean);
    assertTrue(trimmed > 75, "trimmed-mean: " + trimmed);
  }

  private double accuracy(String strategy) throws Exception {
    JsonObject job =
        new JsonObject(Files.readString(Path.of("own-strategy/job.json")))
            .put("strategy", JsonObject.of("name", strategy));
    JsonObject end =
        new BadWorker(vertx, job)
            .train()
            .toCompletionStage()
            .toCompletableFuture()
            .get(60, TimeUnit.SECONDS);
    assertEquals("finished", end.getString("state"), end::encode);
    return end.getJsonObject("evaluation").getDouble("accuracy");
  }
}
