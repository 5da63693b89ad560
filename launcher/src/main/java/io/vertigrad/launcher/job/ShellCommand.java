package io.vertigrad.launcher.job;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A command of this program that you can paste into a shell, in the folder in which it was printed.
 *
 * @param words the words after the program's name, not quoted
 */
public record ShellCommand(List<String> words) {

  private static final String PROGRAM = "vertigrad.command";
  private static final String USUAL_PROGRAM = "./vertigrad";

  public ShellCommand {
    words = List.copyOf(words);
  }

  /** Returns the program's command with these words. */
  public static ShellCommand of(String... words) {
    return new ShellCommand(List.of(words));
  }

  /** Returns the same command with more words appended. */
  public ShellCommand with(String... more) {
    List<String> all = new ArrayList<>(words);
    all.addAll(List.of(more));
    return new ShellCommand(all);
  }

  /**
   * Returns the program's name as the start script passes it, followed by every word, quoted if
   * needed.
   */
  @Override
  public String toString() {
    String program = System.getProperty(PROGRAM, "");
    List<String> all = new ArrayList<>(List.of(program.isEmpty() ? USUAL_PROGRAM : program));
    all.addAll(words);
    return all.stream().map(ShellCommand::quoted).collect(Collectors.joining(" "));
  }

  /** Returns a word as a shell takes it, quoted if needed. */
  public static String quoted(String word) {
    return word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
  }
}
