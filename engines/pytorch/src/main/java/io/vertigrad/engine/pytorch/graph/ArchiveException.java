package io.vertigrad.engine.pytorch.graph;

import java.io.IOException;

/**
 * An archive that cannot be used. Its message continues the sentence {@code model FILE:}, and says
 * what was found, what was expected, and what to do.
 */
public final class ArchiveException extends IOException {

  private static final long serialVersionUID = 1;

  private static final int LONGEST = 700;

  /**
   * Creates one.
   *
   * @param message is shown on one line; what follows its first 700 characters is left out
   */
  public ArchiveException(String message) {
    super(line(message));
  }

  private static String line(String message) {
    StringBuilder line = new StringBuilder();
    message.codePoints().limit(LONGEST).forEach(c -> line.appendCodePoint(printable(c) ? c : '?'));
    return line.toString();
  }

  private static boolean printable(int c) {
    int type = Character.getType(c);
    return !Character.isISOControl(c)
        && type != Character.LINE_SEPARATOR
        && type != Character.PARAGRAPH_SEPARATOR
        && type != Character.SURROGATE
        && type != Character.FORMAT;
  }
}
