package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests jobs that start with fewer members than they ask for, and wait for the others to join. */
@Tag("slow")
class OutsideWorkersTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir private Path folder;

  @Test
  void shouldTrainWithWorkersFromElsewhereWhenNoneStartHere() throws Exception {
    int port = FreePort.forCluster();
    CompletableFuture<CommandRun> job =
        CompletableFuture.supplyAsync(
            () -> train("--workers-here", "0", "--set", "cluster.port=" + port));
    Awaitility.await().atMost(LIMIT).until(() -> job.isDone() || events().contains("server"));

    String[] node = {
      "node",
      "--job",
      "127.0.0.1:" + (port + 100),
      "--secret",
      folder.resolve("run/secret").toString(),
      "--role",
      "worker"
    };
    List<String> withPort = new ArrayList<>(List.of(node));
    int probes = FreePort.find();
    withPort.addAll(List.of("--port", "" + probes));
    CompletableFuture<Void> ready = CompletableFuture.runAsync(() -> awaitReady(probes));
    int joined = VertigradCommand.execute(withPort.toArray(String[]::new));
    ready.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    CommandRun ended = job.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertEquals(0, ended.exit(), ended.err());
    assertEquals(0, joined);
    String out = ended.out();
    List<String> printed = new ArrayList<>(List.of(node));
    printed.addAll(List.of("--set", "checkpoint.directory=" + folder.resolve("run/checkpoints")));
    assertEquals(printed, PastedCommand.after("nodes may join:", out).words());
    assertTrue(out.contains("waiting up to 60 s (workers.waitSeconds) for worker 0\n"), out);
    assertTrue(out.matches("(?s).*worker 0 joined from 127.0.0.1 pid \\d+\n.*"), out);
  }

  @Test
  void shouldNameTheMissingMembersWhenTheWaitIsOver() throws Exception {
    CommandRun ended =
        train(
            "--workers-here=0",
            "--servers-here=0",
            "--set=workers.waitSeconds=4",
            "--set=cluster.port=" + FreePort.forCluster());

    // On a busy machine the job is over before its own evaluator has joined, which is refused then.
    String over = "the job is over: ";
    assertEquals(ended.err().contains(over) ? 2 : 1, ended.exit(), ended.out() + ended.err());
    String expected = "vertigrad: (%s)?the job did not start within 4 s: ".formatted(over);
    assertTrue(
        ended.err().matches("(?s)" + expected + "(?=[^;]* server 0)[^;]* worker 0.*"),
        "a slow machine may have others missing too: " + ended.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"workers", "servers"})
  void shouldRefuseMoreMembersHereThanTheJobHas(String members) {
    CommandRun ended = train("--%s-here".formatted(members), "3");

    assertEquals(2, ended.exit());
    assertEquals(
        "vertigrad: --%1$s-here 3: expected a number from 0 to %1$s.count, 1".formatted(members),
        ended.err().strip());
  }

  private static void awaitReady(int port) {
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:%d/health/ready".formatted(port)))
            .build();
    Awaitility.await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(50))
        .ignoreException(ConnectException.class)
        .until(() -> client.send(request, BodyHandlers.ofString()).statusCode() == 200);
  }

  private CommandRun train(String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/digits-sync.json", "--workers", "1", "--steps", "20"));
    arguments.addAll(List.of("--run-dir", folder.resolve("run").toString()));
    arguments.addAll(List.of("--set", "data.train=1000", "--set", "data.test=200"));
    arguments.addAll(List.of("--set", "workers.waitSeconds=60"));
    arguments.addAll(List.of(options));
    return CommandRun.of(arguments.toArray(String[]::new));
  }

  private String events() throws IOException {
    Path file = folder.resolve("run/events.jsonl");
    return Files.exists(file)
        ? Files.readString(file)
            .lines()
            .map(JsonObject::new)
            .map(e -> e.getString("role"))
            .toList()
            .toString()
        : "";
  }
}
