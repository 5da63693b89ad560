package io.vertigrad.launcher.terminal;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunProgress;
import io.vertx.core.json.JsonObject;
import java.io.PrintStream;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Shows a run to a user or a program; called from one thread at a time. */
public interface Display extends AutoCloseable {

  /** Shows a line about the run that is not an event. */
  void say(String line);

  /**
   * Shows a command that the user may paste unchanged.
   *
   * @param label what the command is for
   */
  void offer(String label, String command);

  /** Shows an event, and the run's progress including it. */
  void show(TrainingEvent event, RunProgress progress);

  /** Shows the result when the run is over, as text and as numbers. */
  void conclude(List<String> lines, JsonObject summary);

  @Override
  void close();

  /** Creates the display of a style. */
  static Display of(Style style, PrintStream out, JobConfig job) {
    return switch (style) {
      case JSON -> new JsonLines(out);
      case QUIET -> new ResultOnly(out, System.err, job);
      case PLAIN ->
          new PlainLines(out, job, () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
      case LIVE -> live(out, job);
    };
  }

  private static Display live(PrintStream out, JobConfig job) {
    TerminalWidth width = new TerminalWidth();
    return new LiveLine(new TerminalLine(out, width, width::close), job);
  }

  /** The kinds of display. */
  enum Style {
    /** Prints every event as one JSON object per line, the summary last. */
    JSON,
    /** Prints the result only. */
    QUIET,
    /** Prints a line from time to time. */
    PLAIN,
    /** Updates a line in place; needs a terminal. */
    LIVE;

    /** Returns the style that was asked for, else the one that the standard output supports. */
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
