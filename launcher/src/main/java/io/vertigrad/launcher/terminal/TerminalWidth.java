package io.vertigrad.launcher.terminal;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.jline.utils.Signals;

/**
 * Returns the number of columns of the terminal, also after its window was resized; thread-safe.
 */
final class TerminalWidth implements IntSupplier, AutoCloseable {

  private static final int DEFAULT = 80;
  private static final String RESIZED = "WINCH";
  private static final File TERMINAL = new File("/dev/tty");
  private static final long ASK_SECONDS = 2;

  private volatile int columns;
  private final Object formerHandler;

  /** Takes the width from {@code COLUMNS}, else from the terminal, and watches for changes. */
  TerminalWidth() {
    String given = System.getenv("COLUMNS");
    columns =
        given != null && given.matches("[1-9][0-9]{1,3}")
            ? Integer.parseInt(given)
            : ask().orElse(DEFAULT);
    formerHandler = Signals.register(RESIZED, () -> ask().ifPresent(now -> columns = now));
  }

  @Override
  public int getAsInt() {
    return columns;
  }

  @Override
  public void close() {
    Signals.unregister(RESIZED, formerHandler);
  }

  private static OptionalInt ask() {
    try {
      Process stty = new ProcessBuilder("stty", "size").redirectInput(TERMINAL).start();
      if (!stty.waitFor(ASK_SECONDS, TimeUnit.SECONDS)) {
        stty.destroyForcibly();
        return OptionalInt.empty();
      }
      String size = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
      String[] numbers = size.strip().split(" ");
      return numbers.length == 2 && numbers[1].matches("[1-9][0-9]{0,3}")
          ? OptionalInt.of(Integer.parseInt(numbers[1]))
          : OptionalInt.empty();
    } catch (IOException noTerminal) {
      return OptionalInt.empty();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return OptionalInt.empty();
    }
  }
}
