package io.vertigrad.launcher.terminal;

import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertigrad.verticles.metrics.TrainingEvent.JobFinished;
import io.vertigrad.verticles.metrics.TrainingEvent.JobPaused;
import io.vertigrad.verticles.metrics.TrainingEvent.JobResumed;
import io.vertigrad.verticles.metrics.TrainingEvent.JobStarted;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** One line that moves at the bottom of a terminal, and the lines that scroll away above it. */
final class LiveLine implements Display {

  private static final int REFRESH_MILLIS = 200;

  private final TerminalLine line;
  private final JobConfig job;
  private final long steps;
  private ProgressBar bar;

  LiveLine(PrintStream out, JobConfig job) {
    this.line = new TerminalLine(out);
    this.job = job;
    this.steps = job.steps();
  }

  @Override
  public void say(String text) {
    line.above(text);
  }

  @Override
  public void show(TrainingEvent event, RunProgress progress) {
    EventText.of(event, job).ifPresent(line::above);
    if (event instanceof JobStarted && bar == null) {
      bar = open();
    } else if (event instanceof WorkerProgress worker && bar != null) {
      bar.stepTo(Math.max(bar.getCurrent(), Math.min(steps, worker.step())));
      bar.setExtraMessage(" " + EventText.progress(progress));
    } else if ((event instanceof JobPaused || event instanceof JobResumed) && bar != null) {
      bar.setExtraMessage(" " + EventText.progress(progress));
    } else if (event instanceof JobFinished && bar != null) {
      bar.stepTo(steps);
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
  }

  private ProgressBar open() {
    return new ProgressBarBuilder()
        .setTaskName(job.addresses().job())
        .setInitialMax(steps)
        .setStyle(ProgressBarStyle.UNICODE_BLOCK)
        .setUpdateIntervalMillis(REFRESH_MILLIS)
        .setConsumer(line)
        .hideEta()
        .build();
  }

  private void shut() {
    if (bar != null) {
      bar.close();
      bar = null;
    }
  }
}
