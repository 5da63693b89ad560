package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;

/** Prints a run as JSON lines: its events, then {@code {"type": "summary", ...}}. */
final class JsonLines implements Display {

  private final PrintStream out;

  JsonLines(PrintStream out) {
    this.out = out;
  }

  @Override
  public void say(String line) {}

  @Override
  public void offer(String label, String command) {}

  @Override
  public void show(TrainingEvent event, RunProgress progress) {
    out.println(event.toJson().encode());
  }

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    out.println(new JsonObject().put("type", "summary").mergeIn(summary).encode());
  }

  @Override
  public void close() {
    out.flush();
  }
}
