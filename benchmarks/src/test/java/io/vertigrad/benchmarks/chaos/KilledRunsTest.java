package io.vertigrad.benchmarks.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.testkit.chaos.ChaosPlan;
import io.vertigrad.testkit.chaos.ChaosTrial;
import io.vertigrad.testkit.chaos.Disturbance;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs short versions of the chaos benchmark's plans: some twenty kills in all, two runs at a time.
 */
@Tag("slow")
@Execution(ExecutionMode.CONCURRENT)
@EnabledOnOs(OS.LINUX)
class KilledRunsTest {

  private static final int KILLS = 5;

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({
    "sync, 1, 1200, 18301, everything",
    "allreduce, 2, 1500, 18351, coordinator",
    "ring, 3, 1500, 18401, coordinator",
    "pipeline, 4, 1000, 18451, everything"
  })
  void shouldEndWithTheUndisturbedParametersWhenAnyMemberIsKilled(
      String name, long seed, int steps, int port, String besides) throws Exception {
    ChaosPlan plan = plan(name);
    List<String> victims = new ArrayList<>(plan.members());
    victims.add(besides);
    List<Disturbance> kills = Disturbance.plan(victims, seed, KILLS, 0, 0.4);

    ChaosTrial trial = ChaosTrial.of(plan, kills, steps, new JsonObject(), launch(port));

    String story = kills + System.lineSeparator() + trial.disturbed().output();
    assertEquals(List.of(), trial.violations(), story);
    // On a fast machine, or when a kill had to wait, the run may end before the last kills.
    assertTrue(trial.disturbed().strikes().size() >= KILLS - 2, story);
  }

  /** Trains the same job on other samples; the run and the check together have to notice it. */
  @Test
  void shouldReportARunThatTrainedSomethingElse() throws Exception {
    JsonObject planted = new JsonObject().put("seed", 5);

    ChaosTrial trial = ChaosTrial.of(plan("allreduce"), List.of(), 20, planted, launch(18501));

    assertEquals(1, trial.violations().size(), trial.violations()::toString);
    assertTrue(
        trial.violations().get(0).startsWith("parametersHash"), trial.violations()::toString);
  }

  private ChaosTrial.Launch launch(int port) throws IOException {
    Path chaos = Files.createDirectory(folder.resolve("chaos"));
    return new ChaosTrial.Launch(
        command(), command(), Path.of(".."), "", chaos, port, false, Optional.empty(), 0);
  }

  private static ChaosPlan plan(String name) {
    return ChaosPlan.all().stream()
        .filter(plan -> plan.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /**
   * Returns the command with this test's own class path or the archived one, in small processes
   * that start fast.
   */
  private static List<String> command() throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx300m"));
    command.add("-Dorg.bytedeco.javacpp.maxphysicalbytes=0");
    String classPath = System.getProperty("java.class.path");
    Path archive = Path.of("..", "launcher", "target", "class-archive", "classes.jsa");
    if (Files.exists(archive) && classFiles().noneMatch(file -> isNewer(file, archive))) {
      command.add("-XX:SharedArchiveFile=" + archive.toRealPath());
      classPath = Files.readString(archive.resolveSibling("classpath"));
    }
    command.addAll(List.of("-cp", classPath));
    command.add("io.vertigrad.launcher.VertigradApplication");
    return command;
  }

  /** Returns the classes of the modules in the archive of the launcher's tests. */
  private static Stream<Path> classFiles() {
    return Stream.of(
            "codecs", "compute", "engines/dl4j", "verticles", "strategies", "dashboard", "launcher")
        .map(module -> Path.of("..", module, "target", "classes"))
        .flatMap(KilledRunsTest::files);
  }

  private static Stream<Path> files(Path folder) {
    try (Stream<Path> walk = Files.walk(folder)) {
      return walk.filter(Files::isRegularFile).toList().stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isNewer(Path file, Path other) {
    try {
      return Files.getLastModifiedTime(file).compareTo(Files.getLastModifiedTime(other)) > 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
