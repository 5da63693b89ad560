package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Prints plain lines for files and pipes. It prints progress and evaluations every five seconds at
 * first and every minute in a run of hours. It always prints the first and the last evaluation.
 */
final class PlainLines implements Display {

  private static final long SHORTEST_MILLIS = 5_000;
  private static final long LONGEST_MILLIS = 60_000;

  /** The time between two lines is the time so far divided by this, within the two limits above. */
  private static final int SHARE = 20;

  private final PrintStream out;
  private final JobConfig job;
  private final LongSupplier clockMillis;
  private final long begunMillis;
  private long progressMillis;
  private long evaluatedMillis = Long.MIN_VALUE;
  private Evaluated heldBack;

  /**
   * Creates a display that has printed nothing yet.
   *
   * @param clockMillis monotonic milliseconds
   */
  PlainLines(PrintStream out, JobConfig job, LongSupplier clockMillis) {
    this.out = out;
    this.job = job;
    this.clockMillis = clockMillis;
    begunMillis = clockMillis.getAsLong();
    progressMillis = begunMillis;
  }

  @Override
  public void say(String line) {
    out.println(line);
  }

  @Override
  public void offer(String label, String command) {
    out.println(label + ": " + command);
  }

  @Override
  public void show(TrainingEvent event, RunProgress progress) {
    long now = clockMillis.getAsLong();
    EventText.of(event, progress, job).ifPresent(out::println);
    if (event instanceof Evaluated tested && tested.samples() > 0) {
      heldBack = tested;
      if (evaluatedMillis == Long.MIN_VALUE || now - evaluatedMillis >= interval(now)) {
        evaluatedMillis = now;
        printHeldBack();
      }
    } else if (event instanceof WorkerProgress && now - progressMillis >= interval(now)) {
      progressMillis = now;
      ProgressLine line = ProgressLine.of(progress);
      out.println(
          line.steps() >= RunProgress.ENDLESS
              ? EventText.format("step %,d, %s", line.step(), line.words())
              : EventText.format("step %,d of %,d, %s", line.step(), line.steps(), line.words()));
    }
  }

  @Override
  public void conclude(List<String> lines, JsonObject summary) {
    printHeldBack();
    lines.forEach(out::println);
  }

  @Override
  public void close() {
    printHeldBack();
    out.flush();
  }

  private long interval(long now) {
    return Math.max(SHORTEST_MILLIS, Math.min(LONGEST_MILLIS, (now - begunMillis) / SHARE));
  }

  private void printHeldBack() {
    if (heldBack != null) {
      out.println(EventText.evaluated(heldBack));
      heldBack = null;
    }
  }
}
