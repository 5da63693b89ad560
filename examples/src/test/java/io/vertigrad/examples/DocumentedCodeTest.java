package io.vertigrad.examples;

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
        "docs/guide/observe.md",
        "examples/embed/README.md",
        "README.md"
      })
  void shouldShowLinesOfAnExampleWhenAPageHasJava(String page) throws IOException {
    List<String> sources = sources();
    Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve(page)));

    int found = 0;
    while (blocks.find()) {
      found++;
      String code = stripped(blocks.group(1));
      // ModulePathTest builds the example with the module declaration of its page.
      boolean module = code.startsWith("\nmodule ");
      assertTrue(
          module || sources.stream().anyMatch(source -> source.contains(code)),
          () -> page + ": no example has these lines:\n" + code);
    }
    assertTrue(found > 0, page + ": has no Java");
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
