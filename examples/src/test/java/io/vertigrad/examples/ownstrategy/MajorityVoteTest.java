package io.vertigrad.examples.ownstrategy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class MajorityVoteTest {

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void close() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldLearnDigitsWithTheSameBitsEachTime() throws Exception {
    TrainingResult first = train();

    assertTrue(first.accuracy() > 80, first.toString());
    assertEquals(first.parametersHash(), train().parametersHash());
  }

  private TrainingResult train() throws Exception {
    JsonObject job = new JsonObject(Files.readString(Path.of("own-strategy/vote.json")));
    return get(get(TrainingJob.of(job).deploy(vertx)).result());
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(120, TimeUnit.SECONDS);
  }
}
