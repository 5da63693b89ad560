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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
   * Cuts the journal after each of its bytes, as a crash may. The sweep goes on, asks for no result
   * that the rest of the journal has, and ends as the whole one did.
   */
  @Test
  void shouldGoOnWithoutARepetitionWhenTheJournalIsCutAtAnyByte() throws IOException {
    Path whole = folder.resolve("whole");
    int winner;
    try (Sweep sweep = Sweep.begin(whole, plan(9, 3))) {
      train(sweep);
      winner = sweep.best().orElseThrow().task().trial().number();
    }
    byte[] journal = Files.readAllBytes(whole.resolve(Sweep.JOURNAL));
    String text = Files.readString(whole.resolve(Sweep.JOURNAL));
    int header = text.indexOf('\n') + 1;
    Path cut = folder.resolve("cut");
    Files.createDirectories(cut);
    for (int length = header; length <= journal.length; length++) {
      Files.write(cut.resolve(Sweep.JOURNAL), Arrays.copyOf(journal, length));
      Map<String, Integer> results = new LinkedHashMap<>();
      for (String line : text.substring(header, length).split("(?<=\n)")) {
        if (line.endsWith("\n") && line.contains("\"result\"")) {
          results.merge(line.replaceFirst(",\"result.*\\s", ""), 1, Integer::sum);
        }
      }
      int before = results.size();
      try (Sweep sweep = Sweep.resume(cut)) {
        train(sweep);
        assertEquals(winner, sweep.best().orElseThrow().task().trial().number(), "cut " + length);
      }
      List<String> after =
          Files.readAllLines(cut.resolve(Sweep.JOURNAL)).stream()
              .filter(line -> line.contains("\"result\""))
              .map(line -> line.replaceFirst(",\"result.*", ""))
              .toList();
      assertEquals(after.size(), after.stream().distinct().count(), "cut " + length);
      assertTrue(after.size() >= before, "cut " + length);
    }
  }

  @Test
  void shouldSayThatTheSweepNeverBeganWhenTheFirstLineIsCut() throws IOException {
    Sweep.begin(folder, plan(3, 1)).close();
    Path journal = folder.resolve(Sweep.JOURNAL);
    byte[] whole = Files.readAllBytes(journal);
    for (int length = 0; length < whole.length; length++) {
      Files.write(journal, Arrays.copyOf(whole, length));
      SettingsException thrown =
          assertThrows(SettingsException.class, () -> Sweep.resume(folder));
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

  @Test
  void shouldRefuseAResultThatNobodyWaitsFor() {
    try (Sweep sweep = Sweep.begin(folder, plan(3, 1))) {
      Task first = sweep.next().orElseThrow();
      sweep.report(first, result(first));
      assertThrows(IllegalArgumentException.class, () -> sweep.report(first, result(first)));
    }
  }
}
