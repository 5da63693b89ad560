package io.vertigrad.launcher.run;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Directs the log to the run's own file instead of the console. */
public final class RunLog {

  private static final String PATTERN = "%d{HH:mm:ss.SSS} %-5level [%thread] %logger{30} %msg%n";

  /** Hazelcast logs a warning for every other node that leaves. */
  private static final String CLUSTER = "com.hazelcast";

  /** The level of {@link #CLUSTER} before its warnings were left out, else null. */
  private static Level formerLevel;

  private static boolean leaving;

  /** Writes the log of the run that this process runs now, or ran last; else null. */
  private static FileAppender<ILoggingEvent> current;

  private RunLog() {}

  /** Keeps the log off the console, where a command prints its own lines. */
  public static void leaveConsole() {
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      context.getLogger(Logger.ROOT_LOGGER_NAME).detachAppender("console");
    }
  }

  /**
   * Omits the cluster's warnings about leaving nodes, until {@link #reportLeavingNodes} or the
   * JVM's end. Call it when the job is over and all nodes leave.
   */
  public static synchronized void expectLeavingNodes() {
    if (!leaving && LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      formerLevel = context.getLogger(CLUSTER).getLevel();
      context.getLogger(CLUSTER).setLevel(Level.ERROR);
      leaving = true;
    }
  }

  /** Logs the cluster's warnings about leaving nodes again: another job begins. */
  public static synchronized void reportLeavingNodes() {
    if (leaving && LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      context.getLogger(CLUSTER).setLevel(formerLevel);
      leaving = false;
    }
  }

  /**
   * Appends the log to this file until the JVM ends or another run's log begins; does nothing
   * without Logback.
   */
  public static synchronized void appendTo(Path file) {
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      reportLeavingNodes();
      PatternLayoutEncoder encoder = new PatternLayoutEncoder();
      encoder.setContext(context);
      encoder.setPattern(PATTERN);
      encoder.start();
      FileAppender<ILoggingEvent> appender = new FileAppender<>();
      appender.setContext(context);
      appender.setFile(file.toString());
      appender.setEncoder(encoder);
      appender.start();
      ch.qos.logback.classic.Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
      root.addAppender(appender);
      if (current != null) {
        root.detachAppender(current);
        current.stop();
      }
      current = appender;
    }
  }
}
