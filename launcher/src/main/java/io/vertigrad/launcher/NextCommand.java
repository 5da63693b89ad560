package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import java.util.ArrayList;
import java.util.List;

/**
 * What a person may do after a run, as a command that works in the folder where the run was
 * started, with the same data and settings; never the command that was just run.
 *
 * @param arguments of that command, from {@code train} on
 * @param directory the run's
 * @param open true when the run let nodes from elsewhere in
 */
record NextCommand(List<String> arguments, RunDirectory directory, boolean open) {

  private static final String RUN_DIRECTORY = "--run-dir";
  private static final String PROCESSES = "--processes";

  /** After a run that came to its end. */
  ShellCommand afterTheEnd() {
    if (arguments.equals(List.of("train"))) {
      return ShellCommand.of("train", "conf/digits-async.json");
    }
    return open || arguments.contains(PROCESSES)
        ? ShellCommand.of("replay", directory.path().toString())
        : repeated().with(PROCESSES);
  }

  /** After a run that was interrupted. */
  ShellCommand goingOn() {
    return ShellCommand.of("resume", directory.path().toString());
  }

  /** The same once more, in a folder of its own. */
  private ShellCommand repeated() {
    List<String> words = new ArrayList<>(arguments);
    words.removeIf(word -> word.startsWith(RUN_DIRECTORY + "="));
    int at = words.indexOf(RUN_DIRECTORY);
    if (at >= 0) {
      words.subList(at, Math.min(words.size(), at + 2)).clear();
    }
    return new ShellCommand(words);
  }
}
