package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Serves a job that is trained in another JVM, by the predictor's class name. */
@Tag("slow")
class ServingProcessTest {

  private static final Duration LIMIT = Duration.ofSeconds(180);

  @TempDir private Path folder;

  private final HttpClient client = HttpClient.newHttpClient();
  private final List<Process> predictors = new ArrayList<>();
  private RunProcess training;
  private int port;

  @AfterEach
  void endAll() {
    predictors.forEach(Process::destroyForcibly);
    training.close();
  }

  @Test
  void shouldSurviveTrainingAndNotAffectItWhenEitherIsKilled() throws Exception {
    int cluster = FreePort.find();
    Path run = folder.resolve("run");
    training =
        RunProcess.train(run, "--listen", "--steps", "1000000", "--set", "cluster.port=" + cluster);
    await().until(() -> !training.url().isEmpty() && Files.exists(run.resolve("secret")));
    JsonObject job = new JsonObject(Files.readString(run.resolve("job.json")));
    job.put(
        "cluster",
        new JsonObject()
            .put("port", cluster)
            .put("members", JsonArray.of("127.0.0.1:" + cluster))
            .put("secretFile", run.resolve("secret").toString()));
    Process first = start(job);
    await().until(() -> version() > 0);
    long before = version();
    await().until(() -> version() > before);

    first.destroyForcibly().waitFor();
    long last = before;
    start(job);
    await().until(() -> version() > last);
    training.close();
    long age = age();
    await().until(() -> age() > age + 500);

    long left = version();
    assertTrue(left > before, training::output);
    assertEquals(left, version(), "nothing newer after the end of training");
  }

  private Process start(JsonObject job) throws IOException {
    port = FreePort.find();
    job.put("serving", new JsonObject().put("port", port));
    Path file = Files.createTempFile(folder, "predictor", ".json");
    Files.writeString(file, job.encodePrettily());
    List<String> command =
        JavaCommand.of(
            "512m", "io.vertigrad.serving.PredictorVerticle", "-cluster", "-conf", file.toString());
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("predictor-" + predictors.size() + ".log").toFile())
            .start();
    predictors.add(process);
    return process;
  }

  private long version() {
    try {
      return Long.parseLong(ask().getString("model_version"));
    } catch (IOException | InterruptedException notYet) {
      return -1;
    }
  }

  private long age() throws Exception {
    return ask().getJsonObject("parameters").getLong("age_millis");
  }

  private JsonObject ask() throws IOException, InterruptedException {
    JsonArray zeros = new JsonArray();
    for (int i = 0; i < 784; i++) {
      zeros.add(0);
    }
    JsonObject input =
        new JsonObject()
            .put("name", "input")
            .put("datatype", "UINT8")
            .put("shape", JsonArray.of(1, 1, 28, 28))
            .put("data", zeros);
    HttpResponse<String> answer =
        client.send(
            HttpRequest.newBuilder(
                    URI.create("http://127.0.0.1:%d/v2/models/digits-sync/infer".formatted(port)))
                .POST(
                    BodyPublishers.ofString(
                        new JsonObject().put("inputs", JsonArray.of(input)).encode()))
                .build(),
            BodyHandlers.ofString());
    if (answer.statusCode() != 200) {
      throw new IOException(answer.body());
    }
    return new JsonObject(answer.body());
  }

  private static ConditionFactory await() {
    return Awaitility.await().atMost(LIMIT).pollInterval(Duration.ofMillis(100));
  }
}
