package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;

/** Nothing until the run is over, then one line: its result, and where it is saved. */
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
    String where = lines.stream().filter(l -> l.startsWith(ResultText.SAVED)).findFirst().get();
    out.println(lines.get(0) + "; " + where);
  }

  @Override
  public void close() {
    out.flush();
  }
}
