package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.sweep.Sweep;
import io.vertigrad.sweep.SweepPlan;
import io.vertigrad.sweep.TrialResult;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RunsCommandTest {

  @TempDir private Path parent;
  private Path folder;

  @BeforeEach
  void make() throws IOException {
    folder = Files.createDirectory(parent.resolve("runs"));
    RunStory.folder(folder, "one", RunStory.of("a pid 1", "finished"));
    RunStory.folder(folder, "two", RunStory.of("a pid 1", "finished"));
  }

  @Test
  void shouldListRunsAsATableAndAsJson() {
    CommandRun table = runs();
    CommandRun listed = runs("list");
    CommandRun json = runs("--json");

    assertEquals(0, table.exit(), table.err());
    List<String> lines = table.out().lines().toList();
    assertEquals(List.of("run", "state", "begun"), List.of(lines.get(0).split(" +")).subList(0, 3));
    assertTrue(lines.get(1).startsWith("one  finished  2023-11-"), table.out());
    assertTrue(lines.get(3).startsWith("one: job.json is missing. Copy the run's"), table.out());
    assertEquals(table.out(), listed.out());
    JsonArray rows = new JsonArray(json.out());
    assertEquals("two", rows.getJsonObject(1).getString("name"));
    assertEquals(json.out(), runs("list", "--json").out());
    assertEquals("[]", CommandRun.of("runs", "--in", parent + "/none", "--json").out().strip());
  }

  @Test
  void shouldShowTheSettingsInWhichTheRunsDiffer() throws IOException {
    job("one", "0.1", "16", "");
    job("two", "0.01", "16", "\"momentum\": 0.9, ");
    RunStory.folder(folder, "three", RunStory.of("a pid 1", "finished"));
    job("three", "0.001", "32", "");

    List<String> lines = runs().out().lines().toList();

    List<String> heading = List.of(lines.get(0).split(" +"));
    assertEquals(
        List.of("learningRate", "batch", "momentum", "notes"),
        heading.subList(heading.size() - 4, heading.size()));
    assertEquals(
        List.of("0.1 16 -", "0.001 32 -", "0.01 16 0.9"),
        lines.subList(1, 4).stream()
            .map(line -> line.replaceAll(".* (\\S+) +(\\S+) +(\\S+)$", "$1 $2 $3"))
            .toList());
    JsonArray rows = new JsonArray(runs("--json").out());
    assertEquals(
        "{\"optimizer.learningRate\":0.001,\"workers.batch\":32}",
        rows.getJsonObject(1).getJsonObject("differs").encode());
    assertEquals(
        "sgd", rows.getJsonObject(1).getJsonObject("settings").getString("optimizer.name"));
  }

  @Test
  void shouldNameTheSettingsThatHaveNoColumn() throws IOException {
    for (String name : List.of("one", "two")) {
      JsonObject optimizer = new JsonObject();
      List.of("a", "b", "c", "d", "e", "f").forEach(key -> optimizer.put(key, name + key));
      Files.writeString(
          folder.resolve(name).resolve("job.json"),
          JsonObject.of("optimizer", optimizer.put("name", "x".repeat(30) + name)).encode());
    }

    List<String> lines = runs().out().lines().toList();

    assertTrue(lines.get(0).matches(".* data +a +b +c +d +notes"), lines.get(0));
    assertEquals("they also differ in optimizer.e, optimizer.f, optimizer.name", lines.get(3));
  }

  /** What programs read is described; what is described is there in one state or another. */
  @Test
  void shouldDescribeEachFieldOfTheListForPrograms() throws IOException {
    job("one", "0.1", "16", "");
    assertEquals(0, runs("note", "one", "the best", "--tag", "lr").exit());
    assertEquals(0, runs("keep", "one").exit());
    String page = Files.readString(Path.of("../docs/reference/runs.md"));
    String section = page.substring(page.indexOf("\n## runs --json")).replaceFirst("\n## ", "");
    String table = section.split("\n## ")[0];

    for (Object row : new JsonArray(runs("--json").out())) {
      for (String field : ((JsonObject) row).fieldNames()) {
        assertTrue(table.contains("`" + field + "`"), field + " is not in docs/reference/runs.md");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"list", "rm", "keep", "name", "note"})
  void shouldDescribeEachCommand(String command) {
    CommandRun help = runs(command, "--help");

    assertEquals(0, help.exit(), help.err());
    assertTrue(help.out().startsWith("Usage: vertigrad runs " + command), help.out());
    assertTrue(help.out().contains("--in=DIR"), help.out());
  }

  @Test
  void shouldNameARunAndTakeTheNameAway() {
    CommandRun named = runs("name", "one", "the baseline");

    assertEquals(0, named.exit(), named.err());
    assertTrue(runs().out().contains("one (the baseline)  finished"), runs().out());
    CommandRun wrong = runs("name", "one", "x".repeat(61));
    assertEquals(2, wrong.exit());
    assertTrue(wrong.err().contains("name: found \"x"), wrong.err());
    assertTrue(
        wrong.err().contains("61 characters, expected up to 60 characters on one line"),
        wrong.err());
    assertEquals(0, runs("name", "one", "").exit());
    assertFalse(runs().out().contains("baseline"), runs().out());
  }

  @Test
  void shouldSayThatThereIsNoRun() {
    CommandRun none = CommandRun.of("runs", "--in", parent.resolve("none").toString());

    assertEquals(0, none.exit(), none.err());
    assertEquals("no run in " + parent.resolve("none"), none.out().strip());
  }

  @Test
  void shouldDeleteRunsAndSayWhatItFreed() throws IOException {
    Files.write(folder.resolve("one/model.zip"), new byte[3 << 20]);
    Path outside = Files.createDirectory(parent.resolve("outside"));
    Files.writeString(outside.resolve("data"), "precious");
    Files.createSymbolicLink(folder.resolve("one/link"), outside);

    CommandRun removed = runs("rm", "one", folder.resolve("two").toString(), "--yes");

    assertEquals(0, removed.exit(), removed.err());
    List<String> lines = removed.out().lines().toList();
    assertEquals("deleted %s: 3.0 MiB".formatted(folder.resolve("one")), lines.get(0));
    assertTrue(lines.get(2).startsWith("deleted 2 runs: 3.1 MiB"), removed.out());
    assertEquals(List.of(), left());
    assertEquals("precious", Files.readString(outside.resolve("data")));
  }

  @Test
  void shouldDeleteASweepWithItsTrialsAndNothingElse() throws IOException {
    Path sweep = folder.resolve("s");
    SweepPlan.Trial trial = new SweepPlan.Trial(1, Map.of("seed", 1), 90, new JsonObject());
    SweepPlan plan = new SweepPlan("s", List.of(trial), 1, 3, TrialResult.Order.LOSS);
    String trialOf = "{\"sweep\": \"%s\", \"trial\": 1, \"steps\": 9, \"most\": 90}";
    Files.writeString(folder.resolve("one/sweep.json"), trialOf.formatted("s"));
    Files.writeString(folder.resolve("two/sweep.json"), trialOf.formatted("another"));
    Sweep goesOn = Sweep.begin(sweep, plan);
    try (goesOn) {
      CommandRun refused = runs("rm", "s", "--yes");
      assertEquals(2, refused.exit(), refused.out());
      assertTrue(refused.err().contains("another process runs this sweep"), refused.err());
    }
    assertEquals(List.of("one", "s", "two"), left());

    CommandRun removed = runs("rm", sweep.toString(), "--yes");

    assertEquals(0, removed.exit(), removed.err());
    assertEquals(List.of("two"), left());
  }

  @Test
  void shouldDeleteNothingWhenOneOfTheRunsIsKept() {
    assertEquals(0, runs("keep", "two").exit());

    CommandRun refused = runs("rm", "one", "two", "--yes");

    assertEquals(2, refused.exit());
    assertTrue(refused.err().contains("two: is kept, by runs keep; to delete it"), refused.err());
    assertEquals(List.of("one", "two"), left());
    assertEquals(0, runs("keep", "--undo", "two").exit());
    assertEquals(0, runs("rm", "two", "--yes").exit());
    assertEquals(List.of("one"), left());
  }

  @Test
  void shouldDeleteTheRunsThatAreOlder() throws IOException {
    for (String name : List.of("three", "four", "five")) {
      RunStory.folder(folder, name, RunStory.of("a pid 1", "finished"));
    }
    assertEquals(0, runs("keep", "two").exit());
    List.of("one", "two", "three", "four").forEach(name -> age(name, Duration.ofHours(49)));
    age("five", Duration.ofHours(47));
    RunLock lock = RunLock.take(new RunDirectory(folder.resolve("three")));
    CommandRun asked;
    CommandRun removed;
    try (lock) {
      asked = runs("rm", "--older-than", "2d");
      removed = runs("rm", "--older-than", "2d", "--yes");
    }

    assertEquals(2, asked.exit(), asked.out());
    assertTrue(asked.err().contains("there is no terminal to ask on"), asked.err());
    assertEquals(0, removed.exit(), removed.err());
    for (String line :
        List.of(
            "stays: %s: is kept, by runs keep".formatted(folder.resolve("two")),
            "stays: %s: process ".formatted(folder.resolve("three")),
            "deleted %s: ".formatted(folder.resolve("one")),
            "deleted %s: ".formatted(folder.resolve("four")),
            "deleted 2 runs: ")) {
      assertTrue(removed.out().contains(line), removed.out());
    }
    assertEquals(List.of("five", "three", "two"), left());
    assertEquals(
        "no run in %s is to be deleted".formatted(folder),
        runs("rm", "--older-than", "1w", "--yes").out().strip());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--older-than=30", "--older-than=0d", "--older-than=-1d", "--older-than=9999999w"})
  void shouldRefuseAnAgeWithoutAUnitOrNumber(String age) {
    CommandRun refused = runs("rm", age, "--yes");

    assertEquals(2, refused.exit());
    assertTrue(refused.err().contains("such as 12h, 30d or 8w"), refused.err());
    assertEquals(List.of("one", "two"), left());
  }

  @Test
  void shouldExpectEitherNamesOrAnAge() {
    CommandRun neither = runs("rm", "--yes");
    CommandRun both = runs("rm", "one", "--older-than", "1d", "--yes");

    assertEquals(List.of(2, 2), List.of(neither.exit(), both.exit()));
    assertTrue(neither.err().contains("found neither names nor an age"), neither.err());
    assertTrue(both.err().contains("found names and an age, expected either"), both.err());
    assertEquals(List.of("one", "two"), left());
  }

  @Test
  void shouldNotDeleteARunThatGoesOn() {
    RunLock lock = RunLock.take(new RunDirectory(folder.resolve("one")));
    try (lock) {
      CommandRun refused = runs("rm", "one", "--yes");

      assertEquals(2, refused.exit());
      assertTrue(
          refused
              .err()
              .matches("(?s)vertigrad: .*one: process [0-9]+ runs it; end that one first\\R"),
          refused.err());
    }
    assertEquals(List.of("one", "two"), left());
  }

  @Test
  void shouldAskForYesWhereThereIsNoTerminal() {
    CommandRun refused = runs("rm", "one");

    assertEquals(2, refused.exit());
    assertTrue(refused.err().contains("there is no terminal to ask on"), refused.err());
    assertEquals(List.of("one", "two"), left());
  }

  @Test
  void shouldDeleteNothingThatIsNoRunOfTheFolder() throws IOException {
    Path other = Files.createDirectory(folder.resolve("other"));
    Files.writeString(other.resolve("thesis.tex"), "precious");
    Path outside = RunStory.folder(parent, "outside", List.of());
    Files.createSymbolicLink(folder.resolve("link"), outside);

    for (String name :
        List.of("other", "link", "../outside", outside.toString(), "..", ".", "", "/", "none")) {
      CommandRun refused = runs("rm", "one", name, "--yes");

      assertEquals(2, refused.exit(), name);
      assertTrue(refused.err().contains(": expected the name of a run in "), refused.err());
    }
    assertEquals(List.of("link", "one", "other", "two"), left());
    assertTrue(Files.exists(outside.resolve("summary.json")));
  }

  @Test
  void shouldWriteANoteAndTags() {
    CommandRun noted = runs("note", "one", "the best so far", "--tag", "baseline", "--tag", "lr");

    assertEquals(0, noted.exit(), noted.err());
    assertEquals("written to " + folder.resolve("one/notes.json"), noted.out().strip());
    assertTrue(
        runs().out().lines().anyMatch(line -> line.endsWith("[baseline] [lr] the best so far")),
        runs().out());
    assertEquals(0, runs("note", "one", "", "--tag", "").exit());
    assertFalse(runs().out().contains("best"), runs().out());
  }

  @Test
  void shouldRefuseANoteBeyondItsLimits() {
    CommandRun empty = runs("note", "one");
    CommandRun longer = runs("note", "one", "x".repeat(4_001));

    assertEquals(2, empty.exit());
    assertTrue(empty.err().contains("found no text and no tag"), empty.err());
    assertEquals(2, longer.exit());
    assertTrue(longer.err().contains("found 4,001 characters"), longer.err());
  }

  @Test
  void shouldRefuseAFolderThatHoldsNoRuns() {
    CommandRun one = CommandRun.of("ui", folder.resolve("one").toString());
    CommandRun none = CommandRun.of("ui", folder.resolve("rnus").toString());

    assertEquals(2, one.exit());
    assertTrue(one.err().contains("is the folder of one run, expected the one"), one.err());
    assertEquals(2, none.exit());
    assertTrue(none.err().contains("there is no such folder"), none.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "short", "sixteen or more letters", "0123456789abcdef+"})
  void shouldRefuseATokenThatCannotStandInAnAddress(String token) throws IOException {
    Path file = Files.writeString(folder.resolve("token"), token + "\n");

    CommandRun refused = CommandRun.of("ui", folder.toString(), "--token-file", file.toString());
    CommandRun none = CommandRun.of("ui", folder.toString(), "--token-file", file + "2");

    assertEquals(2, refused.exit());
    assertTrue(refused.err().contains("expected one token of 16 to 256 letters"), refused.err());
    assertTrue(refused.err().contains("found " + token.length()), refused.err());
    assertEquals(2, none.exit());
    assertTrue(none.err().contains("expected a file with a token"), none.err());
  }

  @ParameterizedTest
  @ValueSource(strings = {"vertigrad", "/a//b", "/..", "/a/.b", "/a b", "http://x/"})
  void shouldRefuseABasePathThatIsNoPath(String path) {
    CommandRun refused = CommandRun.of("ui", folder.toString(), "--base-path", path);

    assertEquals(2, refused.exit());
    assertTrue(
        refused.err().contains("--base-path: found \"" + path + "\", expected a path such as"),
        refused.err());
  }

  private void job(String name, String rate, String batch, String more) throws IOException {
    Files.writeString(
        folder.resolve(name).resolve("job.json"),
        """
        {"job": "%s", "optimizer": {"name": "sgd", %s"learningRate": %s}, "workers": {"batch": %s}}
        """
            .formatted("digits", more, rate, batch));
  }

  private void age(String name, Duration age) {
    FileTime then = FileTime.from(Instant.now().minus(age));
    try (Stream<Path> files = Files.walk(folder.resolve(name))) {
      for (Path file : files.toList()) {
        Files.setLastModifiedTime(file, then);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private CommandRun runs(String... words) {
    List<String> all = new ArrayList<>(List.of("runs"));
    all.addAll(List.of(words));
    all.addAll(List.of("--in", folder.toString()));
    return CommandRun.of(all.toArray(String[]::new));
  }

  private List<String> left() {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> Files.exists(file, LinkOption.NOFOLLOW_LINKS))
          .map(file -> file.getFileName().toString())
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
