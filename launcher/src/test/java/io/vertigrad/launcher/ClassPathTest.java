package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks the class path that {@code ./vertigrad} passes to java, which its Maven goal writes. */
class ClassPathTest {

  /** The class path had 112 libraries when this was last changed; three more may be added. */
  private static final int MOST_LIBRARIES = 115;

  private static final Path SCRIPT = Path.of("..", "vertigrad");
  private static final Path EXAMPLES_SCRIPT = Path.of("..", "examples", "run");

  /** The goal that both scripts call writes this file in the test's build. */
  private static final Path CLASS_PATH = Path.of("target", "tested-classpath");

  private static final Pattern TEST_LIBRARY =
      Pattern.compile(
          ".*(junit|jupiter|opentest4j|apiguardian|hamcrest|awaitility|archunit|selenium|jazzer"
              + "|mockito|onnxruntime|byte-buddy|jmh).*");

  @Test
  void shouldContainNoTestLibrary() throws IOException {
    assertEquals(List.of(), libraries().filter(l -> TEST_LIBRARY.matcher(l).matches()).toList());
  }

  @Test
  void shouldContainLittleBesideTheTrainingLibraries() throws IOException {
    List<String> libraries = libraries().toList();

    for (String needed :
        Set.of("vertx-core", "vertx-hazelcast", "deeplearning4j-nn", "nd4j-native", "logback")) {
      assertTrue(libraries.stream().anyMatch(name -> name.startsWith(needed)), needed);
    }
    assertTrue(libraries.size() <= MOST_LIBRARIES, libraries.size() + ": " + libraries);
  }

  @Test
  void shouldBeTheClassPathThatTheStartScriptsBuild() throws IOException {
    for (Path script : List.of(SCRIPT, EXAMPLES_SCRIPT)) {
      String text = Files.readString(script);

      assertTrue(text.contains(" dependency:build-classpath@class-path "), script.toString());
    }
  }

  private static Stream<String> libraries() throws IOException {
    return Stream.of(Files.readString(CLASS_PATH).split(File.pathSeparator))
        .map(path -> Path.of(path.strip()).getFileName().toString());
  }
}
