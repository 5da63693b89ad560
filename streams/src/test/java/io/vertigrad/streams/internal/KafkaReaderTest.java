package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource.Reading;
import io.vertigrad.streams.internal.KafkaBroker.Record;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads from a real broker. */
@Tag("slow")
class KafkaReaderTest {

  @TempDir static Path folder;
  private static KafkaBroker broker;

  @BeforeAll
  static void start() throws Exception {
    broker = KafkaBroker.start(folder);
  }

  @AfterAll
  static void stop() {
    broker.close();
  }

  @Test
  void shouldTakeBatchesFromItsPartitionsInTurn() throws Exception {
    broker.create("turns", 3);
    List<Record> records = new ArrayList<>();
    for (int partition = 0; partition < 3; partition++) {
      for (int i = 0; i < 10; i++) {
        records.add(new Record(partition, null, event(100 * partition + i)));
      }
    }
    broker.send("turns", records);

    try (EventReader reader = open(settings("turns"), 0, 2, Optional.empty())) {
      assertEquals(List.of(0, 1, 2), values(next(reader)));
      assertEquals(List.of(200, 201, 202), values(next(reader)));
      JsonObject position = reader.position().orElseThrow();
      assertEquals(List.of(3, 4, 5), values(next(reader)));
      try (EventReader again =
          open(settings("turns"), 0, 2, Optional.of(new JsonObject(position.encode())))) {
        assertEquals(List.of(3, 4, 5), values(next(again)));
        assertEquals(List.of(203, 204, 205), values(next(again)));
      }
    }
    try (EventReader other = open(settings("turns"), 1, 2, Optional.empty())) {
      assertEquals(List.of(100, 101, 102), values(next(other)));
      next(other);
      next(other);
      assertTrue(other.poll(200).isEmpty(), "one event is no batch");
      broker.send(
          "turns", List.of(new Record(1, null, event(110)), new Record(1, null, event(111))));
      assertEquals(List.of(109, 110, 111), values(next(other)));
    }
  }

  @Test
  void shouldJoinLabelsThatComeLater() throws Exception {
    broker.create("asked", 1);
    broker.create("told", 1);
    List<Record> events = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      events.add(new Record(0, "k" + i, "{\"value\": %d}".formatted(i)));
    }
    broker.send("asked", events);
    List<Record> labels = new ArrayList<>();
    for (int i : new int[] {5, 1, 99, 0, 7, 2}) {
      labels.add(new Record(0, "k" + i, "{\"class\": \"a\"}"));
    }
    broker.send("told", labels);
    // An event that is later than the label without an event.
    broker.send("asked", List.of(new Record(0, "k8", "{\"value\": 8}")));
    JsonObject settings =
        settings("asked").put("labels", new JsonObject().put("topic", "told").put("most", 7));

    try (EventReader reader = open(settings, 0, 1, Optional.empty())) {
      assertEquals(List.of(5, 1, 0), values(next(reader)));
      JsonObject position = reader.position().orElseThrow();
      broker.send("told", List.of(new Record(0, "k3", "{\"class\": \"b\"}")));
      List<Event> second = next(reader);
      assertEquals(List.of(7, 2, 3), values(second));
      assertEquals("b", second.get(2).values()[1]);
      try (EventReader again = open(settings, 0, 1, Optional.of(position))) {
        assertEquals(List.of(7, 2, 3), values(next(again)));
        assertEquals(reader.unlabelled(), again.unlabelled());
        assertEquals(reader.position(), again.position());
      }
    }
  }

  @Test
  void shouldSayWhatIsMissing() throws Exception {
    broker.create("narrow", 1);

    assertEquals(
        "topic narrow has 1 partitions for 2 workers: expected at least one for each",
        assertThrows(DataException.class, () -> open(settings("narrow"), 0, 2, Optional.empty()))
            .getMessage());
    broker.send("narrow", List.of(new Record(0, null, "{\"value\": ")));
    try (EventReader reader = open(settings("narrow"), 0, 1, Optional.empty())) {
      String message = assertThrows(DataException.class, () -> next(reader)).getMessage();
      assertTrue(
          message.startsWith("topic narrow, partition 0, offset 0: is no valid JSON"), message);
    }
  }

  private static String event(int value) {
    return "{\"value\": %d, \"class\": \"a\"}".formatted(value);
  }

  private static JsonObject settings(String topic) {
    return new JsonObject()
        .put("kind", "kafka")
        .put("servers", broker.servers())
        .put("topic", topic);
  }

  private static EventReader open(
      JsonObject settings, int rank, int ranks, Optional<JsonObject> position) {
    return new KafkaSource()
        .open(
            Settings.of("job.json", settings),
            new Reading(
                "worker " + rank,
                rank,
                ranks,
                3,
                1,
                OptionalLong.empty(),
                List.of("value", "class"),
                null),
            position);
  }

  private static List<Event> next(EventReader reader) {
    for (int i = 0; i < 100; i++) {
      Optional<List<Event>> events = reader.poll(200);
      if (events.isPresent()) {
        return events.get();
      }
    }
    throw new AssertionError("no batch");
  }

  private static List<Integer> values(List<Event> events) {
    return events.stream().map(event -> ((Number) event.values()[0]).intValue()).toList();
  }
}
