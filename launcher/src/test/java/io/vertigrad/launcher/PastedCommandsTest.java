package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pastes every command that the program prints, which must work. */
@Tag("slow")
final class PastedCommandsTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);

  @TempDir private Path folder;
  private Path data;

  @BeforeEach
  void makeData() throws IOException {
    data = TinyImages.in(folder.resolve("my data"));
  }

  @Test
  void shouldOfferWhatWorksAfterEveryTraining() throws Exception {
    List<String> typed = new ArrayList<>();
    typed.addAll(List.of("train", "conf/mnist-sync.json", "--data", data.toString()));
    typed.addAll(List.of("--steps", "3", "--workers", "1", "--set", "workers.batch=16"));
    typed.addAll(
        List.of("--set", "evaluator.count=0", "--set", "cluster.port=" + FreePort.forCluster()));
    typed.addAll(List.of("--set", "evaluator.blocking=false", "--no-dashboard"));
    List<String> first = new ArrayList<>(typed);
    first.addAll(1, List.of("--run-dir", folder.resolve("a run").toString()));

    CommandRun trained = CommandRun.of(first.toArray(String[]::new));
    assertEquals(0, trained.exit(), trained.err());
    PastedCommand look = PastedCommand.after("next:", trained.out());
    assertEquals(List.of("replay", folder.resolve("a run").toString()), look.words());
    CommandRun asked = offered("predict", trained).run();
    assertEquals(0, asked.exit(), asked.err());
    assertTrue(asked.out().startsWith("test[0] (is class "), asked.out());
    PastedCommand withProcesses = offered("train", trained);
    typed.add("--processes");
    assertEquals(typed, withProcesses.words());

    Path second = folder.resolve("another run");
    CommandRun again = withProcesses.run("--run-dir", second.toString());
    assertEquals(0, again.exit(), again.err());
    PastedCommand replay = PastedCommand.after("next:", again.out());
    assertEquals(List.of("replay", second.toString()), replay.words());

    String joining = again.out().lines().filter(line -> line.contains(" node ")).findFirst().get();
    assertTrue(joining.contains("--data '" + data + "'"), joining);
    assertPortable(second.resolve("job.json"));
    assertReplays(replay);
    CommandRun compared =
        CommandRun.of("compare", folder.resolve("a run").toString(), second.toString());
    assertEquals(0, compared.exit(), compared.err());
    assertFalse(compared.out().contains("vertigrad"), compared.out());
  }

  @Test
  void shouldTrainAJobThatTheDoctorAccepts() throws IOException {
    Path job = folder.resolve("small job.json");
    JsonObject small =
        new JsonObject()
            .put("job", "doctored")
            .put("steps", 2)
            .put("data", new JsonObject().put("name", "mnist"))
            .put("model", new JsonObject().put("name", "mlp"))
            .put("evaluator", new JsonObject().put("count", 0))
            .put("workers", new JsonObject().put("count", 1).put("batch", 16))
            .put("cluster", new JsonObject().put("port", FreePort.forCluster()))
            .put("dashboard", new JsonObject().put("enabled", false));
    Files.writeString(job, small.encode());

    CommandRun checked = CommandRun.of("doctor", job.toString(), "--data", data.toString());
    PastedCommand next = PastedCommand.after("Next:", checked.out());
    CommandRun trained = next.run("--run-dir", folder.resolve("run").toString());

    assertEquals(List.of("train", job.toString(), "--data", data.toString()), next.words());
    assertEquals(0, trained.exit(), trained.err());
  }

  @Test
  void shouldSuggestExistingHelp() {
    for (String[] wrong : new String[][] {{"train", "--stpes"}, {"trian"}, {"node"}}) {
      CommandRun refused = CommandRun.of(wrong);
      CommandRun help = PastedCommand.after("see", refused.err()).run();

      assertEquals(2, refused.exit());
      assertEquals(0, help.exit(), help.err());
      assertTrue(help.out().startsWith("Usage: vertigrad"), help.out());
    }
  }

  @Test
  void shouldSuggestAJobToJoinThatCanBeStarted() {
    CommandRun refused = CommandRun.of("node", "--role", "worker", "--join", "127.0.0.1:1");
    PastedCommand first = PastedCommand.after("with", refused.err());

    assertEquals(List.of("train", "--listen"), first.words());
    VertigradCommand.commandLine().parseArgs(first.words().toArray(String[]::new));
  }

  /** Returns a command with the label {@code or}. */
  private static PastedCommand offered(String command, CommandRun run) {
    String line =
        run.out()
            .lines()
            .filter(l -> l.startsWith("or: ./vertigrad " + command))
            .findFirst()
            .orElseThrow(() -> new AssertionError(run.out()));
    return PastedCommand.after("or:", line);
  }

  private void assertPortable(Path job) throws IOException {
    String written = Files.readString(job);

    assertFalse(written.contains(folder.toString()), written);
    assertFalse(written.contains("127.0.0.1:"), written);
    JsonObject cluster = new JsonObject(written).getJsonObject("cluster");
    assertFalse(cluster.containsKey("host") || cluster.containsKey("members"), written);
  }

  private static void assertReplays(PastedCommand replay) throws IOException {
    List<String> command = JavaCommand.of("512m", replay.words().toArray(String[]::new));
    command.addAll(List.of("--port", "0"));
    Path said = Files.createTempFile("replay", ".txt");
    Process page =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      Awaitility.await()
          .atMost(LIMIT)
          .until(() -> !page.isAlive() || Files.readString(said).contains("replay: http://"));
      assertTrue(page.isAlive(), Files.readString(said));
    } finally {
      page.destroyForcibly();
      Files.delete(said);
    }
  }
}
