package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

final class NextCommandTest {

  private static final RunDirectory RUN = new RunDirectory(Path.of("runs/a run"));
  private static final String REPLAY = "./vertigrad replay 'runs/a run'";
  private static final String PREDICT = "./vertigrad predict 'runs/a run'";

  @Test
  void shouldKeepEveryOptionButTheRunsFolderAndName() {
    List<String> typed =
        List.of(
            "train",
            "conf/mnist-sync.json",
            "--data",
            "my data",
            "--run-dir",
            "x",
            "--seed=3",
            "--name",
            "a");

    assertEquals(
        List.of(
            REPLAY,
            PREDICT,
            "./vertigrad train conf/mnist-sync.json --data 'my data' --seed=3 --processes"),
        afterTheEnd(typed, false));
  }

  @Test
  void shouldNeverOfferTheCommandThatWasJustRun() {
    List<String> looking = List.of(REPLAY, PREDICT);

    assertEquals(looking, afterTheEnd(List.of("train", "--processes"), false));
    assertEquals(looking, afterTheEnd(List.of("train", "--processes=all"), false));
    assertEquals(looking, afterTheEnd(List.of("train", "--listen"), true));
    assertEquals(
        List.of(REPLAY, PREDICT, "./vertigrad train conf/digits-async.json"),
        afterTheEnd(List.of("train"), false));
  }

  @Test
  void shouldOfferToServeTheModelThatWasServedWhileItWasTrained() {
    assertEquals(
        List.of(
            REPLAY, "./vertigrad serve 'runs/a run'", "./vertigrad train --serve 8081 --processes"),
        afterTheEnd(List.of("train", "--serve", "8081"), false));
  }

  @Test
  void shouldOfferALowerRateAfterARunThatDiverged() {
    NextCommand next =
        new NextCommand(
            List.of("train", "--set", "optimizer.learningRate=1000", "--steps", "9"), RUN, false);

    assertEquals(
        List.of(REPLAY, "./vertigrad train --steps 9 --set optimizer.learningRate=0.01"),
        next.afterDivergence(1_000).stream().map(ShellCommand::toString).toList());
    assertEquals(
        "./vertigrad train --steps 9 --set optimizer.learningRate=0.001",
        next.afterDivergence(0.01).get(1).toString());
    assertEquals(
        List.of(REPLAY),
        new NextCommand(List.of("resume"), RUN, true)
            .afterDivergence(1).stream().map(ShellCommand::toString).toList());
  }

  @Test
  void shouldContinueAnInterruptedRun() {
    List<String> typed = List.of("train", "--run-dir=runs/a run", "--processes");

    assertEquals(
        "./vertigrad resume 'runs/a run'", new NextCommand(typed, RUN, false).goingOn().toString());
  }

  @Test
  void shouldStartCommandsWithTheProgramAsCalled() {
    System.setProperty("vertigrad.command", "../my tools/vertigrad");
    try {
      assertEquals(
          "'../my tools/vertigrad' doctor --data 'it'\\''s here'",
          ShellCommand.of("doctor", "--data", "it's here").toString());
    } finally {
      System.clearProperty("vertigrad.command");
    }
  }

  private static List<String> afterTheEnd(List<String> typed, boolean open) {
    return new NextCommand(typed, RUN, open)
        .afterTheEnd().stream().map(ShellCommand::toString).toList();
  }
}
