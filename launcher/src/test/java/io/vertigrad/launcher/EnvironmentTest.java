package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests commands under other languages, time zones, users and limits than the build's own. */
@Tag("slow")
class EnvironmentTest {

  private static final Duration LIMIT = Duration.ofSeconds(300);

  /** Checkpoint files after which a run is killed. */
  private static final int CHECKPOINTS = 3;

  /** A user id that has no name. */
  private static final int STRANGER = 54_321;

  @TempDir private Path folder;

  /** A run of a process; both outputs are in {@code said} unless standard output went elsewhere. */
  private record Ended(int exit, String said) {}

  @Test
  void shouldNameCheckpointsInPlainDigitsWhenTheLanguageHasDigitsOfItsOwn() throws Exception {
    Ended ended =
        run(
            List.of(),
            List.of("-Duser.language=ar", "-Duser.country=EG", "-Duser.timezone=Pacific/Apia"),
            train());

    assertEquals(0, ended.exit(), ended.said());
    assertNames(folder.resolve("run/checkpoints"));
    assertNames(folder.resolve("run"));
  }

  @ParameterizedTest
  @CsvSource({"ar, EG", "tr, TR"})
  void shouldResumeKilledProcessesWhenTheLanguageHasRulesOfItsOwn(String language, String country)
      throws Exception {
    Map<String, String> spoken =
        Map.of(
            "JAVA_TOOL_OPTIONS",
            "-Duser.language=%s -Duser.country=%s".formatted(language, country));
    Path run = folder.resolve("run");
    Pace pace = Pace.of(run);
    List<String> job = new ArrayList<>(List.of("--set", "checkpoint.every=4"));
    pace.settings(3).forEach(setting -> job.addAll(List.of("--set", setting)));
    List<String> killed = join(training(run, 40), join(job, List.of("--processes")));

    Process process = start(spoken, killed);
    try {
      Awaitility.await()
          .atMost(LIMIT)
          .until(() -> !process.isAlive() || checkpoints(run) >= CHECKPOINTS);
      assertTrue(process.isAlive(), said());
    } finally {
      List<ProcessHandle> all = process.descendants().toList();
      process.destroyForcibly();
      all.forEach(ProcessHandle::destroyForcibly);
      process.waitFor();
    }
    pace.release();
    Ended resumed = run(spoken, List.of("resume", run.toString()));
    Path other = folder.resolve("other");
    CommandRun undisturbed = CommandRun.of(join(training(other, 40), job).toArray(String[]::new));

    assertEquals(0, resumed.exit(), resumed.said());
    assertEquals(0, undisturbed.exit(), undisturbed.err());
    assertTrue(summary(run).getLong("resumedAtVersion") > 0, summary(run).encode());
    assertEquals(
        summary(other).getString("parametersHash"), summary(run).getString("parametersHash"));
    assertNames(run.resolve("checkpoints"));
  }

  /** As NTP does when a machine's clock was fast. */
  @Test
  void shouldAdmitANodeAfterTheCoordinatorsClockWasSetBack() throws Exception {
    assumeTrue(succeeds(List.of(), "cc", "--version"), "needs a C compiler (Debian: gcc)");
    Path library = folder.resolve("fast-clock.so");
    assertTrue(
        succeeds(List.of(), "cc", "-shared", "-fPIC", "-o", library.toString(), source()),
        "the library that moves a clock does not compile");
    Path fast = Files.createFile(folder.resolve("fast"));
    Path run = folder.resolve("run");
    Map<String, String> faked =
        Map.of("LD_PRELOAD", library.toString(), "FAST_CLOCK", fast.toString());
    int port = FreePort.forCluster();
    List<String> waiting =
        List.of("--workers", "2", "--workers-here", "1", "--set", "cluster.port=" + port);
    Process coordinator = start(faked, join(training(run, 20), waiting));
    try {
      Awaitility.await().atMost(LIMIT).until(() -> !coordinator.isAlive() || hasJoined(run));
      assertTrue(coordinator.isAlive(), said());

      Files.delete(fast);
      CommandRun node =
          CommandRun.of(
              "node",
              "--job",
              "127.0.0.1:" + (port + 100),
              "--secret",
              run.resolve("secret").toString(),
              "--role",
              "worker");

      assertEquals(0, node.exit(), node.err() + said());
      assertTrue(coordinator.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), said());
      assertEquals(0, coordinator.exitValue(), said());
      List<Long> joined = joinTimes(run);
      long last = joined.get(joined.size() - 1);
      assertTrue(last < joined.get(0) - 1_800_000, "the clock was set back: " + joined);
    } finally {
      coordinator.destroyForcibly();
    }
  }

  @Test
  void shouldKeepNativeLibrariesInAPrivateFolderWhenTheUserHasNoNameAndNoHome() throws Exception {
    Path temporary = Files.createDirectory(folder.resolve("tmp"));

    // Java knows the home folder of such a user by this name.
    Ended ended =
        run(
            List.of("env", "-u", "HOME"),
            List.of("-Duser.home=?", "-Djava.io.tmpdir=" + temporary),
            train());

    assertEquals(0, ended.exit(), ended.said());
    assertFalse(Files.exists(folder.resolve("?")), "a folder of the name ?");
    Path home = temporary.resolve("vertigrad-home-" + Files.getAttribute(folder, "unix:uid"));
    assertTrue(Files.isDirectory(home.resolve(".javacpp/cache")), ended.said());
  }

  /** As in a container with a user id that no file of it names. */
  @Test
  void shouldTrainForAUserWithoutANameAndWithAHomeThatCannotBeWritten() throws Exception {
    List<String> user =
        List.of(
            "setpriv",
            "--reuid=" + STRANGER,
            "--regid=" + STRANGER,
            "--clear-groups",
            // The build's own files may be readable for its user only.
            "--inh-caps=+dac_read_search",
            "--ambient-caps=+dac_read_search");
    assumeTrue(isRoot(), "needs root, to become another user");
    assumeTrue(succeeds(user, "ls", System.getProperty("user.home")), "needs setpriv (util-linux)");
    // access(2), which Java asks, does not look at capabilities.
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    Path temporary = own(Files.createDirectory(folder.resolve("tmp")));
    Path work = own(Files.createDirectory(folder.resolve("work")));
    Path home = Files.createDirectories(folder.resolve("home/.javacpp/cache"));
    List<String> nothing = List.of("env", "-i", "-C", work.toString());
    List<String> withHome = List.of("env", "-i", "-C", work.toString(), "HOME=" + home);
    List<String> options = List.of("-Djava.io.tmpdir=" + temporary);

    Ended without = run(join(user, nothing), options, train(work));
    Ended readOnly =
        run(
            join(user, withHome),
            List.of(options.get(0), "-Duser.home=" + home.getParent().getParent()),
            train(own(Files.createDirectory(work.resolve("again")))));

    assertEquals(0, without.exit(), without.said());
    assertEquals(0, readOnly.exit(), readOnly.said());
    assertFalse(Files.exists(work.resolve("?")), "a folder of the name ?");
    assertTrue(
        Files.isDirectory(temporary.resolve("vertigrad-home-" + STRANGER + "/.javacpp/cache")));
  }

  @Test
  void shouldFailWhenTheOutputOfACommandCannotBeWritten() throws Exception {
    assumeTrue(Files.exists(Path.of("/dev/full")), "needs /dev/full");
    Path digit = folder.resolve("digit.png");
    ImageIO.write(new BufferedImage(28, 28, BufferedImage.TYPE_BYTE_GRAY), "png", digit.toFile());
    String run = folder.resolve("run").toString();
    Path model = folder.resolve("model.onnx");
    List<List<String>> commands =
        List.of(
            List.of("runs", "--in", folder.toString()),
            List.of("evaluate", run),
            List.of("predict", run, digit.toString()),
            List.of("compare", run, run),
            List.of("export", run, "--to", "onnx", "--output", model.toString()),
            List.of("doctor"));

    Ended train = run(sh("exec \"$@\" > /dev/full"), List.of(), train(folder));
    assertUnwritten(train, "train");
    for (List<String> command : commands) {
      assertUnwritten(full(command), command.toString());
    }
    assertTrue(Files.exists(folder.resolve("run/model.zip")), "the run was saved all the same");
    assertTrue(Files.exists(model), "the model was written all the same");
  }

  @Test
  void shouldFailWhenItsOutputCannotBeWritten() throws Exception {
    assumeTrue(Files.exists(Path.of("/dev/full")), "needs /dev/full");

    Ended full = run(sh("exec \"$@\" > /dev/full"), List.of(), List.of("--help"));
    Ended pipe =
        run(
            List.of("bash", "-c", "\"$@\" | true; exit ${PIPESTATUS[0]}", "-"),
            List.of(),
            List.of("--help"));

    assertEquals(1, full.exit(), full.said());
    assertTrue(full.said().startsWith("vertigrad: the output could not be written: "), full.said());
    assertEquals("", pipe.said());
  }

  private static void assertUnwritten(Ended full, String command) {
    assertEquals(1, full.exit(), command + full.said());
    assertTrue(
        full.said().contains("vertigrad: the output could not be written: "),
        command + full.said());
  }

  /** Runs a command as its process does, but in this JVM, with an output that takes nothing. */
  private static Ended full(List<String> words) throws IOException {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    PrintStream messages = new PrintStream(said, true, StandardCharsets.UTF_8);
    PrintStream formerOut = System.out;
    PrintStream formerErr = System.err;
    try (FileOutputStream device = new FileOutputStream("/dev/full")) {
      StandardOutput out = new StandardOutput(device);
      System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
      System.setErr(messages);
      int status = VertigradCommand.execute(words.toArray(String[]::new));
      return new Ended(out.exitCode(status, messages), said.toString(StandardCharsets.UTF_8));
    } finally {
      System.setOut(formerOut);
      System.setErr(formerErr);
    }
  }

  private List<String> train() {
    return train(folder);
  }

  private static List<String> train(Path parent) {
    return join(training(parent.resolve("run"), 12), List.of("--set", "checkpoint.every=4"));
  }

  private static List<String> training(Path run, int steps) {
    return List.of(
        "train", "--no-dashboard", "--steps", Integer.toString(steps), "--run-dir", run.toString());
  }

  private static int checkpoints(Path run) throws IOException {
    Path checkpoints = run.resolve("checkpoints");
    if (!Files.exists(checkpoints)) {
      return 0;
    }
    try (Stream<Path> files = Files.list(checkpoints)) {
      return (int) files.filter(file -> file.toString().endsWith(".checkpoint")).count();
    }
  }

  private static JsonObject summary(Path run) throws IOException {
    return new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  private static boolean hasJoined(Path run) throws IOException {
    Path events = run.resolve("events.jsonl");
    return Files.exists(events) && Files.readString(events).contains("memberJoined");
  }

  /** Returns when members have joined, by the coordinator's clock, in the order of the events. */
  private static List<Long> joinTimes(Path run) throws IOException {
    return Files.readAllLines(run.resolve("events.jsonl")).stream()
        .map(JsonObject::new)
        .filter(event -> event.getString("type").equals("memberJoined"))
        .map(event -> event.getLong("timeMillis"))
        .toList();
  }

  private static String source() throws Exception {
    return Path.of(EnvironmentTest.class.getResource("fast-clock.c").toURI()).toString();
  }

  private String said() throws IOException {
    return Files.readString(folder.resolve("said"));
  }

  private boolean isRoot() throws IOException {
    return Integer.valueOf(0).equals(Files.getAttribute(folder, "unix:uid"));
  }

  /** Gives a folder to the user without a name. */
  private static Path own(Path path) throws IOException {
    Files.setAttribute(path, "unix:uid", STRANGER);
    return path;
  }

  private static boolean succeeds(List<String> before, String... words) throws Exception {
    try {
      Process process =
          new ProcessBuilder(join(before, List.of(words)))
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (IOException absent) {
      return false;
    }
  }

  private static List<String> join(List<String> some, List<String> more) {
    return Stream.concat(some.stream(), more.stream()).toList();
  }

  private static List<String> sh(String script) {
    return List.of("sh", "-c", script, "-");
  }

  private static void assertNames(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      List<String> names = files.map(file -> file.getFileName().toString()).toList();
      assertFalse(names.isEmpty());
      names.forEach(name -> assertTrue(name.matches("\\p{ASCII}+"), name));
    }
  }

  private Ended run(List<String> before, List<String> options, List<String> words)
      throws Exception {
    return run(before, options, Map.of(), words);
  }

  private Ended run(
      List<String> before, List<String> options, Map<String, String> variables, List<String> words)
      throws Exception {
    Process process = start(before, options, variables, words);
    try {
      assertTrue(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), "does not end: " + said());
      return new Ended(process.exitValue(), said());
    } finally {
      process.destroyForcibly();
    }
  }

  private Ended run(Map<String, String> variables, List<String> words) throws Exception {
    return run(List.of(), List.of(), variables, words);
  }

  private Process start(Map<String, String> variables, List<String> words) throws IOException {
    return start(List.of(), List.of(), variables, words);
  }

  private Process start(
      List<String> before, List<String> options, Map<String, String> variables, List<String> words)
      throws IOException {
    List<String> command = new ArrayList<>(before);
    List<String> java = JavaCommand.of("400m", words.toArray(String[]::new));
    command.add(java.get(0));
    command.addAll(options);
    command.addAll(java.subList(1, java.size()));
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().putAll(variables);
    File said = folder.resolve("said").toFile();
    return builder.redirectErrorStream(true).redirectOutput(said).start();
  }
}
