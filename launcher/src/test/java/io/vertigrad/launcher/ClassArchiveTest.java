package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the start script makes a class archive and that Java uses it, with real processes. */
@Tag("slow")
class ClassArchiveTest {

  private static final long LIMIT_SECONDS = 660;
  private static final int AOT_CACHES = 25;
  private static final Pattern VERSION = Pattern.compile("JAVA_VERSION=\"(\\d+)");

  @TempDir private Path folder;
  private Path target;

  /** Makes a folder in which everything is built, from the jars of this test's class path. */
  @BeforeEach
  void makeHome() throws IOException {
    target = Files.createDirectories(folder.resolve("launcher/target"));
    for (String module :
        List.of(
            "codecs",
            "compute",
            "engines/dl4j",
            "verticles",
            "strategies",
            "federated",
            "sweep",
            "http",
            "serving",
            "streams",
            "dashboard/run",
            "dashboard/observability",
            "dashboard",
            "launcher/cluster",
            "launcher/tracking",
            "launcher")) {
      Files.createDirectories(folder.resolve(module).resolve("target/classes"));
    }
    List<String> jars =
        new ArrayList<>(
            Arrays.asList(System.getProperty("java.class.path").split(File.pathSeparator)));
    jars.removeIf(entry -> !entry.endsWith(".jar"));
    Optional<String> launcher =
        jars.stream().filter(jar -> jar.matches(".*/vertigrad-launcher-classes.jar")).findFirst();
    assumeTrue(launcher.isPresent(), "the class path of this module in jars");
    jars.remove(launcher.get());
    Files.copy(Path.of(launcher.get()), target.resolve("vertigrad-launcher-1.jar"));
    Files.writeString(target.resolve("classpath"), String.join(File.pathSeparator, jars));
    Files.copy(Path.of("..", "vertigrad"), folder.resolve("vertigrad"));
    Path options = Files.createDirectories(folder.resolve("conf")).resolve("java.options");
    Files.copy(Path.of("../conf/java.options"), options);
    assertTrue(folder.resolve("vertigrad").toFile().setExecutable(true));
    Files.createFile(target.resolve("built-cpu"));
  }

  @Test
  void shouldServeTwoStartsAtOnceAndTheNextProcess() throws Exception {
    archiveAndUse(Path.of(System.getProperty("java.home")));
  }

  @Test
  void shouldMakeAnAotCacheOnJava25() throws Exception {
    Optional<Path> java = installed();
    assumeTrue(java.isPresent(), "a JDK of version 25 or newer beside this one");
    archiveAndUse(java.get());
    assertTrue(archives().get(0).endsWith(".aot"), archives().toString());
  }

  /** Two nodes that find no coordinator start at once. The archive of one of them is then used. */
  private void archiveAndUse(Path java) throws Exception {
    List<Process> starts = new ArrayList<>();
    for (String name : List.of("one", "two")) {
      starts.add(start(java, name, "node", "--job", "127.0.0.1:1", "--role", "worker"));
    }
    for (Process start : starts) {
      assertTrue(start.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
    }
    assertEquals(0, end(start(java, "archive", "archive")), said("archive"));
    assertEquals(1, archives().size(), archives().toString());

    assertEquals(0, end(start(java, "version", "--version")), said("version"));
    assertFalse(said("version").contains("WARNING"), said("version"));
    assertTrue(
        Files.readString(folder.resolve("version.classes"))
            .lines()
            .anyMatch(line -> line.matches(".*launcher.run.Versions source: shared objects.*")));
  }

  private Process start(Path java, String name, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(folder.resolve("vertigrad").toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().keySet().removeIf(key -> key.startsWith("VERTIGRAD_"));
    builder.environment().put("JAVA_HOME", java.toString());
    builder
        .environment()
        .put(
            "VERTIGRAD_JAVA_OPTS",
            "-Xlog:class+load:file=" + folder.resolve(name + ".classes") + ":none");
    return builder.redirectErrorStream(true).redirectOutput(folder.resolve(name).toFile()).start();
  }

  private static int end(Process process) throws InterruptedException {
    assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
    return process.exitValue();
  }

  private String said(String name) throws IOException {
    return Files.readString(folder.resolve(name));
  }

  private List<String> archives() throws IOException {
    try (Stream<Path> files = Files.list(target)) {
      return files.map(Path::toString).filter(name -> name.contains("/classes-")).toList();
    }
  }

  /** Finds a JDK beside the running one that is new enough for AOT caches. */
  private static Optional<Path> installed() throws IOException {
    Path folder = Path.of(System.getProperty("java.home")).getParent();
    try (Stream<Path> homes = Files.list(folder)) {
      return homes.filter(ClassArchiveTest::isNew).findFirst();
    }
  }

  private static boolean isNew(Path home) {
    try {
      Matcher version = VERSION.matcher(Files.readString(home.resolve("release")));
      return version.find() && Integer.parseInt(version.group(1)) >= AOT_CACHES;
    } catch (IOException noJdk) {
      return false;
    }
  }
}
