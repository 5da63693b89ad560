package io.vertigrad.launcher.run;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.slf4j.LoggerFactory;

/**
 * Shows on the coordinator's screen which nodes it has refused, and why: one line for each node and
 * reason. It reads the log of this process, in which the coordinator warns about them, and does
 * nothing without Logback. The log's threads call it, one at a time.
 */
public final class RefusedJoins extends AppenderBase<ILoggingEvent> implements AutoCloseable {

  /** The logger of the coordinator's answers to members. */
  static final String LOGGER = "io.vertigrad.internal.membership.ControlRequestHandler";

  /** What a warning about a refused node begins with. */
  static final String BEGINNING = "refused a join from ";

  private static final int MOST_LINES = 100;

  /** A repeated warning ends with the number of those that were left out. */
  private static final String COUNT = " \\(and \\d+ more about .* since the last line\\)$";

  private final Consumer<String> screen;
  private final Set<String> shown = new HashSet<>();

  private RefusedJoins(Consumer<String> screen) {
    this.screen = screen;
  }

  /**
   * Begins to show refused nodes.
   *
   * @param screen receives a line for people
   * @return to be closed when the job is over
   */
  public static RefusedJoins showOn(Consumer<String> screen) {
    RefusedJoins joins = new RefusedJoins(screen);
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      joins.setContext(context);
      joins.start();
      context.getLogger(LOGGER).addAppender(joins);
    }
    return joins;
  }

  @Override
  protected void append(ILoggingEvent event) {
    String message = event.getFormattedMessage();
    if (message.startsWith(BEGINNING) && shown.size() < MOST_LINES) {
      String line = message.replaceFirst(COUNT, "");
      if (shown.add(line)) {
        screen.accept(line);
      }
    }
  }

  /** Shows no further ones. */
  @Override
  public void close() {
    if (getContext() instanceof LoggerContext context) {
      context.getLogger(LOGGER).detachAppender(this);
    }
    stop();
  }
}
