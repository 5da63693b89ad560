package io.vertigrad.examples.embed;

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
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("slow")
@Timeout(120)
class EmbeddedTrainingTest {

  private static final Path SOURCE =
      Path.of("src/main/java/io/vertigrad/examples/embed/EmbeddedTraining.java");

  private final PrintStream console = System.out;

  @AfterEach
  void restoreConsole() {
    System.setOut(console);
  }

  @Test
  void shouldPrintEventsAndTheFinalAccuracyWhenTheMainClassRuns() throws Exception {
    List<String> lines = new ArrayList<>();
    try (PipedInputStream pipe = new PipedInputStream(1 << 20);
        PrintStream printed =
            new PrintStream(new PipedOutputStream(pipe), true, StandardCharsets.UTF_8);
        BufferedReader reader =
            new BufferedReader(new InputStreamReader(pipe, StandardCharsets.UTF_8))) {
      System.setOut(printed);
      EmbeddedTraining.main(new String[0]);
      do {
        lines.add(reader.readLine());
      } while (!lines.get(lines.size() - 1).startsWith("accuracy: "));
    }

    String all = String.join("\n", lines);
    assertTrue(all.contains("JobStarted["), all);
    assertTrue(all.contains("WorkerProgress["), all);
    assertTrue(all.contains("Evaluated["), all);
    assertTrue(all.contains("JobFinished["), all);
    double accuracy =
        Double.parseDouble(
            lines.get(lines.size() - 1).replaceAll("[^0-9.,]", "").replace(',', '.'));
    assertTrue(accuracy > 80 && accuracy <= 100, all);
  }

  @Test
  void shouldFitInTwentyFiveLinesOfCode() throws IOException {
    long code =
        Files.readAllLines(SOURCE).stream()
            .map(String::strip)
            .filter(line -> !line.isEmpty() && !line.matches("(/\\*\\*|\\*|//).*"))
            .count();

    assertTrue(code <= 25, code + " lines of code");
  }
}
