package io.vertigrad.examples.besideverticles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("slow")
@Timeout(120)
class GreetingWithWorkerTest {

  private final Vertx vertx = Vertx.vertx();
  private final JsonObject job =
      new JsonObject()
          .put("job", "by-hand")
          .put("steps", 200)
          .put("optimizer", JsonObject.of("learningRate", 0.1))
          .put("workers", JsonObject.of("count", 1).put("batch", 64))
          .put("evaluator", JsonObject.of("count", 0))
          .put("data", JsonObject.of("name", "digits", "train", 2_000, "test", 500));

  @AfterEach
  void closeVertx() throws Exception {
    get(vertx.close());
  }

  @Test
  void shouldAnswerOverHttpWhileTheWorkerBesideItTrains() throws Exception {
    CoordinatorVerticle coordinator = new CoordinatorVerticle();
    get(deploy(coordinator));
    get(deploy(new ParameterServerVerticle()));
    GreetingVerticle greeting = new GreetingVerticle("vertigrad.by-hand.events", 0);
    get(vertx.deployVerticle(greeting));

    get(LentWorker.deploy(vertx, JobConfig.read("test", job)));
    String before = ask(greeting.actualPort());
    JsonObject end = get(coordinator.result());

    assertTrue(before.startsWith("hello; worker "), before);
    assertEquals("finished", end.getString("state"), end::encode);
    String after = ask(greeting.actualPort());
    assertEquals("hello; worker 0 is at step 200\n", after);
    get(coordinator.stop("the test is over"));
  }

  private String ask(int port) throws Exception {
    HttpClient client = vertx.createHttpClient();
    return get(
        client
            .request(HttpMethod.GET, port, "127.0.0.1", "/")
            .compose(request -> request.send().compose(HttpClientResponse::body))
            .map(Buffer::toString)
            .eventually(client::close));
  }

  private Future<String> deploy(Deployable role) {
    return vertx.deployVerticle(role, new DeploymentOptions().setConfig(job));
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
