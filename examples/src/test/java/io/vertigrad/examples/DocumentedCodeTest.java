package io.vertigrad.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares the Java code in pages with the examples: each block must be consecutive lines of a
 * compiled class.
 */
class DocumentedCodeTest {

  private static final Path ROOT = Path.of("..");
  private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "docs/reference/api.md",
        "docs/guide/serve.md",
        "examples/embed/README.md",
        "examples/serve/README.md"
      })
  void shouldShowLinesOfAnExampleWhenAPageHasJava(String page) throws IOException {
    List<String> sources = sources();
    Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));

    int found = 0;
    while (blocks.find()) {
      found++;
      String code = stripped(blocks.group(1));
      assertTrue(
          sources.stream().anyMatch(source -> source.contains(code)),
          () -> page + ": no example has these lines:\n" + code);
    }
    assertTrue(found > 0, page + ": has no Java");
  }

  /**
   * Lines of a method compile only inside their class, so the page shows a class that implements an
   * interface as a whole.
   */
  @Test
  void shouldShowWholeClassesWhenAPageSaysWhatToImplement() throws IOException {
    List<String> sources = sources();
    String page = Files.readString(ROOT.resolve("docs/reference/api.md"));
    Matcher blocks = BLOCK.matcher(page.substring(page.indexOf("## Write a model or a data set")));

    int found = 0;
    while (blocks.find()) {
      found++;
      String code = stripped(blocks.group(1));
      assertTrue(code.startsWith("\npublic final class"), code);
      assertTrue(
          sources.stream().anyMatch(source -> source.endsWith(code)),
          () -> "no example ends with this class:\n" + code);
    }
    assertEquals(2, found, "a data set and a model");
  }

  private static List<String> sources() throws IOException {
    List<String> sources = new ArrayList<>();
    for (String folder :
        List.of(
            "examples/src/main/java",
            "examples/embed/src/main/java",
            "examples/serve/src/main/java")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(folder))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".java")).toList()) {
          sources.add(stripped(Files.readString(file)));
        }
      }
    }
    return sources;
  }

  private static String stripped(String text) {
    return text.lines()
        .map(String::strip)
        .filter(line -> !line.isEmpty())
        .collect(Collectors.joining("\n", "\n", "\n"));
  }
}
