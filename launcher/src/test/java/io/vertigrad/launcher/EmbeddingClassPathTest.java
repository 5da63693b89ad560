package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Checks the class path of an application that depends on {@code vertigrad-strategies} and {@code
 * vertigrad-engine-dl4j} alone, and of one that also starts a node of a cluster. It joins the
 * run-time class paths of the modules, as Maven resolved them in this build.
 */
class EmbeddingClassPathTest {

  /** The class paths of the two modules, written before this module's tests run. */
  private static final List<Path> CLASS_PATHS =
      List.of(
          Path.of("..", "strategies", "target", "tested-classpath"),
          Path.of("..", "engines", "dl4j", "target", "tested-classpath"));

  private static final Path CLUSTER =
      Path.of("..", "launcher", "cluster", "target", "tested-classpath");

  private static final List<Path> OWN_CLASSES =
      List.of(
          Path.of("..", "verticles", "target", "classes"),
          Path.of("..", "strategies", "target", "classes"),
          Path.of("..", "engines", "dl4j", "target", "classes"));

  private static final Pattern NOT_FOR_APPLICATIONS =
      Pattern.compile(
          "(vertx-(web|health|launcher|hazelcast|config|bridge)|micrometer|prometheus|opentelemetry"
              + "|hazelcast|picocli|logback|jline|progressbar|vertigrad-(observability|dashboard|cluster|launcher|testkit)"
              + "|junit|archunit|awaitility|selenium|jazzer).*");

  private static final Pattern NOT_FOR_NODES =
      Pattern.compile(
          "(vertx-web-\\d|vertx-(health|launcher|config|bridge)|micrometer|prometheus|opentelemetry|picocli"
              + "|logback|vertigrad-(http|observability|dashboard|launcher|strategies|testkit)|junit).*");

  @Test
  void shouldContainNoServerClusterOrLoggingWhenAnApplicationEmbedsTraining() throws IOException {
    assertEquals(Set.of(), unwanted(classPath(), NOT_FOR_APPLICATIONS));
  }

  @Test
  void shouldContainNoMetersTracesOrWebServerWhenAnApplicationStartsANode() throws IOException {
    List<Path> files = files(CLUSTER);

    assertEquals(Set.of(), unwanted(files, NOT_FOR_NODES));
    assertTrue(
        files.stream().anyMatch(file -> file.getFileName().toString().startsWith("hazelcast-")),
        files::toString);
  }

  @Test
  void shouldContainTheTrainingLibraries() throws IOException {
    List<String> names = classPath().stream().map(file -> file.getFileName().toString()).toList();

    for (String needed : List.of("vertx-core-", "deeplearning4j-nn-", "nd4j-native-", "rxjava-")) {
      assertTrue(names.stream().anyMatch(name -> name.startsWith(needed)), needed + ": " + names);
    }
  }

  @Test
  void shouldLeaveTheConfigurationOfLoggingToTheApplication() throws IOException {
    List<Path> everything = new ArrayList<>(classPath());
    everything.addAll(OWN_CLASSES);
    for (String name :
        List.of("logback.xml", "logback-test.xml", "log4j2.xml", "logging.properties")) {
      for (Path file : everything) {
        assertTrue(!holds(file, name), () -> file + " holds " + name);
      }
    }
  }

  private static boolean holds(Path file, String name) throws IOException {
    if (Files.isDirectory(file)) {
      return Files.exists(file.resolve(name));
    }
    try (JarFile jar = new JarFile(file.toFile())) {
      return jar.getEntry(name) != null;
    }
  }

  /** Returns files with these names, and those in the folder of the dashboard. */
  private static Set<String> unwanted(List<Path> files, Pattern names) {
    Set<String> unwanted = new TreeSet<>();
    for (Path file : files) {
      if (names.matcher(file.getFileName().toString()).matches()
          || file.toString().contains("dashboard")) {
        unwanted.add(file.toString());
      }
    }
    return unwanted;
  }

  private static List<Path> classPath() throws IOException {
    List<Path> files = new ArrayList<>();
    for (Path written : CLASS_PATHS) {
      files.addAll(files(written));
    }
    return files;
  }

  private static List<Path> files(Path written) throws IOException {
    assertTrue(
        Files.exists(written),
        () -> written + " is missing: build this module with -am, which writes it");
    return Stream.of(Files.readString(written).strip().split(File.pathSeparator))
        .map(Path::of)
        .toList();
  }
}
