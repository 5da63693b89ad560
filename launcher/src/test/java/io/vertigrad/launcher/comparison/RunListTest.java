package io.vertigrad.launcher.comparison;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.launcher.run.RunRecorder;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RunListTest {

  private static final long START = 1_700_000_000_000L;
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final int STEPS = 200;

  @TempDir private Path folder;
  private RunList runs;

  /** Does something to the folder of a finished run. */
  private interface Damage {
    void apply(Path run) throws Exception;
  }

  /**
   * A damage, and what the list says of it.
   *
   * @param state the run's state then
   * @param problem begins the sentence; empty for none
   */
  private record Case(String name, Damage damage, String state, String problem) {

    @Override
    public String toString() {
      return name;
    }
  }

  @BeforeEach
  void make() throws IOException {
    runs = new RunList(folder);
    finished("good", START);
  }

  static Stream<Case> damages() {
    return Stream.of(
        new Case("nothing", run -> {}, "finished", ""),
        new Case(
            "torn last event",
            run -> append(run.resolve("events.jsonl"), "{\"type\":\"evaluated\",\"timeMi"),
            "finished",
            ""),
        new Case(
            "half a summary",
            run -> write(run.resolve("summary.json"), "{\"state\": \"fini"),
            "broke off",
            "summary.json: line 1, column "),
        new Case(
            "empty summary",
            run -> write(run.resolve("summary.json"), ""),
            "broke off",
            "summary.json: is empty, expected one object"),
        new Case(
            "zeros for a summary",
            run -> Files.write(run.resolve("summary.json"), new byte[4_096]),
            "broke off",
            "summary.json: "),
        new Case(
            "summary that is no object",
            run -> write(run.resolve("summary.json"), "[1]"),
            "broke off",
            "summary.json: expected one object"),
        new Case(
            "summary with values of other types",
            run ->
                write(
                    run.resolve("summary.json"),
                    "{\"state\": 5, \"accuracy\": \"high\", \"loss\": {}, \"seconds\": [], \"engine\": 1,"
                        + " \"stream\": 2, \"diverged\": true, \"parametersHash\": 7}"),
            "finished",
            ""),
        new Case(
            "folder for a summary",
            run -> folderFor(run.resolve("summary.json")),
            "broke off",
            "summary.json is a folder, expected a file"),
        new Case(
            "bytes that are no text in the job file",
            run -> Files.write(run.resolve("job.json"), new byte[] {(byte) 0xff, (byte) 0xfe, 1}),
            "finished",
            "job.json: line 1: found the byte 0xff, which is not UTF-8"),
        new Case(
            "no job file",
            run -> Files.delete(run.resolve("job.json")),
            "finished",
            "job.json is missing"),
        new Case(
            "sections of other types in the job file",
            run ->
                write(run.resolve("job.json"), "{\"model\": 1, \"data\": [], \"workers\": null}"),
            "finished",
            ""),
        new Case(
            "no events",
            run -> Files.delete(run.resolve("events.jsonl")),
            "finished",
            "events.jsonl is missing"),
        new Case(
            "an empty file of events",
            run -> write(run.resolve("events.jsonl"), ""),
            "finished",
            "events.jsonl holds no event"),
        new Case(
            "bytes for events",
            run -> Files.write(run.resolve("events.jsonl"), noise()),
            "finished",
            "events.jsonl holds no event"),
        new Case(
            "a folder for events",
            run -> folderFor(run.resolve("events.jsonl")),
            "finished",
            "events.jsonl is a folder, expected a file"),
        new Case(
            "a pipe for events",
            run -> pipe(run.resolve("events.jsonl")),
            "finished",
            "events.jsonl is no regular file"),
        new Case(
            "half of the curves",
            run -> write(run.resolve("curves.json"), "{\"schema\": 1, \"eve"),
            "finished",
            ""),
        new Case("a pipe for the curves", run -> pipe(run.resolve("curves.json")), "finished", ""),
        new Case(
            "a terabyte of zeros for the curves",
            run -> huge(run.resolve("curves.json")),
            "finished",
            ""),
        new Case("a pipe for a lock", run -> pipe(run.resolve("lock")), "finished", ""),
        new Case(
            "a terabyte of zeros for a summary",
            run -> huge(run.resolve("summary.json")),
            "broke off",
            "summary.json has 1,099,511,627,776 bytes, expected at most 16,777,216"),
        new Case(
            "a terabyte of zeros behind the events",
            run -> huge(run.resolve("events.jsonl")),
            "finished",
            ""),
        new Case(
            "damaged notes",
            run -> write(run.resolve("notes.json"), "{"),
            "finished",
            "notes.json: line 1, column "),
        new Case(
            "a link to nothing for notes",
            run -> Files.createSymbolicLink(run.resolve("notes.json"), run.resolve("none")),
            "finished",
            ""),
        new Case(
            "nothing that can be read",
            run -> {
              Files.delete(run.resolve("summary.json"));
              write(run.resolve("job.json"), "");
              write(run.resolve("events.jsonl"), "");
            },
            "unreadable",
            "job.json: is empty, expected one object"),
        new Case(
            "an older summary",
            run -> write(run.resolve("summary.json"), "{\"version\": 40, \"samples\": 40}"),
            "finished",
            ""));
  }

  @ParameterizedTest
  @MethodSource("damages")
  void shouldListARunWhenItsFolderIsDamaged(Case damaged) throws Exception {
    damaged.damage().apply(finished("damaged", START + 1));

    JsonObject row = assertTimeoutPreemptively(SOON, () -> row("damaged"));
    JsonObject curves = assertTimeoutPreemptively(SOON, () -> curves("damaged"));

    assertEquals(damaged.state(), row.getString("state"), row.encode());
    String problem = row.getString("problem", "");
    assertTrue(problem.startsWith(damaged.problem()), problem);
    assertEquals(damaged.problem().isEmpty(), problem.isEmpty(), problem);
    assertEquals("damaged", curves.getString("name"));
    assertTrue(curves.containsKey("training") || curves.containsKey("problem"), curves.encode());
    assertEquals("finished", row("good").getString("state"));
    assertTrue(RunsText.of(runs.rows()).stream().anyMatch(line -> line.startsWith("damaged  ")));
  }

  @Test
  void shouldSayThatAFileMayNotBeRead() throws IOException {
    Path summary = finished("locked", START).resolve("summary.json");
    assertTrue(summary.toFile().setReadable(false, false));
    Assumptions.assumeFalse(Files.isReadable(summary), "root reads every file");

    assertTrue(
        row("locked").getString("problem").startsWith("summary.json may not be read: check its"),
        row("locked").encode());
  }

  @Test
  void shouldShowResultsAndSettings() throws IOException {
    JsonObject row = row("good");

    assertEquals(95.5, row.getDouble("accuracy"));
    assertEquals(0.25, row.getDouble("loss"));
    assertEquals(START, row.getLong("startedMillis"));
    assertEquals(200, row.getLong("lastVersion"));
    assertEquals("mlp", row.getString("model"));
    assertEquals("digits", row.getString("data"));
    assertEquals("cpu", row.getString("device"));
    assertEquals("0123456789abcdef", row.getString("hash"));
    assertEquals(
        JsonObject.of("model.name", "mlp")
            .put("model.hidden", "[128,64]")
            .put("data.name", "digits")
            .put("optimizer.learningRate", 0.01)
            .put("optimizer.schedule.name", "cosine")
            .put("workers.count", 2),
        row.getJsonObject("settings"));
    assertFalse(row.containsKey("problem"));
    JsonObject curves = curves("good");
    assertEquals(row.getLong("changed"), curves.getLong("changed"));
    assertEquals(128.0, curves.getDouble("samplesPerVersion"));
    assertEquals(2, curves.getJsonObject("tests").getJsonArray("accuracy").size());
  }

  @Test
  void shouldSayWhetherTheRunHasSavedItsCurves() throws IOException {
    assertTrue(curves("good").getBoolean("unsaved"));

    Path run = finished("saved", START);
    new RunRecorder(new RunDirectory(run), problem -> fail(problem)).close();

    JsonObject curves = curves("saved");
    assertFalse(curves.containsKey("unsaved"));
    assertEquals(
        curves("good").getJsonObject("tests").getJsonArray("accuracy"),
        curves.getJsonObject("tests").getJsonArray("accuracy"));
    append(run.resolve("events.jsonl"), json(test(30, 70)));
    assertEquals(3, tests(curves("saved")), "events after the last write count");
  }

  @Test
  void shouldShowTheMetricOfOtherLosses() throws IOException {
    Path run = finished("values", START);
    write(
        run.resolve("summary.json"),
        "{\"state\": \"finished\", \"rmse\": 0.5, \"loss\": 0.25, \"testSamples\": 9}");

    assertEquals("rmse", row("values").getString("metric"));
    assertEquals(0.5, row("values").getDouble("metricValue"));
    assertFalse(row("values").containsKey("accuracy"));
  }

  @Test
  void shouldSayOnHowManySamplesARunWasTested() throws IOException {
    Path run = finished("part", START);
    write(
        run.resolve("summary.json"),
        "{\"accuracy\": 99.5, \"testSamples\": 9, \"wholeTestSet\": false}");

    assertEquals(9, row("part").getInteger("testSamples"));
    assertEquals(false, row("part").getBoolean("wholeTestSet"));
    assertEquals(100, rowOfLastTest().getInteger("testSamples"));
    List<JsonObject> rows = runs.rows();
    assertEquals(2, rows.stream().filter(row -> row.containsKey("comparable")).count());
    assertEquals(1, rows.stream().filter(row -> row.containsKey("rank")).count());
  }

  private JsonObject rowOfLastTest() throws IOException {
    Path run = unfinished("killed");
    JsonObject row = row("killed");
    new RunDirectory(run).delete();
    return row;
  }

  @Test
  void shouldShowTheShareOfAStreamInPercent() throws IOException {
    Path run = finished("stream", START);
    write(
        run.resolve("summary.json"),
        "{\"state\": \"finished\", \"stream\": {\"events\": 9, \"accuracy\": 0.919}}");

    assertEquals(91.9, row("stream").getDouble("accuracy"), 1e-9);
  }

  @Test
  void shouldSayHowARunWithoutASummaryEnded() throws IOException {
    unfinished("killed");
    append(unfinished("failed").resolve("events.jsonl"), json(new JobFailed(START, "no workers")));
    append(unfinished("stopped").resolve("events.jsonl"), json(new JobStopped(START, "enough")));

    assertEquals("broke off", row("killed").getString("state"));
    assertEquals("failed", row("failed").getString("state"));
    assertEquals("no workers", row("failed").getString("reason"));
    assertEquals("stopped", row("stopped").getString("state"));
    JsonObject killed = row("killed");
    assertEquals(20, killed.getLong("version"));
    assertEquals(2_560, killed.getLong("samples"));
    assertEquals(60.0, killed.getDouble("accuracy"));
    assertEquals(1.5, killed.getDouble("trainingLoss"));
    assertEquals(2.0, killed.getDouble("seconds"));
    assertFalse(killed.containsKey("problem"), killed.encode());
  }

  @Test
  void shouldFollowARunThatGoesOn() throws IOException {
    Path run = unfinished("live");
    RunLock lock = RunLock.take(new RunDirectory(run));
    try (lock) {
      JsonObject first = row("live");
      assertEquals("running", first.getString("state"));
      assertFalse(first.containsKey("page"));
      assertEquals(1, tests(curves("live")));

      lock.show("http://127.0.0.1:8350/");
      append(run.resolve("events.jsonl"), json(test(30, 70)));

      JsonObject second = row("live");
      assertEquals("http://127.0.0.1:8350/", second.getString("page"));
      assertEquals(70.0, second.getDouble("accuracy"));
      assertNotEquals(first.getLong("changed"), second.getLong("changed"));
      assertEquals(2, tests(curves("live")));
    }
    assertEquals("broke off", row("live").getString("state"));
    assertFalse(row("live").containsKey("page"));
  }

  @Test
  void shouldListTheNewestFirstAndOnlyFoldersOfRuns() throws IOException {
    finished("newest", START + 2);
    finished("newer", START + 1);
    Files.createDirectory(folder.resolve("empty"));
    Files.createDirectories(folder.resolve("other/logs"));
    write(folder.resolve("summary.json"), "{}");
    Path elsewhere = Files.createDirectories(folder.resolve("other/elsewhere"));
    write(elsewhere.resolve("summary.json"), "{}");
    Files.createSymbolicLink(folder.resolve("link"), elsewhere);

    assertEquals(List.of("newest", "newer", "good"), names());
    assertEquals(List.of(), new RunList(folder.resolve("missing")).rows());
  }

  @Test
  void shouldSayStoppedEarlyWhenASweepLetsATrialGoNoFurther() throws IOException {
    Path trial = finished("trial", START + 1);
    JsonObject summary = new JsonObject(Files.readString(trial.resolve("summary.json")));
    write(trial.resolve("summary.json"), summary.put("state", "interrupted").encode());
    long version = summary.getLong("version");

    write(trial.resolve("sweep.json"), sweep(version, STEPS));
    assertEquals("stopped early", row("trial").getString("state"));
    FileTime written = Files.getLastModifiedTime(trial.resolve("sweep.json"));
    write(trial.resolve("sweep.json"), sweep(version + 1, STEPS));
    Files.setLastModifiedTime(trial.resolve("sweep.json"), written);
    assertEquals("interrupted", row("trial").getString("state"), "it was told to go on");
    write(trial.resolve("sweep.json"), "{\"steps\": \"many\"}");
    assertEquals("interrupted", row("trial").getString("state"));

    // Two workers without rounds: two versions a step.
    JobStarted async = new JobStarted(START, "async", 2, 1, 1_960, STEPS, 2 * STEPS);
    write(trial.resolve("events.jsonl"), json(async));
    write(trial.resolve("sweep.json"), sweep(version, STEPS));
    assertEquals("interrupted", row("trial").getString("state"), "half way");
    write(trial.resolve("sweep.json"), sweep(version / 2, STEPS));
    assertEquals("stopped early", row("trial").getString("state"));
  }

  private static String sweep(long steps, long most) {
    return JsonObject.of("sweep", "digits", "trial", 3, "steps", steps, "most", most).encode();
  }

  @Test
  void shouldForgetARunThatVanishes() throws IOException {
    Path run = finished("brief", START + 1);
    assertEquals(List.of("brief", "good"), names());

    new RunDirectory(run).delete();

    assertEquals(List.of("good"), names());
    assertEquals("there is no run brief in " + folder, curves("brief").getString("problem"));
  }

  @Test
  void shouldListTheOthersWhileARunVanishes() throws Exception {
    AtomicBoolean ends = new AtomicBoolean();
    CompletableFuture<Void> vanishing =
        CompletableFuture.runAsync(
            () -> {
              while (!ends.get()) {
                makeAndDelete("brief");
              }
            });
    try {
      for (int i = 0; i < 200; i++) {
        assertTrue(names().contains("good"));
        assertEquals("brief", curves("brief").getString("name"));
      }
    } finally {
      ends.set(true);
      vanishing.get(20, TimeUnit.SECONDS);
    }
  }

  private void makeAndDelete(String name) {
    try {
      new RunDirectory(finished(name, START)).delete();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ".", "..", "../good", "good/", "a/b", "/etc", "no\0ne", ".hidden"})
  void shouldFindNoRunOutsideItsFolder(String name) throws IOException {
    finished(".hidden", START);
    // The folder looks like a run after train --run-dir with its name.
    write(folder.resolve("job.json"), "{}");

    boolean found = runs.find(name).isPresent();

    assertEquals(name.equals("good/"), found);
  }

  @Test
  void shouldKeepTagsAndANoteAndWhatItDoesNotKnow() throws IOException {
    Path notes = folder.resolve("good/notes.json");
    write(notes, "{\"later\": 1, \"note\": \"old\"}");

    JsonObject now =
        runs.annotate("good", JsonObject.of("tags", JsonArray.of("a", " b ", "a"), "kept", true));

    assertEquals(JsonObject.of("tags", JsonArray.of("a", "b"), "note", "old", "kept", true), now);
    assertEquals(1, new JsonObject(Files.readString(notes)).getInteger("later"));
    assertEquals("old", row("good").getString("note"));
    assertEquals(JsonArray.of("a", "b"), row("good").getJsonArray("tags"));
    assertEquals(
        new JsonObject(),
        runs.annotate("good", JsonObject.of("tags", new JsonArray(), "note", "", "kept", false)));
    assertThrows(
        NoSuchElementException.class, () -> runs.annotate("none", JsonObject.of("note", "x")));
  }

  static Stream<Map.Entry<String, Object>> wrongChanges() {
    return Stream.of(
        Map.entry("note", "x".repeat(4_001)),
        Map.entry("note", 5),
        Map.entry("note", "a\u001b[2Jb"),
        Map.entry("label", "x".repeat(61)),
        Map.entry("label", "a\nb"),
        Map.entry("label", 5),
        Map.entry("tags", JsonArray.of("x".repeat(41))),
        Map.entry("tags", JsonArray.of("a\nb")),
        Map.entry("tags", JsonArray.of("")),
        Map.entry("tags", JsonArray.of(1)),
        Map.entry(
            "tags",
            new JsonArray(Stream.iterate(0, i -> i + 1).limit(17).map(i -> "t" + i).toList())),
        Map.entry("tags", "a"),
        Map.entry("kept", "yes"),
        Map.entry("state", "finished"));
  }

  @ParameterizedTest
  @MethodSource("wrongChanges")
  void shouldRefuseNotesBeyondTheirLimits(Map.Entry<String, Object> change) {
    JsonObject json = JsonObject.of(change.getKey(), change.getValue());

    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> runs.annotate("good", json));

    assertTrue(refused.getMessage().contains("expected "), refused.getMessage());
    assertTrue(Files.notExists(folder.resolve("good/notes.json")));
  }

  @Test
  void shouldNotFollowALinkInTheFolderOfARun() throws Exception {
    Path other = folder.resolve("other");
    write(other, "mine");
    for (String name : List.of("notes.json.unfinished", "notes.json")) {
      Files.createSymbolicLink(folder.resolve("good").resolve(name), other);
      if (name.endsWith("unfinished")) {
        runs.annotate("good", JsonObject.of("note", "x"));
        assertTrue(Files.isRegularFile(folder.resolve("good/notes.json"), NOFOLLOW_LINKS));
        Files.delete(folder.resolve("good/notes.json"));
      } else {
        RuntimeException refused =
            assertThrows(
                RuntimeException.class, () -> runs.annotate("good", JsonObject.of("note", "y")));
        assertEquals("notes.json is a link, which is not followed", refused.getMessage());
      }
      assertEquals("mine", Files.readString(other));
    }
    Path events = folder.resolve("good/events.jsonl");
    Files.move(events, folder.resolve("events"));
    Files.createSymbolicLink(events, folder.resolve("events"));
    assertEquals(
        "events.jsonl is a link, which is not followed: there are no curves",
        curves("good").getString("problem"));
  }

  @Test
  void shouldGiveTheListAsCsvWithoutFormulas() throws IOException {
    finished("=1+1", START + 1);
    finished("archived", START + 2);
    Files.writeString(
        folder.resolve("good").resolve("job.json"),
        "{\"workers\": {\"count\": 3, \"batch\": -5}, \"model\": {\"name\": \"@x\"}}");
    runs.annotate("=1+1", JsonObject.of("label", "the sum"));
    runs.annotate("good", JsonObject.of("note", "two\nlines, and \"more\""));
    runs.annotate("archived", JsonObject.of("archived", true).put("tags", List.of("-a", "b")));

    List<String> lines = List.of(runs.csv(false).toString().split("\r\n"));
    List<String> all = List.of(runs.csv(true).toString().split("\r\n"));

    assertTrue(lines.get(0).startsWith("run,name,state,begun,accuracy,"), lines.get(0));
    assertFalse(lines.get(0).contains("archived"), lines.get(0));
    assertTrue(lines.get(0).contains(",workers.batch,"), lines.get(0));
    assertEquals(3, lines.size(), lines.toString());
    assertTrue(lines.get(1).startsWith("'=1+1,the sum,finished,"), lines.get(1));
    assertTrue(lines.get(2).contains(",\"two\nlines, and \"\"more\"\"\","), lines.get(2));
    assertTrue(lines.get(2).contains(",-5,"), "a number is no formula: " + lines.get(2));
    assertTrue(lines.get(2).contains(",'@x,"), lines.get(2));
    assertEquals(4, all.size());
    assertTrue(all.get(1).endsWith(",true"), all.get(1));
    assertTrue(all.get(1).contains(",\"'-a, b\","), all.get(1));
  }

  @Test
  void shouldDeleteARunByTheRulesOfTheCommand() throws IOException {
    RunDirectory run = new RunDirectory(folder.resolve("good"));
    RunLock lock = RunLock.take(run);
    try (lock) {
      String goesOn = assertThrows(InputException.class, () -> runs.delete("good")).getMessage();
      assertTrue(goesOn.endsWith(" runs it; end that one first"), goesOn);
    }
    runs.annotate("good", JsonObject.of("kept", true));
    String kept = assertThrows(InputException.class, () -> runs.delete("good")).getMessage();
    assertTrue(kept.contains("is kept"), kept);
    assertThrows(NoSuchElementException.class, () -> runs.delete("../good"));
    runs.annotate("good", JsonObject.of("kept", false));

    assertTrue(runs.delete("good").getLong("bytes") > 0);

    assertFalse(Files.exists(run.path()));
    assertEquals(List.of(), runs.rows());
    assertEquals("run\r\n", runs.csv(true).toString());
  }

  @Test
  void shouldNotReplaceDamagedNotes() throws IOException {
    write(folder.resolve("good/notes.json"), "{\"note\": \"half");

    assertThrows(RuntimeException.class, () -> runs.annotate("good", JsonObject.of("note", "x")));

    assertEquals("{\"note\": \"half", Files.readString(folder.resolve("good/notes.json")));
  }

  private JsonObject row(String name) {
    return runs.rows().stream()
        .filter(row -> row.getString("name").equals(name))
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " is not listed"));
  }

  private List<String> names() {
    return runs.rows().stream().map(row -> row.getString("name")).toList();
  }

  private JsonObject curves(String name) {
    return new JsonObject(runs.curves(name, () -> false));
  }

  private static int tests(JsonObject curves) {
    return curves.getJsonObject("tests").getJsonArray("loss").size();
  }

  private Path finished(String name, long begun) throws IOException {
    Path run = unfinished(name);
    JsonObject summary =
        JsonObject.of("state", "finished", "strategy", "sync", "version", 20, "samples", 2_560)
            .put("accuracy", 95.5)
            .put("loss", 0.25)
            .put("testSamples", 100)
            .put("parametersHash", "0123456789abcdef")
            .put("engine", JsonObject.of("name", "dl4j", "device", "cpu"));
    write(run.resolve("summary.json"), summary.encode());
    write(
        run.resolve("events.jsonl"),
        json(new JobStarted(begun, "sync", 2, 1, 1_960, STEPS, STEPS))
            + json(test(10, 50))
            + json(test(20, 60)));
    return run;
  }

  /** Makes the folder of a run that has reached version 20 within two seconds. */
  private Path unfinished(String name) throws IOException {
    Path run = Files.createDirectory(folder.resolve(name));
    JsonObject job =
        JsonObject.of("job", "story", "cluster", JsonObject.of("port", 1), "resolved", 2)
            .put("model", JsonObject.of("name", "mlp", "hidden", JsonArray.of(128, 64)))
            .put("data", JsonObject.of("name", "digits"))
            .put(
                "optimizer",
                JsonObject.of("learningRate", 0.01, "schedule", JsonObject.of("name", "cosine")))
            .put("workers", JsonObject.of("count", 2));
    write(run.resolve("job.json"), job.encode());
    write(
        run.resolve("events.jsonl"),
        json(new JobStarted(START, "sync", 2, 1, 1_960, 200, 200))
            + json(report(0, 1.0))
            + json(report(1, 2.0))
            + json(new ServerProgress(START + 2_000, 0, 0, 20, 2_560, 40, 0, 0, 0, 0))
            + json(test(20, 60)));
    return run;
  }

  private static WorkerProgress report(int rank, double loss) {
    return new WorkerProgress(
        START + 1_900,
        rank,
        0,
        20,
        20,
        0,
        1_280,
        loss,
        50,
        1,
        1,
        1,
        1,
        0,
        1,
        Map.of(),
        Map.of(),
        Map.of());
  }

  private static Evaluated test(long version, double accuracy) {
    return new Evaluated(START + 100 * version, version, 100, 1, accuracy, false, "00");
  }

  private static String json(TrainingEvent event) {
    return event.toJson().encode() + "\n";
  }

  private static void write(Path file, String text) throws IOException {
    Files.writeString(file, text);
  }

  private static void append(Path file, String text) throws IOException {
    Files.writeString(file, text, StandardOpenOption.APPEND);
  }

  private static void folderFor(Path file) throws IOException {
    Files.deleteIfExists(file);
    Files.createDirectory(file);
  }

  private static void pipe(Path file) throws Exception {
    Files.deleteIfExists(file);
    assertEquals(0, new ProcessBuilder("mkfifo", file.toString()).start().waitFor());
  }

  /** Makes a file with a hole, which needs no room on the disk. */
  private static void huge(Path file) throws IOException {
    try (RandomAccessFile hole = new RandomAccessFile(file.toFile(), "rw")) {
      hole.setLength(1L << 40);
    }
  }

  private static byte[] noise() {
    byte[] bytes = new byte[600_000];
    new java.util.Random(5).nextBytes(bytes);
    return bytes;
  }
}
