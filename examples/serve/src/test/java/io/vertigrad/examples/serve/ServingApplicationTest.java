package io.vertigrad.examples.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
    try (PipedInputStream pipe = new PipedInputStream(1 << 20);
        PrintStream printed =
            new PrintStream(new PipedOutputStream(pipe), true, StandardCharsets.UTF_8);
        BufferedReader reader =
            new BufferedReader(new InputStreamReader(pipe, StandardCharsets.UTF_8))) {
      System.setOut(printed);
      ServingApplication.main(new String[0]);

      String line = reader.readLine();
      while (!line.startsWith("version 3000,")) {
        line = reader.readLine();
      }
      assertEquals("rose", line.substring(line.indexOf(": ") + 2));
    }
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
