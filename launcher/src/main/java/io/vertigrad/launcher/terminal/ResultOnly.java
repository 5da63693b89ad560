package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Prints one line when the run is over: its result, and where it is saved. */
final class ResultOnly implements Display {

  private final PrintStream out;

  ResultOnly(PrintStream out) {
    this.out = out;
  }

  @Override
  public void say(String line) {}

  @Override
  public void offer(String label, String command) {}

  @Override
  public void show(TrainingEvent event, RunProgress progress) {}

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    out.println(
        Stream.concat(
                lines.stream().limit(1),
                lines.stream()
                    .skip(1)
                    .filter(
                        l -> l.startsWith(ResultText.DIVERGED) || l.startsWith(ResultText.SAVED)))
            .collect(Collectors.joining("; ")));
  }

  @Override
  public void close() {
    out.flush();
  }
}
