package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Where a person, or a program, follows a run; called from one thread at a time. */
public interface Display extends AutoCloseable {

  /** Something about the run that is no event of it. */
  void say(String line);

  /**
   * A command that the person may paste, as it is.
   *
   * @param label what it is for
   */
  void offer(String label, String command);

  /** An event, and where the run stands with it. */
  void show(TrainingEvent event, RunProgress progress);

  /** The run is over: its result in words and as numbers. */
  void conclude(List<String> lines, JsonObject summary);

  @Override
  void close();

  /** Chooses the display that fits where {@code out} leads. */
  static Display of(Style style, PrintStream out, JobConfig job) {
    return switch (style) {
      case JSON -> new JsonLines(out);
      case QUIET -> new ResultOnly(out);
      case PLAIN ->
          new PlainLines(out, job, () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
      case LIVE -> live(out, job);
    };
  }

  private static Display live(PrintStream out, JobConfig job) {
    TerminalWidth width = new TerminalWidth();
    return new LiveLine(new TerminalLine(out, width, width::close), job);
  }

  /** Kinds of display. */
  enum Style {
    /** Every event as one JSON object a line, the summary last. */
    JSON,
    /** The result only. */
    QUIET,
    /** A line now and then. */
    PLAIN,
    /** A line that moves; needs a terminal. */
    LIVE;

    /** What was asked for, else what the standard output can do. */
    public static Style chosen(boolean json, boolean quiet) {
      if (json) {
        return JSON;
      }
      if (quiet) {
        return QUIET;
      }
      boolean dumb = "dumb".equals(System.getenv("TERM"));
      return System.console() == null || dumb ? PLAIN : LIVE;
    }
  }
}
