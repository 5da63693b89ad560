package io.vertigrad.examples.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("slow")
@Timeout(120)
class ServingApplicationTest {

  private static final Path SOURCE =
      Path.of("src/main/java/io/vertigrad/examples/serve/ServingApplication.java");

  private final PrintStream console = System.out;

  @AfterEach
  void restoreConsole() {
    System.setOut(console);
  }

  @Test
  void shouldPrintAnswersOfTheModelThatIsTrained() throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));

    ServingApplication.main(new String[0]);
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> printed.toString(StandardCharsets.UTF_8).contains("version 3000,"));

    String line =
        printed
            .toString(StandardCharsets.UTF_8)
            .lines()
            .filter(printedLine -> printedLine.startsWith("version 3000,"))
            .findFirst()
            .orElseThrow();
    assertEquals("rose", line.substring(line.indexOf(": ") + 2));
  }

  @Test
  void shouldFitInFortyLinesOfCode() throws IOException {
    long code =
        Files.readAllLines(SOURCE).stream()
            .map(String::strip)
            .filter(line -> !line.isEmpty() && !line.matches("(/\\*\\*|\\*|//|import|package).*"))
            .count();

    assertTrue(code <= 40, code + " lines of code");
  }
}
