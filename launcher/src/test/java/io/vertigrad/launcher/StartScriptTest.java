package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests {@code ./vertigrad} with a fake Java and a fake Maven that only record their calls. */
class StartScriptTest {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  /**
   * Archives classes only when the test allows it, and then writes the file that the option names.
   */
  private static final String JAVA =
      """
      #!/bin/sh
      here=$(dirname "$0")/..
      case "$*" in
        *OutOfMemoryError*'node memory'*)
          for word in "$@"; do
            case $word in -XX:OnOutOfMemoryError=*) sh -c "${word#*=}" ;; esac
          done
          exit 3
          ;;
        -version) echo 'openjdk version "17.0.1"' >&2 ;;
        *launcher.ClassArchive*)
          echo archive >>"$here/calls"
          until [ -f "$here/go" ]; do sleep 0.02; done
          for word in "$@"; do
            case $word in -XX:ArchiveClassesAtExit=*) echo classes >"${word#*=}" ;; esac
          done
          ;;
        *-sources.jar*) echo sources >>"$here/calls" ;;
        *SharedArchiveFile=*) echo with >>"$here/calls" ;;
        *) echo without >>"$here/calls" ;;
      esac
      """;

  /** Waits until the test lets it continue, then writes the class path. */
  private static final String MAVEN =
      """
      #!/bin/sh
      here=$(dirname "$0")/..
      echo build >>"$here/calls"
      until [ -f "$here/go" ]; do sleep 0.02; done
      for module in codecs compute engines/dl4j verticles dashboard launcher engines/pytorch; do
        mkdir -p "$here/home/$module/target/classes"
      done
      cd "$here/home"
      [ -f launcher/target/vertigrad-launcher-1.jar ] || touch launcher/target/vertigrad-launcher-1.jar
      touch engines/pytorch/target/vertigrad-engine-1.jar
      for module in launcher engines/pytorch; do
        [ -f $module/target/classpath ] ||
          printf %s "$PWD/launcher/target/vertigrad-launcher-1.jar" >$module/target/classpath
      done
      """;

  @TempDir private Path folder;
  private Path home;

  @BeforeEach
  void makeTools() throws IOException {
    home = Files.createDirectories(folder.resolve("home"));
    Files.copy(Path.of("..", "vertigrad"), home.resolve("vertigrad"));
    assertTrue(home.resolve("vertigrad").toFile().setExecutable(true));
    Path tools = Files.createDirectories(folder.resolve("bin"));
    for (String[] tool : new String[][] {{"java", JAVA}, {"javac", ""}, {"mvn", MAVEN}}) {
      Path file = Files.writeString(tools.resolve(tool[0]), tool[1]);
      assertTrue(file.toFile().setExecutable(true));
    }
  }

  @Test
  @Tag("slow")
  void shouldBuildAndArchiveOnceWhenThreeStartAtOnce() throws Exception {
    List<Process> starts = List.of(start("train"), start("train"), start("train"));
    await("build");
    go();
    for (Process start : starts) {
      assertEnds(0, start);
    }

    List<String> calls = calls();
    assertEquals(1, calls.stream().filter("build"::equals).count(), calls.toString());
    assertEquals(1, calls.stream().filter("archive"::equals).count(), calls.toString());
    assertEquals(3, calls.stream().filter(call -> call.startsWith("with")).count());
    assertEquals(List.of(), locks());
  }

  @Test
  void shouldGoWithoutAnArchiveWhileAnotherProcessMakesIt() throws Exception {
    built();
    Process first = start("train");
    await("archive");

    assertEnds(0, start("train"));
    assertEquals("without", calls().get(1), "nobody waits for an archive");
    go();
    assertEnds(0, first);
    assertEnds(0, start("train"));

    assertEquals(List.of("archive", "without", "with", "with"), calls());
  }

  @Test
  void shouldTakeTheClassesWhereAReleaseHasBeenBuilt() throws Exception {
    built();
    Files.createFile(home.resolve("launcher/target/vertigrad-launcher-1-sources.jar"));
    Files.createFile(home.resolve("launcher/target/vertigrad-launcher-1-javadoc.jar"));

    assertEnds(0, start("doctor"));

    assertEquals(List.of("without"), calls());
  }

  @Test
  void shouldTakeOverTheLockOfAProcessThatHasEnded() throws Exception {
    built();
    go();
    Process ended = new ProcessBuilder("true").start();
    ended.waitFor();
    Path lock = home.resolve("launcher/target/classes-17.0.1.jsa.lock");
    Files.createSymbolicLink(lock, Path.of(String.valueOf(ended.pid())));

    assertEnds(0, start("train"));

    assertEquals(List.of("archive", "with"), calls());
    assertEquals(List.of(), locks());
  }

  @Test
  void shouldKeepTheArchiveWhenAnotherEngineIsBuiltButNotWhenAJarHasChanged() throws Exception {
    built();
    go();
    assertEnds(0, start("train"));
    assertEnds(0, start("train", "--set", "engine=pytorch"));
    assertEquals(List.of("archive", "with", "build", "with"), calls());

    Path jar = home.resolve("launcher/target/vertigrad-launcher-1.jar");
    Files.setLastModifiedTime(jar, FileTime.fromMillis(System.currentTimeMillis() + 10_000));
    assertEnds(0, start("predict"));
    assertEnds(0, start("train"));

    assertEquals(List.of("without", "archive"), calls().subList(4, 6));
  }

  /** Maven cannot find a module of this project that it is not told to build. */
  @Test
  void shouldBuildEveryModuleThatTheLauncherDependsOn() throws Exception {
    String script = Files.readString(Path.of("../vertigrad"));
    Matcher built = Pattern.compile("modules='([^']+)'").matcher(script);
    Matcher besides = Pattern.compile("\\$modules ([a-z ]+)\" \\| tr").matcher(script);
    assertTrue(built.find() && besides.find(), "the script's modules");
    List<String> modules = new ArrayList<>(List.of(built.group(1).split(" ")));
    modules.addAll(List.of(besides.group(1).split(" ")));

    for (String module : modules) {
      String pom = Files.readString(Path.of("..", module, "pom.xml"));
      String dependencies = pom.substring(Math.max(0, pom.indexOf("<dependencies>")));
      Matcher needed =
          Pattern.compile("<artifactId>vertigrad-([a-z0-9-]+)</artifactId>").matcher(dependencies);
      while (needed.find()) {
        String artifact = needed.group(1).replace("engine-", "engines/");
        assertTrue(modules.contains(artifact), module + " needs " + artifact);
      }
    }
  }

  @Test
  void shouldNameTheHeapAndTheRemedyWhenJavaRunsOutOfMemory() throws Exception {
    built();
    go();
    assertEnds(0, start("train"));
    Files.delete(folder.resolve("said"));

    assertEnds(3, start("node", "memory"));

    assertTrue(
        said().startsWith("vertigrad: out of memory: this JVM had a heap of 300m. Give it more"),
        said());
    assertEquals(1, said().lines().count(), said());
  }

  /** Runs a build, so that later commands need none. */
  private void built() throws Exception {
    go();
    assertEnds(0, start("doctor"));
    Files.delete(folder.resolve("go"));
    Files.delete(folder.resolve("calls"));
  }

  private void go() throws IOException {
    Files.writeString(folder.resolve("go"), "");
  }

  private Process start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(home.resolve("vertigrad").toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
    builder.environment().keySet().removeIf(name -> name.matches("JAVA_HOME|VERTIGRAD_.*"));
    builder.environment().put("VERTIGRAD_JAVA_OPTS", "-Xss2m -Xmx300m");
    return builder
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("said").toFile()))
        .start();
  }

  private void assertEnds(int status, Process process) throws Exception {
    assertTrue(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), said());
    assertEquals(status, process.exitValue(), said());
  }

  private void await(String call) {
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> Files.exists(folder.resolve("calls")) && calls().contains(call));
  }

  private List<String> calls() throws IOException {
    return Files.readAllLines(folder.resolve("calls"));
  }

  private String said() throws IOException {
    return Files.readString(folder.resolve("said"));
  }

  private List<Path> locks() throws IOException {
    try (var files = Files.list(home.resolve("launcher/target"))) {
      return files.filter(file -> file.toString().endsWith("lock")).toList();
    }
  }
}
