package io.vertigrad.launcher.terminal;

import java.io.PrintStream;
import me.tongfei.progressbar.ProgressBarConsumer;

/** The last line of a terminal, overwritten in place; thread-safe. */
final class TerminalLine implements ProgressBarConsumer {

  private static final String ERASE = "\r\u001b[K";
  private static final int DEFAULT_COLUMNS = 100;

  private final PrintStream out;
  private final int columns;
  private String shown = "";

  TerminalLine(PrintStream out) {
    this.out = out;
    this.columns = columns();
  }

  /** Prints a line that stays, above the one that moves. */
  synchronized void above(String text) {
    out.print(shown.isEmpty() ? "" : ERASE);
    out.println(text);
    out.print(shown);
    out.flush();
  }

  @Override
  public int getMaxRenderedLength() {
    return columns - 1;
  }

  @Override
  public synchronized void accept(String rendered) {
    shown = rendered;
    out.print(ERASE + rendered);
    out.flush();
  }

  @Override
  public synchronized void clear() {
    out.print(ERASE);
    out.flush();
  }

  @Override
  public synchronized void close() {
    if (!shown.isEmpty()) {
      out.println();
      shown = "";
    }
  }

  private static int columns() {
    String columns = System.getenv("COLUMNS");
    return columns != null && columns.matches("[1-9][0-9]{1,3}")
        ? Integer.parseInt(columns)
        : DEFAULT_COLUMNS;
  }
}
