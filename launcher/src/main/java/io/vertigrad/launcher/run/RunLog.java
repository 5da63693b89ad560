package io.vertigrad.launcher.run;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where what is logged goes: to the run's own file rather than to the console. */
public final class RunLog {

  private static final String PATTERN = "%d{HH:mm:ss.SSS} %-5level [%thread] %logger{30} %msg%n";

  /** A node warns of every other one that leaves. */
  private static final String CLUSTER = "com.hazelcast";

  /** What {@link #CLUSTER} had before its warnings were left out, else null. */
  private static Level formerLevel;

  private static boolean leaving;

  private RunLog() {}

  /** Keeps the log off the console, where a command speaks for itself. */
  public static void leaveConsole() {
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      context.getLogger(Logger.ROOT_LOGGER_NAME).detachAppender("console");
    }
  }

  /**
   * Leaves out the cluster's warnings of nodes that leave, until the JVM ends or another run's log
   * begins; for when the job is over and all of them do.
   */
  public static synchronized void expectLeavingNodes() {
    if (!leaving && LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      formerLevel = context.getLogger(CLUSTER).getLevel();
      context.getLogger(CLUSTER).setLevel(Level.ERROR);
      leaving = true;
    }
  }

  /** From now on until the JVM ends; without Logback nothing happens. */
  public static synchronized void appendTo(Path file) {
    if (LoggerFactory.getILoggerFactory() instanceof LoggerContext context) {
      if (leaving) {
        context.getLogger(CLUSTER).setLevel(formerLevel);
        leaving = false;
      }
      PatternLayoutEncoder encoder = new PatternLayoutEncoder();
      encoder.setContext(context);
      encoder.setPattern(PATTERN);
      encoder.start();
      FileAppender<ILoggingEvent> appender = new FileAppender<>();
      appender.setContext(context);
      appender.setFile(file.toString());
      appender.setEncoder(encoder);
      appender.start();
      context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(appender);
    }
  }
}
