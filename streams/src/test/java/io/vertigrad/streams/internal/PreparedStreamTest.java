package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.StreamBatches;
import io.vertigrad.compute.data.StreamDataset;
import io.vertigrad.compute.data.StreamDataset.Request;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The batches of a file: which events they hold, and what is known of them after a restart. */
class PreparedStreamTest {

  private static final int EVENTS = 103;
  private static final int BATCH = 4;

  @TempDir Path folder;
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
          file + ": line 11: field \"value\" is \"x\", expected a finite number",
          wrong.getMessage());
    }
  }

  @Test
  void shouldSayThatAFileIsShorterThanTheStepsAskFor() {
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
    EventSchema schema = EventSchema.read(config());
    EndlessReader reader = new EndlessReader();
    Request request =
        new Request("worker 0", 0, 1, BATCH, 0, OptionalLong.empty(), Optional.empty(), null);
    try (StreamBatches batches = new PreparedStream(request, schema, 10, position -> reader)) {
      for (int taken = 0; taken < 2_000; taken++) {
        int ahead = reader.polled.get() - taken;
        // Three batches are ready, and the thread that reads holds one more.
        assertTrue(ahead <= 4, "%d batches ahead of batch %d".formatted(ahead, taken));
        next(batches);
      }
    }
  }

  /** A source that always has another batch. */
  private static final class EndlessReader implements EventReader {

    private final AtomicInteger polled = new AtomicInteger();

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
    return data.open(
        new Request(
            "worker " + rank,
            rank,
            2,
            BATCH,
            step,
            OptionalLong.of(EVENTS),
            kept ? Optional.of(folder.resolve("checkpoints")) : Optional.empty(),
            null));
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
    int width = batch.features().length / batch.count();
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
