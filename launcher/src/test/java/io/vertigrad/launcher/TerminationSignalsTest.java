package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Signals are only simulated: a second one would end this JVM. */
class TerminationSignalsTest {

  @Test
  void shouldTakeTheSignalAfterARequestForTheSameRequest() {
    AtomicInteger asked = new AtomicInteger();
    try (TerminationSignals signals = new TerminationSignals(asked::incrementAndGet)) {
      signals.request();
      signals.request();
      assertEquals(Optional.of(143), signals.status());

      signals.received("TERM");
      signals.received("TERM");

      assertEquals(1, asked.get());
      assertEquals(Optional.of(143), signals.status());
    }
  }
}
