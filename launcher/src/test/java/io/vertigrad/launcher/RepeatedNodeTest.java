package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a node that serves one job after the other. */
@Tag("slow")
final class RepeatedNodeTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);

  @TempDir private Path folder;
  private final int port = FreePort.forCluster();
  private final String address = "127.0.0.1:" + (port + 100);
  private final String waits = "waits for the next job at " + address;
  private Path secret;
  private Process node;

  @BeforeEach
  void makeSecret() throws IOException {
    secret = Files.writeString(folder.resolve("secret"), "7".repeat(64));
    Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
  }

  @AfterEach
  void endNode() {
    if (node != null) {
      node.destroyForcibly();
    }
  }

  @Test
  void shouldServeOneJobAfterTheOtherUntilItIsAskedToEnd() throws Exception {
    node = node("--repeat", "--port", "0");
    Awaitility.await().atMost(LIMIT).until(() -> said().contains("waits for a job at"));

    CommandRun first = train("first", digits(), "--steps", "20");
    assertEquals(0, first.exit(), () -> first + said());
    awaitWaiting(1);
    CommandRun unfit = train("unfit", points(), "--set", "workers.waitSeconds=6");
    assertEquals(1, unfit.exit(), () -> unfit + said());
    awaitWaiting(2);
    CommandRun second =
        train("second", digits(), "--steps", "30", "--set", "model.name=mlp", "--set", "seed=5");
    assertEquals(0, second.exit(), () -> second + said());
    awaitWaiting(3);

    String joined = "worker 0 joined from 127.0.0.1 pid " + node.pid();
    assertTrue(first.out().contains(joined), first.out());
    assertTrue(second.out().contains(joined), second.out());
    assertTrue(
        said().matches("(?s).*ERROR \\w+: data set .csv. has no folder to read from.*"),
        this::said);
    node.destroy();
    assertTrue(node.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), this::said);
    assertEquals(143, node.exitValue(), this::said);
  }

  @Test
  void shouldEndWhenNoFurtherJobComesInTime() throws Exception {
    node = node("--wait", "60", "--repeat", "1");
    Awaitility.await().atMost(LIMIT).until(() -> said().contains("waits up to 60 s for a job"));

    CommandRun only = train("only", digits(), "--steps", "20");

    assertEquals(0, only.exit(), () -> only + said());
    assertTrue(node.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), this::said);
    assertEquals(0, node.exitValue(), this::said);
    assertTrue(said().contains("no further job has come within 1 s"), this::said);
  }

  /** What is wrong with its own command line is no failure of one job. */
  @Test
  void shouldEndAtOnceWhenItKnowsNoJob() {
    CommandRun address =
        CommandRun.of("node", "--role", "worker", "--repeat", "--job", "[::1]:15801");
    CommandRun role = CommandRun.of("node", "--role", "boss", "--repeat", "--job", "127.0.0.1:1");
    CommandRun none =
        CommandRun.of(
            "node",
            "--role",
            "worker",
            "--repeat",
            "--job",
            "conf/digits-sync.json",
            "--set",
            "cluster.discovery=multicast",
            "--secret",
            secret.toString());

    CommandRun word =
        CommandRun.of("node", "--role", "worker", "--repeat", "abc", "--job", "127.0.0.1:1");

    assertEquals(List.of(2, 2, 2), List.of(address.exit(), role.exit(), none.exit()));
    assertEquals(2, word.exit());
    assertTrue(word.err().contains("abc: found beside --job 127.0.0.1:1"), word.err());
    assertTrue(role.err().contains("--role boss: expected one of"), role.err());
    assertTrue(none.err().contains("--repeat: found no address to wait at"), none.err());
  }

  /** A job that every node can serve. */
  private List<String> digits() {
    return List.of(
        "conf/digits-sync.json",
        "--set",
        "data.train=1000",
        "--set",
        "data.test=200",
        "--set",
        "evaluator.count=0");
  }

  /** A job of files that only the coordinator has. */
  private List<String> points() throws IOException {
    Path data = Files.createDirectory(folder.resolve("data"));
    String rows = "0,1,2\n1,3,4\n".repeat(16);
    Files.writeString(data.resolve("train.csv"), rows);
    Files.writeString(data.resolve("test.csv"), rows);
    JsonObject job =
        new JsonObject()
            .put("job", "points")
            .put("steps", 10)
            .put("model", JsonObject.of("name", "mlp"))
            .put("data", JsonObject.of("name", "csv", "classes", 2));
    Path file = Files.writeString(folder.resolve("points.json"), job.encode());
    return List.of(file.toString(), "--data", data.toString());
  }

  private CommandRun train(String name, List<String> job, String... options) {
    List<String> words = new ArrayList<>(List.of("train"));
    words.addAll(job);
    words.addAll(List.of("--workers", "1", "--workers-here", "0", "--no-dashboard"));
    words.addAll(List.of("--run-dir", folder.resolve(name).toString()));
    words.addAll(List.of("--set", "cluster.port=" + port, "--set", "cluster.secretFile=" + secret));
    words.addAll(List.of(options));
    return CommandRun.of(words.toArray(String[]::new));
  }

  private Process node(String... options) throws IOException {
    List<String> words = new ArrayList<>(List.of("node", "--job", address));
    words.addAll(List.of("--role", "worker", "--secret", secret.toString()));
    words.addAll(List.of(options));
    return new ProcessBuilder(JavaCommand.of("300m", words.toArray(String[]::new)))
        .directory(Files.createDirectories(folder.resolve("node")).toFile())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("said").toFile())
        .start();
  }

  private void awaitWaiting(int times) {
    Awaitility.await()
        .atMost(LIMIT)
        .until(
            () ->
                IntStream.iterate(said().indexOf(waits), at -> said().indexOf(waits, at + 1))
                        .takeWhile(at -> at >= 0)
                        .count()
                    >= times);
  }

  private String said() {
    try {
      return Files.readString(folder.resolve("said"));
    } catch (IOException e) {
      return e.toString();
    }
  }
}
