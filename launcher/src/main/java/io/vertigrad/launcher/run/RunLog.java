package io.vertigrad.launcher.run;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.FileAppender;
import java.nio.file.Path;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends everything that is logged to the run's own file as well. */
public final class RunLog {

  private static final String PATTERN = "%d{HH:mm:ss.SSS} %-5level [%thread] %logger{30} %msg%n";

  private RunLog() {}

  /** From now on until the JVM ends; without Logback nothing happens. */
  public static void appendTo(Path file) {
    ILoggerFactory factory = LoggerFactory.getILoggerFactory();
    if (factory instanceof LoggerContext context) {
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
