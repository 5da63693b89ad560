package io.vertigrad.launcher.run;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slf4j.Marker;

/**
 * Keeps other nodes and clients from filling the log with warnings of Vert.x and Netty. Examples
 * are a broken connection and a request that is not HTTP. Each kind of warning gives one line a
 * minute without a stack trace, with the number of omitted ones. An error that comes from
 * Vertigrad's own code keeps its stack trace. {@code logback.xml} installs the filter. Any thread
 * may use it.
 */
public final class LibraryWarnings extends TurboFilter {

  private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final int MOST_KINDS = 200;
  private static final int MOST_CHARACTERS = 300;
  private static final int MOST_CAUSES = 20;

  private final LongSupplier clock;
  private final Map<String, Kind> kinds = new HashMap<>();

  private static final class Kind {
    private long loggedNanos;
    private long omitted;
  }

  /** Creates the filter with the clock of this JVM. */
  public LibraryWarnings() {
    this(System::nanoTime);
  }

  LibraryWarnings(LongSupplier nanos) {
    clock = nanos;
  }

  @Override
  public FilterReply decide(
      Marker marker, Logger logger, Level level, String message, Object[] with, Throwable error) {
    String name = logger.getName();
    if (!level.isGreaterOrEqual(Level.WARN)
        || !(name.startsWith("io.vertx.") || name.startsWith("io.netty."))
        || !level.isGreaterOrEqual(logger.getEffectiveLevel())
        || isOwn(error)) {
      return FilterReply.NEUTRAL;
    }
    String what = error == null ? String.valueOf(message) : error.getClass().getName();
    long omitted = omitted(name + " " + shown(what));
    if (omitted >= 0) {
      Logger log = logger.getLoggerContext().getLogger(LibraryWarnings.class);
      log.warn(
          "{}: {}{}{}",
          name.substring(name.lastIndexOf('.') + 1),
          shown(String.valueOf(message)),
          error == null ? "" : ": " + shown(String.valueOf(error)),
          omitted == 0 ? "" : " (and %s more since the last line)".formatted(omitted));
    }
    return FilterReply.DENY;
  }

  /** Returns how many warnings of a kind were omitted; -1 when this one is to be omitted too. */
  private synchronized long omitted(String kind) {
    long now = clock.getAsLong();
    Kind known = kinds.get(kind);
    if (known != null && now - known.loggedNanos < MINUTE_NANOS) {
      known.omitted++;
      return -1;
    }
    if (known == null && kinds.size() == MOST_KINDS) {
      kinds.clear();
    }
    Kind reported = kinds.computeIfAbsent(kind, first -> new Kind());
    long omitted = reported.omitted;
    reported.loggedNanos = now;
    reported.omitted = 0;
    return omitted;
  }

  /** Returns true for an error thrown by Vertigrad, or by Java when Vertigrad called it. */
  private static boolean isOwn(Throwable error) {
    return Stream.iterate(error, cause -> cause != null, Throwable::getCause)
        .limit(MOST_CAUSES)
        .flatMap(cause -> Stream.of(cause.getStackTrace()).filter(frame -> !isJava(frame)).limit(1))
        .anyMatch(frame -> frame.getClassName().startsWith("io.vertigrad."));
  }

  private static boolean isJava(StackTraceElement frame) {
    return frame.getClassName().matches("(java|jdk|sun)\\..*");
  }

  private static String shown(String text) {
    String line = text.lines().findFirst().orElse("");
    return line.length() > MOST_CHARACTERS ? line.substring(0, MOST_CHARACTERS) + "..." : line;
  }
}
