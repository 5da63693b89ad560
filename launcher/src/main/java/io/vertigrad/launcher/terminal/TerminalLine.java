package io.vertigrad.launcher.terminal;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import me.tongfei.progressbar.ProgressBarConsumer;

/** The last line of a terminal, overwritten in place; thread-safe. */
final class TerminalLine implements ProgressBarConsumer {

  private static final String ERASE = "\r\u001b[K";
  private static final String INDENT = "  ";

  private final PrintStream out;
  private final IntSupplier columns;
  private final Runnable left;
  private String shown = "";

  /**
   * Creates a line that shows nothing yet.
   *
   * @param columns the present width of the terminal
   * @param left called when the line is no longer needed
   */
  TerminalLine(PrintStream out, IntSupplier columns, Runnable left) {
    this.out = out;
    this.columns = columns;
    this.left = left;
  }

  /** Prints a permanent text above the updated line, wrapped between words. */
  synchronized void above(String text) {
    insert(wrapped(text, columns.getAsInt()));
  }

  /** Prints a permanent command in one piece, so that it can be copied. */
  synchronized void above(String label, String command) {
    String line = label + ": " + command;
    insert(line.length() <= columns.getAsInt() ? List.of(line) : List.of(label + ":", command));
  }

  /** Stops watching the terminal's width. */
  void leave() {
    left.run();
  }

  @Override
  public int getMaxRenderedLength() {
    return columns.getAsInt() - 1;
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

  private void insert(List<String> lines) {
    out.print(shown.isEmpty() ? "" : ERASE);
    lines.forEach(out::println);
    out.print(shown);
    out.flush();
  }

  /** Wraps a text into lines of at most this many columns; only a longer word overflows. */
  static List<String> wrapped(String text, int columns) {
    List<String> lines = new ArrayList<>();
    String rest = text;
    while (rest.length() > columns) {
      int from = lines.isEmpty() ? 1 : INDENT.length() + 1;
      int end = rest.lastIndexOf(' ', columns);
      end = end < from ? rest.indexOf(' ', from) : end;
      if (end < 0) {
        break;
      }
      lines.add(rest.substring(0, end).stripTrailing());
      rest = INDENT + rest.substring(end).strip();
    }
    lines.add(rest);
    return lines;
  }
}
