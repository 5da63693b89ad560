package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

class LibraryWarningsTest {

  private final LoggerContext context = new LoggerContext();
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private final AtomicLong nanos = new AtomicLong();
  private final LibraryWarnings warnings = new LibraryWarnings(nanos::get);

  @BeforeEach
  void listen() {
    log.start();
    context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(log);
    context.addTurboFilter(warnings);
  }

  @AfterEach
  void leave() {
    context.stop();
  }

  @Test
  void shouldLogOneLineAMinuteForEachKindWithoutItsStackTrace() {
    Logger web = context.getLogger("io.vertx.ext.web.RoutingContext");
    for (int i = 0; i < 1_000; i++) {
      web.error("Unhandled exception in router", foreign(new IOException("broken " + i)));
      web.error("Refusing to register as max_handlers_per_socket reached already");
    }
    nanos.set(61_000_000_000L);
    web.error("Unhandled exception in router", foreign(new IOException("broken again")));

    assertEquals(
        List.of(
            "RoutingContext: Unhandled exception in router: java.io.IOException: broken 0",
            "RoutingContext: Refusing to register as max_handlers_per_socket reached already",
            "RoutingContext: Unhandled exception in router: java.io.IOException: broken again"
                + " (and 999 more since the last line)"),
        log.list.stream().map(ILoggingEvent::getFormattedMessage).toList());
    log.list.forEach(event -> assertNull(event.getThrowableProxy()));
  }

  @Test
  void shouldKeepTheStackTraceOfAnErrorInOurCode() {
    IllegalStateException defect = new IllegalStateException("defect");

    context.getLogger("io.vertx.core.impl.ContextImpl").error("Unhandled exception", defect);
    context.getLogger("io.vertigrad.test").error("another", foreign(new IOException()));

    assertEquals(2, log.list.size());
    assertEquals("Unhandled exception", log.list.get(0).getMessage());
    assertTrue(log.list.get(0).getThrowableProxy().getStackTraceElementProxyArray().length > 0);
    assertSame("another", log.list.get(1).getMessage());
  }

  @Test
  void shouldBeInTheLogOfEveryNode() throws Exception {
    LoggerContext fresh = new LoggerContext();
    JoranConfigurator configurator = new JoranConfigurator();
    configurator.setContext(fresh);
    configurator.doConfigure(Path.of("../conf/logback.xml").toFile());

    assertEquals(LibraryWarnings.class, fresh.getTurboFilterList().iterator().next().getClass());
    fresh.stop();
  }

  private static <T extends Throwable> T foreign(T error) {
    error.setStackTrace(
        new StackTraceElement[] {new StackTraceElement("io.netty.Channel", "read", "", 1)});
    return error;
  }
}
