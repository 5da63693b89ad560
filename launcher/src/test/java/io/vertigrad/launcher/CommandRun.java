package io.vertigrad.launcher;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The result of a command that ran inside the test's JVM.
 *
 * @param exit its exit code
 * @param out its standard output
 * @param err its standard error
 */
record CommandRun(int exit, String out, String err) {

  static CommandRun of(String... arguments) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    PrintStream formerOut = System.out;
    PrintStream formerErr = System.err;
    System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
    try {
      int exit = VertigradCommand.execute(arguments);
      return new CommandRun(exit, text(out), text(err));
    } finally {
      System.setOut(formerOut);
      System.setErr(formerErr);
    }
  }

  private static String text(ByteArrayOutputStream bytes) {
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
