package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.util.List;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;

/**
 * Updates one line at the bottom of a terminal; other lines scroll above it. Results of evaluations
 * appear in the updated line.
 */
final class LiveLine implements Display {

  private static final int REFRESH_MILLIS = 200;

  private final TerminalLine line;
  private final JobConfig job;
  private volatile ProgressLine now = new ProgressLine(0, 0, List.of());
  private ProgressBar bar;

  LiveLine(TerminalLine line, JobConfig job) {
    this.line = line;
    this.job = job;
  }

  @Override
  public void say(String text) {
    line.above(text);
  }

  @Override
  public void offer(String label, String command) {
    line.above(label, command);
  }

  @Override
  public void show(TrainingEvent event, RunProgress progress) {
    EventText.of(event, progress, job).ifPresent(line::above);
    now = ProgressLine.of(progress);
    if (event instanceof JobStarted && bar == null) {
      bar = open();
    }
    if (progress.view().finished().isPresent()) {
      shut();
    }
  }

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    shut();
    lines.forEach(line::above);
  }

  @Override
  public void close() {
    shut();
    line.leave();
  }

  /**
   * Opens the progress bar. The library draws at its own interval and always draws the newest line.
   */
  private ProgressBar open() {
    return new ProgressBarBuilder()
        .setInitialMax(Math.max(1, now.steps()))
        .setRenderer((state, room) -> now.fitted(room + 1))
        .setUpdateIntervalMillis(REFRESH_MILLIS)
        .continuousUpdate()
        .setConsumer(line)
        .hideEta()
        .build();
  }

  private void shut() {
    if (bar != null) {
      bar.close();
      // The library leaves the line open if it is closed before its next interval.
      line.close();
      bar = null;
    }
  }
}
