package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.ValueErrors;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.testkit.TestProgress;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the dashboard's page and the terminal format the same number in the same way. */
final class PageFiguresTest {

  private static final Path FUNCTIONS =
      Path.of("../dashboard/src/main/resources/io/vertigrad/dashboard/page/modules/format.js");
  private static final JobConfig JOB = JobConfig.read("test", new JsonObject());

  /** Halves, numbers stored a little below or above a half, and both sides of every limit. */
  private static final double[] VALUES = {
    0, 0.5, 1.5, 2.5, 0.05, 0.15, 0.25, 0.35, 1.005, 2.675, 0.0005, 0.00005, 0.00015, 1.0005,
    0.1234, 0.12345, 0.99995, 9.99995, 59.4, 59.5, 59.94, 59.95, 61.25, 92.35, 92.345, 93.65,
    99.995, 99.95, 100, 599.5, 999.5, 1234.5, 3599.4, 3599.5, 3661, 12345.678, 1234567.5, 1e-7
  };

  private static final double[] DISTANCES = {
    0, 1e-12, 0.000012, 0.00012, 0.0001, 0.00099, 0.0123, 0.25, 1, 1.55, 9.94, 9.96, 1.45, 25, 123.4
  };

  private static final double[] ERRORS = {
    0,
    1e-7,
    0.12345,
    1.5,
    116.2,
    9_999.4,
    9_999.96,
    10_000,
    12_345.6,
    459_400,
    999_999_999.4,
    1e12,
    3.2e15
  };

  private static final long[] MILLIS = {
    1, 49, 50, 150, 250, 1_450, 9_950, 15_100, 59_500, 3_600_000
  };

  @TempDir private Path folder;

  private final List<String> terminal = new ArrayList<>();
  private final JsonArray calls = new JsonArray();

  @Test
  void shouldWriteNumbersLikeTheTerminal() throws Exception {
    for (double value : VALUES) {
      compare("duration", value, EventText.duration(value));
      Evaluated tested = new Evaluated(0, 1, 500, value, value, false, "");
      compare("accuracy", value, part(words(tested), "accuracy +([0-9.]+ %)"));
      compare("testLoss", value, part(words(tested), "loss ([0-9.]+)"));
      compare("trainingLoss", value, part(progress(value, 1), "loss ([0-9.]+)"));
    }
    for (long millis : MILLIS) {
      double seconds = millis / 1e3;
      String silent = words(new MemberSuspected(0, Role.WORKER, 0, 0, millis));
      compare("seconds", seconds, part(silent, "silent for (.*)"));
      String still = words(new StallFound(0, 1, millis, "worker 1", "", ""));
      compare("seconds", seconds, part(still, "no step for ([0-9.]+ s)"));
      compare("duration", seconds, part(words(new JobResumed(0, millis)), "pause of (.*)"));
    }
    for (long samples : new long[] {1, 3, 5, 999, 1_999, 2_001, 2_469_135}) {
      compare("count", samples / 2.0, part(progress(1, samples), "([0-9,]+) samples/s"));
    }
    for (int old = 0; old < 20; old++) {
      compare("staleness", old / 20.0, part(staleness(old), "staleness ([0-9.]+)"));
    }
    for (double error : ERRORS) {
      compare("error", error, ValueErrors.figure(error));
    }
    for (double distance : DISTANCES) {
      calls.add(new JsonArray().add("significant").add(distance).add(2));
      terminal.add("significant(" + distance + ") = " + part(apart(distance), "consensus (\\S+)"));
    }

    assertEquals(terminal, page());
  }

  private void compare(String function, double value, String written) {
    calls.add(new JsonArray().add(function).add(value));
    terminal.add(function + "(" + value + ") = " + written);
  }

  private static String words(TrainingEvent event) {
    return EventText.of(event, JOB).orElseThrow();
  }

  /** Returns the progress line of a run of two seconds. */
  private static String progress(double loss, long samples) {
    AtomicLong clock = new AtomicLong();
    RunProgress progress = new RunProgress(clock::get);
    progress.apply(new JobStarted(0, "sync", 1, 1, 10, 90, 90));
    progress.apply(report(loss, samples, Map.of()));
    clock.set(2_000_000_000L);
    return EventText.progress(progress);
  }

  private static String staleness(int old) {
    RunProgress progress = new RunProgress(() -> 0);
    progress.apply(report(1, 20, Map.of(0, 20L - old, 1, (long) old)));
    return EventText.progress(progress);
  }

  private static String apart(double distance) {
    RunProgress progress = new RunProgress(() -> 0);
    progress.apply(new PeerExchange(0, 0, 0, 1, 1, 1, 1, 0, 1, 0));
    progress.apply(new ReplicasAveraged(0, 1, 2, distance, Double.NaN));
    return EventText.progress(progress);
  }

  private static WorkerProgress report(double loss, long samples, Map<Integer, Long> staleness) {
    return TestProgress.of(0, 0, 0, 1, samples, loss, staleness);
  }

  private static String part(String text, String pattern) {
    Matcher found = Pattern.compile(pattern).matcher(text);
    if (!found.find()) {
      throw new AssertionError("expected " + pattern + " in: " + text);
    }
    return found.group(1);
  }

  /** Returns the same numbers as the page's functions format them. */
  private List<String> page() throws IOException, InterruptedException {
    Path node = onThePath("node");
    Path script = folder.resolve("figures.mjs");
    Files.copy(FUNCTIONS, folder.resolve("format.mjs"));
    Files.writeString(
        script,
        """
        import * as format from './format.mjs';
        for (const [name, value, ...more] of %s) {
          console.log(format[name](value, ...more));
        }
        """
            .formatted(calls.encode()));
    Path output = folder.resolve("output");
    Process process =
        new ProcessBuilder(node.toString(), script.toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertEquals(true, process.waitFor(60, TimeUnit.SECONDS), "node did not end within 60 s");
    List<String> lines = Files.readAllLines(output);
    assertEquals(terminal.size(), lines.size(), () -> String.join("\n", lines));
    List<String> page = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      page.add(terminal.get(i).replaceFirst(" = .*", " = ") + lines.get(i));
    }
    return page;
  }

  /** Returns the program, or skips the test with a reason when it is not installed. */
  private static Path onThePath(String program) {
    Path found =
        Stream.of(System.getenv("PATH").split(":"))
            .map(folder -> Path.of(folder, program))
            .filter(Files::isExecutable)
            .findFirst()
            .orElse(null);
    Assumptions.assumeTrue(
        found != null, "skipped: no " + program + " to run the page's functions");
    return found;
  }
}
