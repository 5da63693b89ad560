package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import java.util.ArrayList;
import java.util.List;

/**
 * Suggests commands to type after a run, in the folder where it was started and with the same data
 * and settings. It never suggests the command that was just run.
 *
 * @param arguments arguments of the command that was just run, from {@code train} on
 * @param directory the run's directory
 * @param open true when the run accepted nodes from elsewhere
 */
record NextCommand(List<String> arguments, RunDirectory directory, boolean open) {

  private static final String RUN_DIRECTORY = "--run-dir";
  private static final String NAME = "--name";
  private static final String RATE = "optimizer.learningRate";

  /** A learning rate that works for most jobs; the default of the key. */
  private static final double USUAL_RATE = 0.01;

  /** Suggests commands after a finished run: replay it, ask or serve its model, train again. */
  List<ShellCommand> afterTheEnd() {
    boolean served = arguments.contains(ServeOption.NAME);
    List<ShellCommand> next = new ArrayList<>(List.of(look(), ofRun(served ? "serve" : "predict")));
    if (arguments.equals(List.of("train"))) {
      next.add(ShellCommand.of("train", "conf/digits-async.json"));
    } else if (!open && arguments.stream().noneMatch(NextCommand::startsProcesses)) {
      next.add(repeated().with(PlacementOption.NAME));
    }
    return next;
  }

  /**
   * Suggests commands after a run that diverged: replay it, train with a lower learning rate.
   *
   * @param rate learning rate of the run
   */
  List<ShellCommand> afterDivergence(double rate) {
    List<ShellCommand> next = new ArrayList<>(List.of(look()));
    if (arguments.get(0).equals("train")) {
      next.add(withoutRate(repeated()).with("--set", RATE + "=" + Math.min(USUAL_RATE, rate / 10)));
    }
    return next;
  }

  private static ShellCommand withoutRate(ShellCommand command) {
    List<String> words = new ArrayList<>(command.words());
    for (int at = words.size() - 2; at >= 0; at--) {
      if (words.get(at).equals("--set") && words.get(at + 1).startsWith(RATE + "=")) {
        words.subList(at, at + 2).clear();
      }
    }
    return new ShellCommand(words);
  }

  /** Suggests the command that resumes an interrupted run. */
  ShellCommand goingOn() {
    return ofRun("resume");
  }

  /**
   * Completes the commands in a message of a member: it writes {@code vertigrad resume RUN},
   * because it does not know the run's folder.
   */
  String inThisRun(String message) {
    return message.replace("vertigrad resume RUN ", goingOn() + " ");
  }

  private static boolean startsProcesses(String argument) {
    return argument.equals(PlacementOption.NAME)
        || argument.startsWith(PlacementOption.NAME + PlacementOption.SEPARATOR);
  }

  private ShellCommand look() {
    return ofRun("replay");
  }

  private ShellCommand ofRun(String command) {
    return ShellCommand.of(command, directory.path().toString());
  }

  /** Returns the same command without the folder and the name of its run. */
  private ShellCommand repeated() {
    List<String> words = new ArrayList<>(arguments);
    for (String option : List.of(RUN_DIRECTORY, NAME)) {
      words.removeIf(word -> word.startsWith(option + "="));
      int at = words.indexOf(option);
      if (at >= 0) {
        words.subList(at, Math.min(words.size(), at + 2)).clear();
      }
    }
    return new ShellCommand(words);
  }
}
