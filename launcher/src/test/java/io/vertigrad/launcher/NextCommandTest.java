package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

final class NextCommandTest {

  private static final RunDirectory RUN = new RunDirectory(Path.of("runs/a run"));

  @Test
  void shouldKeepEveryOptionButTheRunsFolder() {
    List<String> typed =
        List.of("train", "conf/mnist-sync.json", "--data", "my data", "--run-dir", "x", "--seed=3");

    assertEquals(
        "./vertigrad train conf/mnist-sync.json --data 'my data' --seed=3 --processes",
        new NextCommand(typed, RUN, false).afterTheEnd().toString());
  }

  @Test
  void shouldNeverOfferTheCommandThatWasJustRun() {
    String replay = "./vertigrad replay 'runs/a run'";

    assertEquals(
        replay,
        new NextCommand(List.of("train", "--processes"), RUN, false).afterTheEnd().toString());
    assertEquals(
        replay, new NextCommand(List.of("train", "--listen"), RUN, true).afterTheEnd().toString());
    assertEquals(
        "./vertigrad train conf/digits-async.json",
        new NextCommand(List.of("train"), RUN, false).afterTheEnd().toString());
  }

  @Test
  void shouldGoOnWithAnInterruptedRun() {
    List<String> typed = List.of("train", "--run-dir=runs/a run", "--processes");

    assertEquals(
        "./vertigrad resume 'runs/a run'", new NextCommand(typed, RUN, false).goingOn().toString());
  }

  @Test
  void shouldBeginWithTheProgramAsItWasCalled() {
    System.setProperty("vertigrad.command", "../my tools/vertigrad");
    try {
      assertEquals(
          "'../my tools/vertigrad' doctor --data 'it'\\''s here'",
          ShellCommand.of("doctor", "--data", "it's here").toString());
    } finally {
      System.clearProperty("vertigrad.command");
    }
  }
}
