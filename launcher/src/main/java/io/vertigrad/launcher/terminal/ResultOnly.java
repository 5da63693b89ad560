package io.vertigrad.launcher.terminal;

import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;

/** Nothing until the run is over, then its result. */
final class ResultOnly implements Display {

  private final PrintStream out;

  ResultOnly(PrintStream out) {
    this.out = out;
  }

  @Override
  public void say(String line) {}

  @Override
  public void show(TrainingEvent event, RunProgress progress) {}

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    lines.forEach(out::println);
  }

  @Override
  public void close() {
    out.flush();
  }
}
