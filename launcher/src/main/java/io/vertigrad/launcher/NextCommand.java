package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import java.util.ArrayList;
import java.util.List;

/**
 * What a person may do after a run, as commands that work in the folder where the run was started,
 * with the same data and settings; never the command that was just run.
 *
 * @param arguments of that command, from {@code train} on
 * @param directory the run's
 * @param open true when the run let nodes from elsewhere in
 */
record NextCommand(List<String> arguments, RunDirectory directory, boolean open) {

  private static final String RUN_DIRECTORY = "--run-dir";
  private static final String PROCESSES = "--processes";
  private static final String RATE = "optimizer.learningRate";

  /** A rate that most jobs bear, the default of the key. */
  private static final double USUAL_RATE = 0.01;

  /** After a run that came to its end: looking at it, asking its model, training once more. */
  List<ShellCommand> afterTheEnd() {
    List<ShellCommand> next = new ArrayList<>(List.of(look(), ofRun("predict")));
    if (arguments.equals(List.of("train"))) {
      next.add(ShellCommand.of("train", "conf/digits-async.json"));
    } else if (!open && !arguments.contains(PROCESSES)) {
      next.add(repeated().with(PROCESSES));
    }
    return next;
  }

  /**
   * After a run that diverged: looking at it, and training with a lower learning rate.
   *
   * @param rate that it was trained with
   */
  List<ShellCommand> afterDivergence(double rate) {
    List<ShellCommand> next = new ArrayList<>(List.of(look()));
    if (arguments.get(0).equals("train")) {
      next.add(repeated().with("--set", RATE + "=" + Math.min(USUAL_RATE, rate / 10)));
    }
    return next;
  }

  /** After a run that was interrupted. */
  ShellCommand goingOn() {
    return ofRun("resume");
  }

  private ShellCommand look() {
    return ofRun("replay");
  }

  private ShellCommand ofRun(String command) {
    return ShellCommand.of(command, directory.path().toString());
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
