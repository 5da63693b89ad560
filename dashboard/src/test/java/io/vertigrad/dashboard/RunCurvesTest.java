package io.vertigrad.dashboard;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RunCurvesTest {

  private static final long MOST_BYTES = 1 << 24;

  @TempDir private Path folder;

  @Test
  void shouldReportTheMeanLossOfWorkersAndOfTests() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.addAll(RunStory.after(1));
    events.addAll(RunStory.after(2));

    JsonObject curves = curves(events);

    assertEquals(RunStory.START, curves.getLong("startedMillis"));
    JsonObject training = curves.getJsonObject("training");
    assertEquals(JsonArray.of(1L, 2L), training.getJsonArray("version"));
    assertEquals(JsonArray.of(2f, 1f), training.getJsonArray("loss"));
    JsonObject tests = curves.getJsonObject("tests");
    assertEquals(JsonArray.of(1L, 2L), tests.getJsonArray("version"));
    assertEquals(JsonArray.of(1.0, 0.5), tests.getJsonArray("loss"));
    assertEquals(JsonArray.of(99.0, 99.5), tests.getJsonArray("accuracy"));
  }

  @Test
  void shouldStartASegmentAfterAPauseOrASilence() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int tenths : new int[] {1, 2, 3, 4, 5}) {
      events.addAll(RunStory.after(tenths));
    }
    events.add(new JobPaused(RunStory.START + 510));
    events.add(new JobResumed(RunStory.START + 590, 80));
    events.addAll(RunStory.after(6));
    events.addAll(RunStory.after(7));
    events.addAll(RunStory.after(200));

    JsonObject curves = curves(events);

    assertEquals(
        "[0,0,0,0,0,1,1,2]", curves.getJsonObject("training").getJsonArray("segment").encode());
    assertEquals(
        "[0,0,0,0,0,1,1,1]", curves.getJsonObject("tests").getJsonArray("segment").encode());
  }

  @Test
  @Tag("slow")
  void shouldSkipWorkersWithoutALossAndStayBounded() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(
        new WorkerProgress(
            9, 0, 0, 5, 5, 0, 0, 0, Double.NaN, 1, 0, 0, 9, 0, 9, Map.of(), Map.of(), Map.of()));
    assertEquals(0, size(curves(events)));

    for (int i = 1; i <= 2_000; i++) {
      events.addAll(RunStory.after(i));
    }
    int size = size(curves(events));
    assertTrue(size > Curve.CAPACITY / 2 && size <= Curve.CAPACITY, "" + size);
  }

  @Test
  void shouldSkipDamagedLinesAndReadTheOthers() throws IOException {
    List<String> lines = new ArrayList<>(lines(RunStory.beginning()));
    lines.add("\u0000\u0001\ufffd");
    lines.addAll(lines(RunStory.after(1)));
    lines.add("x".repeat(600_000));
    lines.add("{\"type\":\"workerProgress\",\"timeMillis\":" + "9".repeat(300_000) + "}");
    lines.add("{\"type\":\"evaluated\",\"timeMillis\":5,\"vers");
    lines.add("");
    lines.addAll(lines(RunStory.after(2)));
    Path file = folder.resolve("events.jsonl");
    Files.writeString(file, String.join("\n", lines) + "\n{\"type\":\"evaluated\",\"time");

    JsonObject curves = read(file).toJson();

    assertEquals(JsonArray.of(1L, 2L), curves.getJsonObject("training").getJsonArray("version"));
    assertEquals(JsonArray.of(1.0, 0.5), curves.getJsonObject("tests").getJsonArray("loss"));
  }

  @Test
  void shouldReadWhatOtherLossesMeasure() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(new Evaluated(5, 1, 10, 0.25, 0, 0, 0, false, "00", "rmse", 0.5, List.of()));
    events.add(
        new Evaluated(6, 2, 10, Double.NaN, 0, 0, 0, false, "00", "rmse", Double.NaN, List.of()));
    events.add(new Evaluated(7, 3, 0, 1, 1, 0, 0, false, "00", "rmse", 1, List.of()));

    JsonObject tests = curves(events).getJsonObject("tests");

    assertEquals("[0.25,null]", tests.getJsonArray("loss").encode());
    assertEquals("[\"rmse\",null]", tests.getJsonArray("metric").encode());
    assertEquals("[0.5,null]", tests.getJsonArray("metricValue").encode());
  }

  @Test
  void shouldReadTheTestsOfAStreamInPercentOrInTheirUnit() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.addAll(RunStory.after(1).subList(0, 1));
    events.add(new StreamTested(RunStory.START + 100, 0, 0, streamed(false, 50, 40)));
    events.add(new StreamTested(RunStory.START + 200, 1, 0, streamed(false, 50, 50)));

    JsonObject tests = curves(events).getJsonObject("tests");

    assertEquals("[80.0,90.0]", tests.getJsonArray("accuracy").encode());
    assertEquals("[1,1]", tests.getJsonArray("version").encode());
    assertEquals("[null,null]", tests.getJsonArray("loss").encode());
    JsonObject values =
        curves(List.of(new StreamTested(RunStory.START, 0, 0, streamed(true, 4, 4 * 2.5e9))))
            .getJsonObject("tests");
    assertEquals("[\"rmse\"]", values.getJsonArray("metric").encode());
    assertEquals("[50000.0]", values.getJsonArray("metricValue").encode());
  }

  private static StreamTests streamed(boolean values, long events, double score) {
    return new StreamTests(values, events, score, 10, 7, 3, 2, Map.of(), Map.of(), 0, 0, 0, 0);
  }

  @Test
  void shouldDropEverySecondTestWhenThereAreMany() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int i = 1; i <= 2_500; i++) {
      events.add(new Evaluated(i, i, 10, i, 50, false, "00"));
    }

    JsonArray versions = curves(events).getJsonObject("tests").getJsonArray("version");

    assertTrue(versions.size() > 500 && versions.size() <= 1_000, "" + versions.size());
    assertEquals(2_500L, versions.getLong(versions.size() - 1));
  }

  @Test
  void shouldReadScalars() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(new ScalarReported(5, "worker 0", "cut", 7, -1.25e-7, 3, 0));
    events.add(new ScalarReported(6, "worker 0", "cut", 8, Double.NaN, 4, 1));
    events.add(new ScalarReported(7, "worker 0", "cut", 9, 123_456_789_012.5, 5, 1));

    JsonObject source =
        curves(events).getJsonObject("scalars").getJsonObject("cut").getJsonObject("worker 0");

    assertEquals(JsonArray.of(5L, 7L), source.getJsonArray("timeMillis"));
    assertEquals(JsonArray.of(7L, 9L), source.getJsonArray("version"));
    assertEquals(JsonArray.of(-1.25e-7f, (float) 123_456_789_012.5), source.getJsonArray("value"));
    assertEquals(JsonArray.of(0L, 1L), source.getJsonArray("segment"));
    assertEquals(5, source.getLong("reports"));
    assertEquals(1, source.getLong("notFinite"));
  }

  @Test
  void shouldHaveTheSameCurvesWhenTheyWereSavedAfterAnyEvent() throws IOException {
    List<TrainingEvent> events = story();
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));
    String expected = read(file).toJson().encode();

    for (int written = 0; written <= events.size(); written++) {
      save(events.subList(0, written));

      RunCurves curves = read(file);

      assertTrue(curves.wereSaved());
      assertEquals(expected, curves.toJson().encode(), "after %s events".formatted(written));
    }
  }

  @Test
  void shouldReadOnlyTheEventsAfterSavedCurves() throws IOException {
    List<TrainingEvent> events = story();
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));
    String expected = read(file).toJson().encode();
    long bytes = save(events.subList(0, 40));

    // What was read before is not looked at again.
    byte[] damaged = Files.readAllBytes(file);
    Arrays.fill(damaged, 0, (int) bytes - 1, (byte) 'x');
    Files.write(file, damaged);

    assertEquals(expected, read(file).toJson().encode());
  }

  @Test
  void shouldStayBoundedWhenSavedCurvesAreFull() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int i = 1; i <= 1_500; i++) {
      events.add(new Evaluated(RunStory.START + i, i, 10, i, 50, false, "00"));
      events.add(RunStory.progress(RunStory.START + 100L * i, 0, 0, i));
    }
    save(events);
    for (int i = 1_501; i <= 3_000; i++) {
      events.add(new Evaluated(RunStory.START + i, i, 10, i, 50, false, "00"));
      events.add(RunStory.progress(RunStory.START + 100L * i, 0, 0, i));
    }
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));

    JsonObject curves = read(file).toJson();

    for (String part : List.of("training", "tests")) {
      JsonArray versions = curves.getJsonObject(part).getJsonArray("version");
      int most = part.equals("tests") ? TestCurve.CAPACITY : Curve.CAPACITY;
      assertTrue(versions.size() > most / 2 && versions.size() <= most, "" + versions.size());
      assertTrue(versions.getLong(0) < 20, versions.encode());
      for (int i = 1; i < versions.size(); i++) {
        assertTrue(versions.getLong(i) > versions.getLong(i - 1), "order at " + i);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[1]",
        "{\"schema\": 1, \"eventBytes\": 0}",
        "{\"schema\": 2, \"eventBytes\": 0, ",
        "{\"schema\": 1, \"eventBytes\": 1000000000, ",
        "{\"schema\": 1, \"eventBytes\": -1, "
      })
  void shouldReadAllEventsWhenSavedCurvesAreDamagedOrOfOthers(String begin) throws IOException {
    List<TrainingEvent> events = story();
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));
    String expected = read(file).toJson().encode();
    save(events);
    Path saved = folder.resolve("curves.json");
    String rest = Files.readString(saved).replaceFirst("\\{\"schema\":1,\"eventBytes\":\\d+,", "");
    Files.writeString(saved, begin.endsWith(" ") ? begin + rest : begin);

    RunCurves curves = read(file);

    assertFalse(curves.wereSaved());
    assertEquals(expected, curves.toJson().encode());
  }

  @Test
  void shouldHaveTheFigureOfEachTestAndTheLastValueOfEachScalar() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(new Evaluated(5, 1, 10, 0.25, 40, false, "00"));
    events.add(new Evaluated(6, 2, 10, 0.25, 50, false, "00"));
    events.add(new ScalarReported(7, "worker 0", "cut", 1, 5, 1, 0));
    events.add(new ScalarReported(8, "worker 0", "cut", 2, 1, 2, 0));
    events.add(new ScalarReported(9, "worker 1", "cut", 2, 2, 1, 0));
    events.add(new ScalarReported(9, "worker 0", "far", 2, Double.NaN, 1, 1));
    Files.write(folder.resolve("events.jsonl"), lines(events));
    save(events);

    RunCurves curves = read(folder.resolve("events.jsonl"));

    assertTrue(curves.wereSaved());
    assertEquals(Metric.ACCURACY, curves.metric());
    assertEquals(Map.of(1L, 40.0, 2L, 50.0), curves.figures());
    assertEquals(Map.of("cut", 1.5, "far", Double.NaN), curves.lastScalars());
  }

  /** Returns a story with every kind of event that has a part in the curves. */
  private static List<TrainingEvent> story() {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int tenths = 1; tenths < 6; tenths++) {
      events.addAll(RunStory.after(tenths));
      long now = RunStory.START + 100 * tenths;
      double value = tenths == 3 ? Double.NaN : 1.5 * tenths;
      events.add(new ScalarReported(now, "worker 0", "cut", tenths, value, tenths, 0));
      events.add(new StreamTested(now, tenths % 2, 0, streamed(false, 10 * tenths, 3 * tenths)));
    }
    events.add(new JobPaused(RunStory.START + 510));
    events.add(new JobResumed(RunStory.START + 590, 80));
    events.addAll(RunStory.after(6));
    events.add(new MemberJoined(RunStory.START + 650, Role.EVALUATOR, 0, 1, "b pid 9", ""));
    events.add(
        new Evaluated(
            RunStory.START + 660, 6, 9, Double.NaN, 0, 0, 0, false, "", "rmse", 2, List.of()));
    events.addAll(RunStory.after(7));
    return events;
  }

  /** Writes the curves of these events; returns the length of the file of events until then. */
  private long save(List<TrainingEvent> events) throws IOException {
    RunCurves curves = new RunCurves();
    events.forEach(curves::apply);
    long bytes = lines(events).stream().mapToLong(line -> line.getBytes(UTF_8).length + 1).sum();
    Files.writeString(folder.resolve("curves.json"), curves.save(bytes).encode());
    return bytes;
  }

  /** Whatever the file beside them holds: the limit is for what has to be read. */
  @Test
  void shouldRefuseMoreEventsThanTheLimitWhenSavedCurvesAreDamaged() throws IOException {
    List<TrainingEvent> events = story();
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));
    long bytes = save(events);
    Path saved = folder.resolve("curves.json");

    assertTrue(RunCurves.read(saved, file, 0, () -> false).wereSaved());
    Files.writeString(saved, "{");
    IOException refused =
        assertThrows(IOException.class, () -> RunCurves.read(saved, file, bytes - 1, () -> false));

    assertEquals(
        String.format(Locale.ROOT, "has %,d bytes, expected at most %,d", bytes, bytes - 1),
        refused.getMessage());
    assertFalse(RunCurves.read(saved, file, bytes, () -> false).wereSaved());
  }

  private static int size(JsonObject curves) {
    return curves.getJsonObject("training").getJsonArray("loss").size();
  }

  private JsonObject curves(List<TrainingEvent> events) throws IOException {
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));
    return read(file).toJson();
  }

  private RunCurves read(Path events) throws IOException {
    return RunCurves.read(folder.resolve("curves.json"), events, MOST_BYTES, () -> false);
  }

  private static List<String> lines(List<TrainingEvent> events) {
    return events.stream().map(event -> event.toJson().encode()).toList();
  }
}
