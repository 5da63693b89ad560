package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

final class TerminalLineTest {

  private final ByteArrayOutputStream printed = new ByteArrayOutputStream();
  private final TerminalLine line =
      new TerminalLine(new PrintStream(printed, true, StandardCharsets.UTF_8), () -> 20, () -> {});

  @Test
  void shouldBreakLinesBetweenWords() {
    String text = "76,608 samples in 12.2 s: 6,261 samples/s";

    assertEquals(
        List.of("76,608 samples in", "  12.2 s: 6,261", "  samples/s"),
        TerminalLine.wrapped(text, 20));
    assertEquals(List.of(text), TerminalLine.wrapped(text, text.length()));
  }

  @Test
  void shouldNotBreakAWordThatIsLongerThanTheTerminal() {
    assertEquals(
        List.of("page:", "  http://127.0.0.1:8350/", "  (Ctrl-C)"),
        TerminalLine.wrapped("page: http://127.0.0.1:8350/ (Ctrl-C)", 20));
  }

  @Test
  void shouldPrintACommandUnwrappedOnItsLine() {
    line.above("next", "./vertigrad train conf/digits-async.json");
    line.above("next", "./vertigrad");

    assertEquals(
        List.of("next:", "./vertigrad train conf/digits-async.json", "next: ./vertigrad"),
        printed.toString(StandardCharsets.UTF_8).lines().toList());
  }

  @Test
  void shouldRedrawTheMovingLineBelowPermanentLines() {
    line.accept("10 %");
    line.above("worker 1 is back");

    assertTrue(
        printed.toString(StandardCharsets.UTF_8).endsWith("worker 1 is back" + end() + "10 %"));
  }

  private static String end() {
    return System.lineSeparator();
  }
}
