package io.vertigrad.sweep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.sweep.Sweep.Task;
import io.vertigrad.sweep.SweepPlan.Trial;
import io.vertigrad.sweep.TrialResult.Order;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SweepTest {

  @TempDir private Path folder;

  private static SweepPlan plan(int trials, int rungs) {
    List<Trial> all = new ArrayList<>();
    for (int i = 1; i <= trials; i++) {
      all.add(new Trial(i, Map.of("a", i), 90, JsonObject.of("seed", i)));
    }
    return new SweepPlan("first", all, rungs, 3, Order.LOSS);
  }

  /** The loss of a trial: the higher its number, the better, and the longer, the better. */
  private static TrialResult result(Task task) {
    return new TrialResult(
        1.0 / (task.trial().number() + task.steps()),
        50,
        task.steps() * 10,
        task.steps(),
        task.trial().number() == 2 ? Optional.of("diverged") : Optional.empty());
  }

  private static String name(Task task) {
    return task.trial().number() + " to " + task.steps();
  }

  /** Trains two at a time until the sweep is over; returns what was trained, in order. */
  private static List<String> train(Sweep sweep) {
    List<Task> running = new ArrayList<>();
    List<String> trained = new ArrayList<>();
    while (!sweep.isOver()) {
      while (running.size() < 2) {
        Optional<Task> next = sweep.next();
        if (next.isEmpty()) {
          break;
        }
        running.add(next.get());
      }
      Task ended = running.remove(0);
      sweep.report(ended, result(ended));
      trained.add(name(ended));
    }
    return trained;
  }

  @Test
  void shouldTrainTheBestToItsEndWhenAllTrialsAreTried() {
    try (Sweep sweep = Sweep.begin(folder, plan(9, 3))) {
      List<String> trained = train(sweep);

      assertEquals(
          9, trained.stream().filter(name -> name.endsWith(" to 10")).count(), trained.toString());
      assertTrue(trained.contains("9 to 90"), trained.toString());
      assertEquals(9, sweep.best().orElseThrow().task().trial().number());
      assertEquals(90, sweep.best().orElseThrow().task().steps());
      assertEquals(9, sweep.ranking().size());
      assertEquals(2, sweep.ranking().get(8).task().trial().number());
    }
  }

  @Test
  void shouldTrainEachToItsEndOnceWhenThereIsOneRung() {
    try (Sweep sweep = Sweep.begin(folder, plan(4, 1))) {
      assertEquals(List.of("1 to 90", "2 to 90", "3 to 90", "4 to 90"), train(sweep));
    }
  }

  /**
   * Cuts the journal after each of its bytes, as a crash may. What is left is all whole lines.
   * After each line, and a byte before and after its end, the sweep goes on from there, asks for no
   * result twice, and ends as the whole one did.
   */
  @Test
  @Tag("slow")
  void shouldRepeatNothingWhenTheJournalIsCutAtAnyByte() throws IOException {
    Path whole = folder.resolve("whole");
    int winner;
    try (Sweep sweep = Sweep.begin(whole, plan(4, 2))) {
      train(sweep);
      winner = sweep.best().orElseThrow().task().trial().number();
    }
    byte[] journal = Files.readAllBytes(whole.resolve(Sweep.JOURNAL));
    String text = Files.readString(whole.resolve(Sweep.JOURNAL));
    Path cut = Files.createDirectories(folder.resolve("cut"));
    Path file = cut.resolve(Sweep.JOURNAL);
    for (int length = text.indexOf('\n') + 1; length <= journal.length; length++) {
      String left = text.substring(0, text.lastIndexOf('\n', length - 1) + 1);
      Files.write(file, Arrays.copyOf(journal, length));
      try (Sweep sweep = Sweep.resume(cut)) {
        assertEquals(left, Files.readString(file), "cut " + length);
        if (length - left.length() > 1 && length + 1 < text.indexOf('\n', length)) {
          continue;
        }
        train(sweep);
        assertEquals(winner, sweep.best().orElseThrow().task().trial().number(), "cut " + length);
      }
      assertTrue(Files.readString(file).startsWith(left), "cut " + length);
      List<String> results =
          Files.readAllLines(file).stream()
              .filter(line -> line.contains("\"result\""))
              .map(line -> line.replaceFirst(",\"result.*", ""))
              .toList();
      assertEquals(results.size(), results.stream().distinct().count(), "cut " + length);
    }
  }

  @Test
  void shouldSayThatTheSweepNeverBeganWhenTheFirstLineIsCut() throws IOException {
    Sweep.begin(folder, plan(3, 1)).close();
    Path journal = folder.resolve(Sweep.JOURNAL);
    byte[] whole = Files.readAllBytes(journal);
    for (int length = 0; length < whole.length; length++) {
      Files.write(journal, Arrays.copyOf(whole, length));
      SettingsException thrown = assertThrows(SettingsException.class, () -> Sweep.resume(folder));
      assertTrue(thrown.getMessage().contains("ended before it began"), thrown.getMessage());
    }
  }

  @Test
  void shouldHandOutATrialAgainWhenItHadNoResult() {
    try (Sweep sweep = Sweep.begin(folder, plan(3, 1))) {
      Task first = sweep.next().orElseThrow();
      Task second = sweep.next().orElseThrow();
      sweep.report(second, result(second));
      assertEquals("1 to 90", name(first));
    }
    try (Sweep sweep = Sweep.resume(folder)) {
      Task again = sweep.next().orElseThrow();
      assertEquals("1 to 90", name(again));
      sweep.giveBack(again);
      assertFalse(sweep.isOver());
      assertEquals(List.of("1 to 90", "3 to 90"), train(sweep));
    }
    assertEquals("first", planOf(folder));
  }

  private static String planOf(Path folder) {
    try (Sweep sweep = Sweep.resume(folder)) {
      return sweep.plan().name();
    }
  }

  @Test
  void shouldRefuseASecondProcessAnotherFileAndAFolderWithout() throws IOException {
    try (Sweep sweep = Sweep.begin(folder, plan(3, 1))) {
      assertTrue(
          assertThrows(SettingsException.class, () -> Sweep.resume(folder))
              .getMessage()
              .contains("another process runs this sweep"));
      assertThrows(SettingsException.class, () -> Sweep.begin(folder, plan(3, 1)));
      assertFalse(sweep.isOver());
    }
    Path other = Files.createDirectories(folder.resolve("other"));
    assertTrue(
        assertThrows(SettingsException.class, () -> Sweep.resume(other))
            .getMessage()
            .contains("there is no such file"));
    Files.writeString(other.resolve(Sweep.JOURNAL), "{\"a\":1}\n");
    assertTrue(
        assertThrows(SettingsException.class, () -> Sweep.resume(other))
            .getMessage()
            .contains("not the journal of a sweep of this version"));
    Files.writeString(other.resolve(Sweep.JOURNAL), "a\n");
    assertTrue(
        assertThrows(SettingsException.class, () -> Sweep.resume(other))
            .getMessage()
            .contains("line 1 is not JSON"));
  }

  /** Tries to lock a journal as another process does; its exit code is 0 if that is refused. */
  static final class OtherProcess {

    private OtherProcess() {}

    public static void main(String[] arguments) throws IOException {
      try (FileChannel channel =
          FileChannel.open(Path.of(arguments[0]), StandardOpenOption.WRITE)) {
        System.exit(channel.tryLock() == null ? 0 : 1);
      }
    }
  }

  private static int lockInAnotherProcess(Path journal) throws Exception {
    Process other =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                Path.of(SweepTest.class.getProtectionDomain().getCodeSource().getLocation().toURI())
                    .toString(),
                OtherProcess.class.getName(),
                journal.toString())
            .inheritIO()
            .start();
    try {
      assertTrue(other.waitFor(60, TimeUnit.SECONDS), "the other process does not end");
      return other.exitValue();
    } finally {
      other.destroyForcibly();
    }
  }

  @Test
  @Tag("slow")
  void shouldStayLockedForOtherProcessesWhenItIsBegunAndWhenItIsResumed() throws Exception {
    Path journal = folder.resolve(Sweep.JOURNAL);
    try (Sweep begun = Sweep.begin(folder, plan(3, 1))) {
      assertEquals(0, lockInAnotherProcess(journal), begun.plan().name());
    }
    try (Sweep resumed = Sweep.resume(folder)) {
      assertEquals(0, lockInAnotherProcess(journal), resumed.plan().name());
    }
    assertEquals(1, lockInAnotherProcess(journal));
  }

  @Test
  void shouldRefuseAResultThatNobodyWaitsFor() {
    try (Sweep sweep = Sweep.begin(folder, plan(3, 1))) {
      Task first = sweep.next().orElseThrow();
      sweep.report(first, result(first));
      assertThrows(IllegalArgumentException.class, () -> sweep.report(first, result(first)));
    }
  }
}
