package io.vertigrad.training;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class NewestParametersTest {

  private static final Membership MEMBERS = new Membership(1, List.of(), List.of());

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job = JobConfig.read("test", new JsonObject().put("job", "asked"));
  private final List<Message<JsonObject>> questions = new CopyOnWriteArrayList<>();

  @AfterEach
  void close() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldAskTheCoordinatorAgainWhenItsAnswerIsLost() throws Exception {
    get(
        vertx
            .eventBus()
            .<JsonObject>consumer(job.addresses().coordinator(), this::onQuestion)
            .completion());

    NewestParameters newest = get(NewestParameters.of(vertx, job));

    Awaitility.await().until(newest::hasMembers);
    assertEquals(3, questions.size());
    assertEquals("state", questions.get(0).body().getString("request"));
    get(newest.close());
  }

  /** Loses the first two answers: one is never sent, one is an error. */
  private void onQuestion(Message<JsonObject> question) {
    questions.add(question);
    switch (questions.size()) {
      case 1 -> {
        // The answer is lost.
      }
      case 2 -> question.fail(500, "busy");
      default -> question.reply(new JsonObject().put("membership", MEMBERS.toJson()));
    }
  }

  @Test
  void shouldStopAskingWhenAMembershipIsPublished() throws Exception {
    NewestParameters newest = get(NewestParameters.of(vertx, job));
    vertx
        .eventBus()
        .publish(job.addresses().control(), new JsonObject().put("membership", MEMBERS.toJson()));
    Awaitility.await().until(newest::hasMembers);
    get(
        vertx
            .eventBus()
            .<JsonObject>consumer(job.addresses().coordinator(), this::onQuestion)
            .completion());

    Awaitility.await()
        .during(NewestParameters.ASK_AGAIN_MILLIS + 200, TimeUnit.MILLISECONDS)
        .until(questions::isEmpty);
    get(newest.close());
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
