package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests nodes that join a job from an empty folder, with and without the files that they need. */
@Tag("slow")
class RefusedNodeTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);

  @TempDir private Path folder;
  private Process job;

  @AfterEach
  void end() {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void shouldReportRefusalsToNodesAndTrainWithTheAcceptedOne() throws Exception {
    int port = FreePort.forCluster();
    String address = "127.0.0.1:" + (port + 100);
    String cluster = "127.0.0.1:" + port;
    Path waiting = node("waiting", "--wait", "60", "--job", address, "--secret", secret());
    Awaitility.await().atMost(LIMIT).until(() -> read(waiting).contains("waits up to 60 s"));
    assertTrue(read(waiting).contains("for a job at " + address + ": nothing answers there yet"));
    String train =
        "train conf/digits-sync.json --workers-here 0 --workers 2 --steps 20 --no-dashboard"
            + " --set data.train=1000 --set data.test=200 --set evaluator.count=0"
            + " --set workers.waitSeconds=100 --set cluster.port="
            + port
            + " --run-dir "
            + folder.resolve("run");
    job = start("job", Path.of(""), train.split(" "));
    Path said = folder.resolve("job.log");
    Awaitility.await()
        .atMost(LIMIT)
        .until(
            () ->
                read(said).contains("on another machine")
                    || read(said).contains("other machines cannot"));

    PastedCommand printed = PastedCommand.after("nodes may join:", read(said));
    assertEquals(address, printed.words().get(2));
    assertFalse(read(said).contains("job.json "), "nothing that is only here: " + read(said));
    String known = Files.readString(folder.resolve("run/secret")).strip();
    assertEquals(
        "rw-------",
        PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.resolve("run/secret"))));

    Path wrong = folder.resolve("wrong");
    Files.writeString(wrong, "0".repeat(64));
    Files.setPosixFilePermissions(wrong, PosixFilePermissions.fromString("rw-r--r--"));
    assertRefused("found mode rw-r--r--", "--job", address, "--secret", wrong.toString());
    Files.setPosixFilePermissions(wrong, PosixFilePermissions.fromString("rw-------"));
    String another = "the job at " + address + " has another secret: copy the file secret of";
    assertRefused(another, "--job", address, "--secret", wrong.toString());
    Path file = folder.resolve("run/job.json");
    assertRefused(
        another, "--join", cluster, "--secret", wrong.toString(), "--job", file.toString());
    assertRefused(
        "the job there is \"digits-sync\", this node's job file is of job \"other\"",
        "--join",
        cluster,
        "--job",
        changed(file, "job", "other"),
        "--secret",
        folder.resolve("run/secret").toString());
    assertRefused(
        "seed",
        "--join",
        cluster,
        "--job",
        changed(file, "seed", 77),
        "--secret",
        folder.resolve("run/secret").toString());

    Path without = node("without-secret", "--job", address);
    assertTrue(read(without).contains("exit 2"), read(without));
    assertTrue(
        read(without).contains("vertigrad: node: found no secret, expected --secret FILE"),
        read(without));

    Process last = start("printed", emptyFolder(), printed.words().toArray(String[]::new));
    assertTrue(job.waitFor(120, TimeUnit.SECONDS), read(said));

    assertEquals(0, job.exitValue(), read(said));
    assertTrue(last.waitFor(30, TimeUnit.SECONDS));
    assertEquals(0, last.exitValue(), read(folder.resolve("printed.log")));
    String all = read(said);
    assertTrue(all.contains("a node at 127.0.0.1 was refused: it has another secret"), all);
    assertTrue(Files.readString(folder.resolve("run/run.log")).contains("was refused: "), all);
    assertSecretStaysInItsFile(known);
  }

  /**
   * Checks that no other file has the secret or the cluster name with which Hazelcast admits nodes.
   */
  private void assertSecretStaysInItsFile(String known) throws IOException {
    String cluster =
        io.vertigrad.job.JobSecret.read(folder.resolve("run/secret")).name("the cluster");
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        if (!file.endsWith("secret") && !file.endsWith("model.zip")) {
          String text = Files.readString(file, java.nio.charset.StandardCharsets.ISO_8859_1);
          assertFalse(text.contains(known) || text.contains(cluster), file.toString());
        }
      }
    }
  }

  /** Returns the run's own secret file, which does not exist yet when this node starts to wait. */
  private String secret() {
    return folder.resolve("run/secret").toString();
  }

  private String changed(Path file, String key, Object value) throws IOException {
    Path copy = Files.createTempFile(folder, "another", ".json");
    Files.writeString(copy, new JsonObject(Files.readString(file)).put(key, value).encode());
    return copy.toString();
  }

  /** Starts a node in this JVM: it names all files that it needs, so its folder does not matter. */
  private void assertRefused(String why, String... words) throws IOException {
    List<String> all = new ArrayList<>(List.of("node", "--role", "worker"));
    all.addAll(List.of(words));
    CommandRun refused = CommandRun.of(all.toArray(String[]::new));
    assertEquals(2, refused.exit(), refused.err());
    assertTrue(
        refused.err().lines().anyMatch(l -> l.startsWith("vertigrad: ") && l.contains(why)),
        refused.err());
    Files.writeString(
        Files.createTempFile(folder, "refused", ".log"), refused.out() + refused.err());
  }

  /** Starts a worker's node; returns its output, with its exit code unless it waits. */
  private Path node(String name, String... words) throws Exception {
    List<String> all = new ArrayList<>(List.of("node"));
    all.addAll(List.of(words));
    all.addAll(List.of("--role", "worker"));
    Process node = start(name, emptyFolder(), all.toArray(String[]::new));
    Path said = folder.resolve(name + ".log");
    if (!name.equals("waiting")) {
      assertTrue(node.waitFor(25, TimeUnit.SECONDS), "it hangs: " + read(said));
      Files.writeString(said, read(said) + "\nexit " + node.exitValue());
    }
    return said;
  }

  private Path emptyFolder() throws IOException {
    return Files.createTempDirectory(folder, "empty");
  }

  private Process start(String name, Path where, String... words) throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(JavaCommand.of("512m", words))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(name + ".log").toFile());
    return where.toString().isEmpty() ? builder.start() : builder.directory(where.toFile()).start();
  }

  private static String read(Path file) throws IOException {
    return Files.exists(file) ? Files.readString(file) : "";
  }
}
