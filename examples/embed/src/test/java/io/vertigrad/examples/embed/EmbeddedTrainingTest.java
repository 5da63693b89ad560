package io.vertigrad.examples.embed;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("slow")
@Timeout(120)
class EmbeddedTrainingTest {

  private static final Path SOURCE =
      Path.of("src/main/java/io/vertigrad/examples/embed/EmbeddedTraining.java");

  private static final Pattern ACCURACY = Pattern.compile("(?m)^accuracy: ([0-9.,]+).*$");

  private final PrintStream console = System.out;

  @AfterEach
  void restoreConsole() {
    System.setOut(console);
  }

  @Test
  void shouldPrintEventsAndTheFinalAccuracyWhenTheMainClassRuns() throws Exception {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));

    EmbeddedTraining.main(new String[0]);
    Awaitility.await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> ACCURACY.matcher(printed.toString(StandardCharsets.UTF_8)).find());

    String all = printed.toString(StandardCharsets.UTF_8);
    assertTrue(all.contains("JobStarted["), all);
    assertTrue(all.contains("WorkerProgress["), all);
    assertTrue(all.contains("Evaluated["), all);
    assertTrue(all.contains("JobFinished["), all);
    Matcher last = ACCURACY.matcher(all);
    assertTrue(last.find(), all);
    double accuracy = Double.parseDouble(last.group(1).replace(',', '.'));
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
