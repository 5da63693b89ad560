package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.InvalidPathException;
import org.junit.jupiter.api.Test;

class FailureReportTest {

  @Test
  void shouldNameTheLimitOfTheSystemThatWasMet() {
    String files =
        FailureReport.limit(new IllegalStateException("failed to create a child event loop"))
            .orElseThrow();
    String threads =
        FailureReport.limit(new OutOfMemoryError("unable to create native thread")).orElseThrow();

    assertTrue(files.matches("this process may open \\d+ files.* ulimit -n 4096.*"), files);
    assertTrue(threads.contains("ulimit -u"), threads);
    assertTrue(FailureReport.limit(new IllegalStateException("other")).isEmpty());
  }

  @Test
  void shouldNameTheLocaleWhenANameCannotBeRead() {
    String reason = "Malformed input or input contains unmappable characters";
    InvalidPathException error = new InvalidPathException("??", reason);

    assertEquals(
        "??: a name with letters beyond ASCII needs a UTF-8 locale, and that of this process is"
            + " ANSI_X3.4-1968: set LC_ALL=C.UTF-8, or another UTF-8 locale of this machine"
            + " (locale -a lists them)",
        FailureReport.invalidPath(error, "ANSI_X3.4-1968"));
    assertEquals(error.getMessage(), FailureReport.invalidPath(error, "UTF-8"));
    assertEquals(
        "Nul character not allowed: x",
        FailureReport.invalidPath(
            new InvalidPathException("x", "Nul character not allowed"), "ANSI_X3.4-1968"));
  }

  @Test
  void shouldPrintNothingThatATerminalObeysWhenAMessageQuotesAFile() {
    assertEquals(
        "a ?[31mred?[2J ?moc.live | b\tc",
        FailureReport.oneLine("a \u001b[31mred\u001b[2J \u202emoc.live\r\n b\tc\n"));
  }
}
