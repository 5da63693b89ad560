package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.DataWarning;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Prints one line when the run is over: its result, and where it is saved. */
final class ResultOnly implements Display {

  private final PrintStream out;
  private final PrintStream warnings;
  private final JobConfig job;

  /**
   * Creates the display of a job.
   *
   * @param warnings receives what the user must know although only the result is asked for
   */
  ResultOnly(PrintStream out, PrintStream warnings, JobConfig job) {
    this.out = out;
    this.warnings = warnings;
    this.job = job;
  }

  @Override
  public void say(String line) {
    if (line.startsWith("warning: ")) {
      warnings.println(line);
    }
  }

  @Override
  public void offer(String label, String command) {}

  @Override
  public void show(TrainingEvent event, RunProgress progress) {
    if (event instanceof DataWarning) {
      EventText.of(event, job).ifPresent(line -> warnings.println("warning: " + line));
    }
  }

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    out.println(
        Stream.concat(
                lines.stream().limit(1),
                lines.stream()
                    .skip(1)
                    .filter(
                        l ->
                            l.startsWith(ResultText.DIVERGED)
                                || l.startsWith(ResultText.GUESSES)
                                || l.startsWith(ResultText.SAVED)))
            .collect(Collectors.joining("; ")));
  }

  @Override
  public void close() {
    out.flush();
  }
}
