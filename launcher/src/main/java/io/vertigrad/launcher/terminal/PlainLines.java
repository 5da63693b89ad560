package io.vertigrad.launcher.terminal;

import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;

/** Lines that only ever follow each other, for files and pipes. */
final class PlainLines implements Display {

  private static final long PROGRESS_MILLIS = 5_000;

  private final PrintStream out;
  private final JobConfig job;
  private long lastProgressMillis;

  PlainLines(PrintStream out, JobConfig job) {
    this.out = out;
    this.job = job;
  }

  @Override
  public void say(String line) {
    out.println(line);
  }

  @Override
  public void show(TrainingEvent event, RunProgress progress) {
    EventText.of(event, job).ifPresent(out::println);
    if (event instanceof WorkerProgress worker) {
      long now = worker.timeMillis();
      if (lastProgressMillis == 0) {
        lastProgressMillis = now;
      } else if (now - lastProgressMillis >= PROGRESS_MILLIS) {
        lastProgressMillis = now;
        out.println(
            EventText.format(
                "step %,d of %,d, %s", worker.step(), job.steps(), EventText.progress(progress)));
      }
    }
  }

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    lines.forEach(out::println);
  }

  @Override
  public void close() {
    out.flush();
  }
}
