package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;

final class LiveLineTest {

  private static final int COLUMNS = 80;

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final RunProgress progress = new RunProgress(System::nanoTime);
  private final LiveLine live =
      new LiveLine(
          new TerminalLine(
              new PrintStream(printed, true, StandardCharsets.UTF_8), () -> COLUMNS, () -> {}),
          JobConfig.read("test", new JsonObject()));

  @RepeatedTest(20)
  void shouldShowEvaluationsInTheLineThatMoves() {
    apply(new JobStarted(0, "sync", 2, 1, 1_960, 300, 300));
    for (int version = 10; version <= 300; version += 10) {
      apply(new Evaluated(0, version, 500, 0.5, 90, false, ""));
    }
    apply(new JobFinished(0, 300, 300 * 128));
    live.conclude(List.of("accuracy 90.00 % on the whole test set"), new JsonObject());

    List<String> left = remaining();
    assertEquals(3, left.size(), left.toString());
    assertEquals("training: sync, 2 workers, 1 server, 1,960 parameters", left.get(0));
    assertTrue(
        left.get(1).startsWith("100 % ") && left.get(1).contains("accuracy 90.0 %"), left.get(1));
    assertEquals("accuracy 90.00 % on the whole test set", left.get(2));
    assertTrue(left.stream().allMatch(line -> line.length() <= COLUMNS), left.toString());
  }

  private void apply(TrainingEvent event) {
    progress.apply(event);
    live.show(event, progress);
  }

  /** Returns the lines that a terminal shows at the end, each as it was drawn last. */
  private List<String> remaining() {
    return Stream.of(printed.toString(StandardCharsets.UTF_8).split(System.lineSeparator()))
        .map(line -> line.replaceFirst("(?s).*\u001b\\[K", ""))
        .toList();
  }
}
