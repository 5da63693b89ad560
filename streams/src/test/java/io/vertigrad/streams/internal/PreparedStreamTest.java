package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.StreamBatches;
import io.vertigrad.compute.data.StreamDataset;
import io.vertigrad.compute.data.StreamDataset.Request;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The batches of a file: which events they hold, and what is known of them after a restart. */
class PreparedStreamTest {

  private static final int EVENTS = 103;
  private static final int BATCH = 4;

  @TempDir Path folder;
  private final JsonObject options = new JsonObject();
  private int batch = BATCH;
  private Path file;

  @BeforeEach
  void write() throws IOException {
    StringBuilder text = new StringBuilder("value,class\n");
    for (int i = 0; i < EVENTS; i++) {
      text.append(i).append(',').append(i % 3 == 0 ? "b" : "a").append('\n');
      if (i == 50) {
        text.append("\n");
      }
    }
    file = folder.resolve("events.csv");
    Files.writeString(file, text);
  }

  @Test
  void shouldGiveRanksBatchesThatFollowEachOther() {
    try (StreamBatches first = open(0, 0, false);
        StreamBatches second = open(1, 0, false)) {
      assertArrayEquals(new float[] {0, 1, 2, 3}, values(next(first)));
      assertArrayEquals(new float[] {4, 5, 6, 7}, values(next(second)));
      assertArrayEquals(new float[] {8, 9, 10, 11}, values(next(first)));
      Batch batch = next(second);
      assertArrayEquals(new float[] {12, 13, 14, 15}, values(batch));
      assertArrayEquals(new int[] {1, 0, 0, 1}, batch.labels());
      // The label of event 11, which belongs to the other rank, is a.
      assertArrayEquals(new float[] {12, 1, 0, 13, 0, 1}, first(batch.features(), 6));
    }
  }

  @Test
  void shouldGiveTheSameBatchesFromAnyStepOn() {
    List<float[]> all = new ArrayList<>();
    try (StreamBatches from = open(1, 0, false)) {
      for (int step = 0; step < 13; step++) {
        all.add(next(from).features());
      }
    }
    for (int step = 0; step < 13; step++) {
      try (StreamBatches from = open(1, step, false)) {
        assertArrayEquals(all.get(step), next(from).features());
      }
    }
  }

  @Test
  void shouldContinueItsTestsWhereAnotherProcessEnded() {
    StreamTests undisturbed;
    try (StreamBatches batches = open(0, 0, false)) {
      for (int step = 0; step < 13; step++) {
        next(batches);
      }
      undisturbed = batches.tests();
    }
    for (int step = 0; step < 7; step++) {
      try (StreamBatches batches = open(0, step, true)) {
        next(batches);
      }
    }
    try (StreamBatches again = open(0, 4, true)) {
      for (int step = 4; step < 13; step++) {
        next(again);
      }
      assertEquals(undisturbed, again.tests());
    }
  }

  @Test
  void shouldNameTheLineOfAnEventThatTheSchemaRefuses() throws IOException {
    Files.writeString(file, Files.readString(file).replace("\n9,b", "\nx,b"));

    try (StreamBatches batches = open(0, 0, false)) {
      next(batches);
      DataException wrong = assertThrows(DataException.class, () -> next(batches));
      assertEquals(
          file
              + ": line 11: field \"value\" is \"x\", expected a finite number"
              + "; to go on without it: vertigrad resume RUN --skip "
              + file
              + "@11",
          wrong.getMessage());
    }
    options.put("skip", List.of(file + "@11"));
    try (StreamBatches batches = open(0, 0, false)) {
      next(batches);
      assertArrayEquals(new float[] {8, 10, 11}, values(next(batches)));
    }
  }

  @Test
  void shouldSkipAndCountBadEvents() throws IOException {
    // A field of the wrong form, a line without its second field, an unknown class, no UTF-8.
    Files.writeString(
        file,
        Files.readString(file)
            .replace("\n9,b", "\nx,b")
            .replace("\n10,a", "\n10")
            .replace("\n11,a", "\n11,c"));
    options.put("onBadEvent", "skip");

    StreamTests undisturbed = trained(0);

    assertEquals(3, undisturbed.bad());
    assertEquals(49, undisturbed.events(), "52 events of rank 0, of which 3 were left out");
    for (int step = 0; step < 7; step++) {
      try (StreamBatches batches = open(0, step, true)) {
        next(batches);
      }
    }
    try (StreamBatches again = open(0, 4, true)) {
      assertEquals(3, again.tests().bad());
      for (int step = 4; step < 13; step++) {
        next(again);
      }
      assertEquals(undisturbed, again.tests());
    }
  }

  @Test
  void shouldTakeAnEmptyStepWhenAllEventsOfABatchAreBad() throws IOException {
    Files.writeString(file, Files.readString(file).replaceAll("\n(8|9|10|11),", "\nx,"));
    options.put("onBadEvent", "skip");

    for (int step = 0; step < 3; step++) {
      try (StreamBatches batches = open(0, step, true)) {
        Batch batch = next(batches);
        assertEquals(step == 1 ? 0 : 4, batch.count());
        if (step == 2) {
          assertArrayEquals(new float[] {16, 17, 18, 19}, values(batch));
          assertEquals(4, batches.tests().bad());
        }
      }
    }
    try (StreamBatches other = open(1, 1, false)) {
      float[] features = next(other).features();
      // The label before event 12 is that of event 7, the last one that this rank knows.
      assertArrayEquals(new float[] {12, 1, 0}, first(features, 3));
    }
  }

  @Test
  void shouldKeepEachDeadLetterOnceAfterARestart() throws IOException {
    byte[] bytes =
        Files.readString(file).replace("\n9,b", "\n9,\u0001").getBytes(StandardCharsets.UTF_8);
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = bytes[i] == 1 ? (byte) 0xff : bytes[i];
    }
    Files.write(file, bytes);
    Path letters = folder.resolve("bad.jsonl");
    options.put("onBadEvent", "deadLetter").put("deadLetter", letters.toString());

    trained(0);
    trained(0);
    try (StreamBatches again = open(0, 1, false)) {
      assertEquals(List.of(8f, 10f, 11f), list(values(next(again))));
    }

    List<String> lines = Files.readAllLines(letters);
    assertEquals(1, lines.size(), lines::toString);
    JsonObject letter = new JsonObject(lines.get(0));
    assertEquals(file + "@11", letter.getString("origin"));
    assertTrue(letter.getString("reason").contains("that are no UTF-8"), letter::encode);
    assertArrayEquals(
        new byte[] {'9', ',', (byte) 0xff}, Base64.getDecoder().decode(letter.getString("base64")));
  }

  @Test
  void shouldSkipALineThatIsTooLong() throws IOException {
    Files.writeString(
        file, Files.readString(file).replace("\n9,b", "\n9," + "b".repeat(40_000_000)));
    options.put("onBadEvent", "skip");
    try (StreamBatches batches = open(0, 0, false)) {
      next(batches);
      assertEquals(List.of(8f, 10f, 11f), list(values(next(batches))));
      assertArrayEquals(new float[] {16, 17, 18, 19}, values(next(batches)));
      List<String> warnings = batches.warnings();
      assertEquals(
          List.of(
              file
                  + ": line 11: has more than 16,777,216 bytes, expected lines of events; left"
                  + " out"),
          warnings);
    }
  }

  @Test
  void shouldNameAllBadEventsThatFollowInOneCommand() throws IOException {
    Files.writeString(
        file, Files.readString(file).replace("\n9,b", "\nx,b").replace("\n18,b", "\ny,b"));

    try (StreamBatches batches = open(0, 0, false)) {
      next(batches);
      String wrong = assertThrows(DataException.class, () -> next(batches)).getMessage();
      assertTrue(wrong.contains("; 1 more of the next "), wrong);
      assertTrue(wrong.endsWith("--skip %s@11,%s@20".formatted(file, file)), wrong);
    }
    options.put("skip", List.of("events.csv@11", file + "@20"));
    try (StreamBatches batches = open(0, 0, false)) {
      next(batches);
      assertEquals(3, next(batches).count());
      assertEquals(3, next(batches).count());
      assertEquals(2, batches.tests().bad());
    }
  }

  @Test
  void shouldRefuseAFileThatHasChangedSinceThePositionWasWritten() throws IOException {
    try (StreamBatches batches = open(0, 0, true)) {
      for (int step = 0; step < 5; step++) {
        next(batches);
      }
    }
    String before = Files.readString(file);
    assertTrue(before.contains("\n18,b"), before);
    Files.writeString(file, before.replace("\n18,b", "\n81,b"));

    String other = assertThrows(DataException.class, () -> open(0, 5, true)).getMessage();

    assertTrue(other.startsWith(file + ": step 2 of "), other);
    assertTrue(other.contains("was trained on other events: they end at "), other);
  }

  @Test
  void shouldRefuseAnotherFileButAcceptAGrownOne() throws IOException {
    for (int step = 0; step < 5; step++) {
      try (StreamBatches batches = open(0, step, true)) {
        next(batches);
      }
    }
    String before = Files.readString(file);
    Files.writeString(file, before + "200,a\n");
    try (StreamBatches batches = open(0, 5, true)) {
      assertArrayEquals(new float[] {40, 41, 42, 43}, values(next(batches)));
    }

    List<String> lines = new ArrayList<>(before.lines().toList());
    Collections.reverse(lines.subList(1, lines.size()));
    Files.writeString(file, String.join("\n", lines) + "\n");
    String other = assertThrows(DataException.class, () -> open(0, 5, true)).getMessage();
    assertTrue(other.startsWith(file + ": is another file than the run began with"), other);
    assertTrue(other.endsWith("start a new run with train"), other);
  }

  @Test
  void shouldContinueWhenPositionsCannotBeWritten() throws IOException {
    batch = 1;
    // The journal writes its files under another name first.
    Path blocked = Files.createDirectories(folder.resolve("checkpoints/stream-0.positions.part"));
    try (StreamBatches batches = open(0, 0, true)) {
      next(batches);
      List<String> warnings = batches.warnings();
      assertEquals(1, warnings.size(), warnings::toString);
      assertTrue(
          warnings.get(0).contains("the positions of the stream cannot be written from step 0"));
      assertTrue(warnings.get(0).contains("training goes on"), warnings::toString);
      Files.delete(blocked);
      for (int step = 1; step < 48; step++) {
        next(batches);
      }
      assertTrue(batches.warnings().get(0).endsWith("positions are written again from step 32 on"));
    }
    try (StreamBatches after = open(0, 40, true)) {
      assertEquals(40, after.tests().events());
      assertArrayEquals(new float[] {80}, values(next(after)));
    }
    try (StreamBatches before = open(0, 20, true)) {
      assertArrayEquals(new float[] {40}, values(next(before)), "read again from the beginning");
    }
  }

  @Test
  void shouldKnowTheTestsOfEarlierStepsWithoutReadingAnything() throws IOException {
    StreamTests after;
    try (StreamBatches batches = open(0, 0, true)) {
      for (int step = 0; step < 13; step++) {
        next(batches);
      }
      after = batches.tests();
    }
    StreamDataset data = (StreamDataset) new StreamProvider().open(config(), Split.TRAIN);
    Files.delete(file);

    assertEquals(Optional.of(after), data.recorded(request(0, 13, true)));
    assertEquals(Optional.empty(), data.recorded(request(0, 13, false)));
  }

  /** Takes all batches of a rank, and returns their tests. */
  private StreamTests trained(int rank) {
    try (StreamBatches batches = open(rank, 0, false)) {
      for (int step = 0; step < 13; step++) {
        next(batches);
      }
      return batches.tests();
    }
  }

  private static List<Float> list(float[] values) {
    List<Float> list = new ArrayList<>();
    for (float value : values) {
      list.add(value);
    }
    return list;
  }

  @Test
  void shouldReportAFileThatIsShorterThanItsSteps() {
    StreamDataset data = (StreamDataset) new StreamProvider().open(config(), Split.TRAIN);
    Request request =
        new Request("worker 0", 0, 1, 100, 0, OptionalLong.empty(), Optional.empty(), null);
    try (StreamBatches batches = data.open(request)) {
      next(batches);
      DataException end = assertThrows(DataException.class, () -> next(batches));
      assertTrue(end.getMessage().contains("ends after 103 events"), end.getMessage());
    }
  }

  @Test
  void shouldReadNoMoreThanAFewBatchesAheadOfASlowWorker() {
    EndlessReader reader = new EndlessReader();
    try (StreamBatches batches = prepared(position -> reader)) {
      for (int taken = 0; taken < 2_000; taken++) {
        int ahead = reader.polled.get() - taken;
        // Three batches are ready, and the thread that reads holds one more.
        assertTrue(ahead <= 4, "%d batches ahead of batch %d".formatted(ahead, taken));
        next(batches);
      }
    }
  }

  @Test
  void shouldNameTheSourceThatHasThrownAnError() {
    EndlessReader reader =
        new EndlessReader() {
          @Override
          public Optional<List<Event>> poll(long millis) {
            if (polled.get() == 2) {
              throw new AssertionError("poll 2 is broken");
            }
            return super.poll(millis);
          }
        };
    try (StreamBatches batches = prepared(position -> reader)) {
      next(batches);
      next(batches);

      requireFailure("step 2: java.lang.AssertionError: poll 2 is broken", () -> next(batches));
    }
  }

  @Test
  void shouldNameTheSourceThatCannotBeOpened() {
    requireFailure(
        "step 0: java.lang.IllegalStateException: no",
        () ->
            prepared(
                position -> {
                  throw new IllegalStateException("no");
                }));
  }

  private static void requireFailure(String what, Executable action) {
    ComponentException failure = assertThrows(ComponentException.class, action);
    String expected =
        "source \"endless\" failed at " + what + ", at " + PreparedStreamTest.class.getName();
    assertTrue(failure.getMessage().startsWith(expected), failure::getMessage);
    assertTrue(failure.isPermanent());
  }

  private StreamBatches prepared(Function<Optional<JsonObject>, EventReader> opener) {
    return new PreparedStream(
        new Request("worker 0", 0, 1, BATCH, 0, OptionalLong.empty(), Optional.empty(), null),
        EventSchema.read(config()),
        new BadEvents(
            BadEvents.Config.read(Settings.of("job.json", new JsonObject())), Optional.empty()),
        10,
        "source \"endless\"",
        opener);
  }

  /** A source that always has another batch. */
  private static class EndlessReader implements EventReader {

    final AtomicInteger polled = new AtomicInteger();

    @Override
    public Optional<List<Event>> poll(long millis) {
      polled.incrementAndGet();
      return Optional.of(
          Collections.nCopies(BATCH, new Event(0, 0, true, new Object[] {1.0, "a"})));
    }

    @Override
    public Optional<JsonObject> position() {
      return Optional.empty();
    }

    @Override
    public String place(Event event) {
      return name();
    }

    @Override
    public String name() {
      return "endless";
    }

    @Override
    public void close() {}
  }

  private StreamBatches open(int rank, long step, boolean kept) {
    StreamDataset data = (StreamDataset) new StreamProvider().open(config(), Split.TRAIN);
    return data.open(request(rank, step, kept));
  }

  private Request request(int rank, long step, boolean kept) {
    return new Request(
        "worker " + rank,
        rank,
        2,
        batch,
        step,
        OptionalLong.of(EVENTS),
        kept ? Optional.of(folder.resolve("checkpoints")) : Optional.empty(),
        null);
  }

  private DataConfig config() {
    JsonObject options =
        new JsonObject(
            """
            {"source": {"kind": "file"},
             "schema": {"features": [{"field": "value"}],
                        "label": {"field": "class", "classes": ["a", "b"]}, "lags": 1}}
            """);
    options.getJsonObject("source").put("path", file.toString());
    options.mergeIn(this.options);
    return new DataConfig(
        "stream", Optional.empty(), Optional.empty(), options.getMap(), "job.json");
  }

  /** Takes a batch; the model predicts class 1 for an even value. */
  private static Batch next(StreamBatches batches) {
    assertTrue(batches.await(10_000));
    Batch batch = batches.take();
    float[] outputs = new float[2 * batch.count()];
    float[] values = values(batch);
    for (int i = 0; i < values.length; i++) {
      outputs[2 * i + (values[i] % 2 == 0 ? 1 : 0)] = 1;
    }
    batches.tested(outputs);
    batches.answered(true);
    return batch;
  }

  private static float[] values(Batch batch) {
    int width = batch.features().length / Math.max(1, batch.count());
    float[] values = new float[batch.count()];
    for (int i = 0; i < values.length; i++) {
      values[i] = batch.features()[i * width];
    }
    return values;
  }

  private static float[] first(float[] all, int count) {
    return Arrays.copyOf(all, count);
  }
}
