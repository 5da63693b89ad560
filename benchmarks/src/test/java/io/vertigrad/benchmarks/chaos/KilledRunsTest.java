package io.vertigrad.benchmarks.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The chaos benchmark's plans in short: some twenty kills in all. */
@Tag("slow")
@EnabledOnOs(OS.LINUX)
class KilledRunsTest {

  private static final int KILLS = 5;

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({
    "sync, 1, 1500, 18301, everything",
    "allreduce, 2, 2000, 18351, coordinator",
    "ring, 3, 2000, 18401, coordinator",
    "pipeline, 4, 1000, 18451, everything"
  })
  void shouldLeaveNoTraceWhoeverIsKilled(
      String name, long seed, int steps, int port, String besides) throws Exception {
    ChaosPlan plan = plan(name);
    List<String> victims = new ArrayList<>(plan.members());
    victims.add(besides);
    List<Disturbance> kills = Disturbance.plan(victims, seed, KILLS, 0, 0.7);

    ChaosTrial trial = ChaosTrial.of(plan, kills, steps, new JsonObject(), launch(port));

    String story = kills + System.lineSeparator() + trial.disturbed().output();
    assertEquals(List.of(), trial.violations(), story);
    // On a machine that is fast, or where a kill had to wait, the run may end before the last ones.
    assertTrue(trial.disturbed().strikes().size() >= KILLS - 2, story);
  }

  /** The same job with other samples: the whole way to the verdict has to notice. */
  @Test
  void shouldFindARunThatTrainedSomethingElse() throws Exception {
    JsonObject planted = new JsonObject().put("seed", 5);

    ChaosTrial trial = ChaosTrial.of(plan("allreduce"), List.of(), 20, planted, launch(18501));

    assertEquals(1, trial.violations().size(), trial.violations()::toString);
    assertTrue(
        trial.violations().get(0).startsWith("parametersHash"), trial.violations()::toString);
  }

  private ChaosTrial.Launch launch(int port) throws IOException {
    Path chaos = Files.createDirectory(folder.resolve("chaos"));
    return new ChaosTrial.Launch(command(), command(), Path.of(".."), "", chaos, port, false);
  }

  private static ChaosPlan plan(String name) {
    return ChaosPlan.all().stream()
        .filter(plan -> plan.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** This test's own class path, in small processes that start fast. */
  private static List<String> command() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx300m"));
    command.add("-Dorg.bytedeco.javacpp.maxphysicalbytes=0");
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add("io.vertigrad.launcher.VertigradApplication");
    return command;
  }
}
