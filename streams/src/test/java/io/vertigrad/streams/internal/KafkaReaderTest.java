package io.vertigrad.streams.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
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
      assertEquals(1, reader.unmatched(), "nobody asked for k99");
      assertEquals(
          List.of("told/0@2"), reader.strays().stream().map(Event.Original::origin).toList());
      try (EventReader again = open(settings, 0, 1, Optional.of(position))) {
        assertEquals(List.of(7, 2, 3), values(next(again)));
        assertEquals(reader.unlabelled(), again.unlabelled());
        assertEquals(reader.unmatched(), again.unmatched());
        assertEquals(reader.position(), again.position());
      }
    }
  }

  @Test
  void shouldReportTheMissingPart() throws Exception {
    broker.create("narrow", 1);

    assertEquals(
        "topic narrow has 1 partitions for 2 workers: expected at least one for each",
        assertThrows(DataException.class, () -> open(settings("narrow"), 0, 2, Optional.empty()))
            .getMessage());
    broker.send("narrow", List.of(new Record(0, null, "{\"value\": ")));
    try (EventReader reader = open(settings("narrow"), 0, 1, Optional.empty())) {
      // A deletion marker, an empty value and a list.
      broker.send(
          "narrow",
          List.of(new Record(0, null, null), new Record(0, null, ""), new Record(0, null, "[1]")));
      List<Event> events = next(reader);
      List<String> problems = events.stream().map(event -> event.problem().orElseThrow()).toList();
      assertTrue(problems.get(0).startsWith("is no valid JSON"), problems::toString);
      assertTrue(problems.get(1).startsWith("is no JSON object"), problems::toString);
      assertTrue(problems.get(2).startsWith("is no JSON object"), problems::toString);
      assertEquals("narrow/0@2", reader.original(1, events.get(1)).origin());
      assertEquals(
          "topic narrow, partition 0, offset 2", reader.original(1, events.get(1)).place());
    }
  }

  @Test
  void shouldRefuseARecreatedTopic() throws Exception {
    JsonObject position = positionAfterTwoBatches("again", 4);

    broker.delete("again");
    assertTrue(refusal("again", position).startsWith("topic again was deleted at "));

    broker.create("again", 4);
    String other = refusal("again", position);
    assertTrue(other.startsWith("topic again was deleted and created again: its id is "), other);
    assertTrue(other.contains("start a new run with train"), other);
  }

  @Test
  void shouldRefuseFewerPartitionsOrRecordsWhereBrokersGiveNoIds() throws Exception {
    JsonObject position = positionAfterTwoBatches("unnamed", 2).put("topicIds", new JsonObject());

    broker.delete("unnamed");
    broker.create("unnamed", 2);
    String shorter = refusal("unnamed", position);
    assertTrue(
        shorter.startsWith(
            "topic unnamed, partition 0: ends at offset 0, but the run had read it up to offset 3"),
        shorter);
    broker.delete("unnamed");
    broker.create("unnamed", 1);
    String fewer = refusal("unnamed", position);
    assertTrue(
        fewer.startsWith("topic unnamed has 1 partitions, but had 2 when the run read it"), fewer);
  }

  @Test
  void shouldSayThatATopicWasDeletedWhileItWasRead() throws Exception {
    broker.create("going", 1);
    broker.send("going", List.of(new Record(0, null, event(1))));
    try (EventReader reader = open(settings("going"), 0, 1, Optional.empty())) {
      assertTrue(reader.poll(200).isEmpty());
      broker.delete("going");

      DataException gone = assertThrows(DataException.class, () -> next(reader));

      assertTrue(gone.getMessage().startsWith("topic going was deleted at "), gone.getMessage());
    }
  }

  @Test
  void shouldCountOrRefuseRecordsThatTheTopicHasDeleted() throws Exception {
    JsonObject position = positionAfterTwoBatches("short", 1);
    broker.deleteBefore("short", 0, 8);

    String gone = refusal("short", position);
    assertTrue(
        gone.startsWith(
            "topic short, partition 0: begins at offset 8, but the run had read it up to offset 6 only: the topic has deleted the 2 offsets between"),
        gone);
    try (EventReader reader = open(settings("short"), 0, 1, Optional.of(position), true)) {
      broker.send("short", List.of(new Record(0, null, event(20))));
      assertEquals(List.of(8, 9, 20), values(next(reader)));
      assertEquals(2, reader.lost());
      assertTrue(reader.warnings().get(0).endsWith("they count as lost"));
    }
    // What was trained on may be gone: the cursors of its steps say where to go on.
    try (EventReader reader = open(settings("short"), 0, 1, Optional.of(position))) {
      reader.skipTo(new long[] {0, 8, 0});
      assertEquals(List.of(8, 9, 20), values(next(reader)));
      assertEquals(0, reader.lost());
    }
  }

  @Test
  void shouldContinueWithoutWaitingRecordsThatCompactionRemoved() throws Exception {
    broker.createCompacted("kept");
    broker.create("late", 1);
    List<Record> events = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      events.add(new Record(0, "k" + i, "{\"value\": %d}".formatted(i)));
    }
    broker.send("kept", events);
    List<Record> labels = new ArrayList<>();
    for (int i : new int[] {3, 4, 5}) {
      labels.add(new Record(0, "k" + i, "{\"class\": \"a\"}"));
    }
    broker.send("late", labels);
    JsonObject settings = settings("kept").put("labels", new JsonObject().put("topic", "late"));
    JsonObject position;
    try (EventReader reader = open(settings, 0, 1, Optional.empty())) {
      assertEquals(List.of(3, 4, 5), values(next(reader)));
      position = reader.position().orElseThrow();
    }

    // Newer records of two keys; a segment that is written to is not compacted.
    awaitCompaction(
        "kept",
        List.of(new Record(0, "k0", "{\"value\": 100}"), new Record(0, "k1", "{\"value\": 101}")));

    try (EventReader again = open(settings, 0, 1, Optional.of(position))) {
      assertEquals(2, again.lost());
      List<String> warnings = again.warnings();
      assertTrue(
          warnings
              .get(0)
              .startsWith(
                  "topic kept, partition 0: 2 records that waited for their labels are no longer there, the first at offset 0"),
          warnings::toString);
      broker.send(
          "late",
          List.of(
              new Record(0, "k2", "{\"class\": \"a\"}"),
              new Record(0, "k0", "{\"class\": \"b\"}"),
              new Record(0, "k1", "{\"class\": \"b\"}")));
      assertEquals(List.of(2, 100, 101), values(next(again)));
    }
  }

  /** The offsets of aborted records, and that of the end of their transaction, hold no record. */
  @Test
  void shouldRestoreWaitingRecordsBesideAnAbortedTransaction() throws Exception {
    broker.create("mixed", 1);
    broker.create("answers", 1);
    broker.send("mixed", List.of(waiting(0), waiting(1)));
    broker.sendAborted("mixed", List.of(waiting(90), waiting(91)));
    broker.send("mixed", List.of(waiting(2), waiting(3), waiting(4), waiting(5), waiting(6)));
    broker.sendAborted("mixed", List.of(waiting(92)));
    broker.send("answers", List.of(answer(3), answer(1), answer(6)));
    JsonObject settings = settings("mixed").put("labels", new JsonObject().put("topic", "answers"));
    JsonObject position;
    JsonObject begin;
    long[] cursor;
    try (EventReader reader = open(settings, 0, 1, Optional.empty())) {
      begin = reader.position().orElseThrow();
      assertEquals(List.of(3, 1, 6), values(next(reader)));
      position = reader.position().orElseThrow();
      cursor = reader.cursor();
    }

    broker.send("answers", List.of(answer(5), answer(0), answer(2)));

    try (EventReader again = open(settings, 0, 1, Optional.of(position))) {
      assertEquals(List.of(5, 0, 2), values(next(again)));
      assertEquals(0, again.lost());
    }
    try (EventReader again = open(settings, 0, 1, Optional.of(begin))) {
      again.skipTo(cursor);
      assertEquals(List.of(3, 1, 6), values(next(again)));
      assertEquals(List.of(5, 0, 2), values(next(again)));
    }
  }

  @Test
  void shouldNameAnOpenTransactionUntilItEnds() throws Exception {
    broker.create("open", 1);
    broker.send("open", List.of(plain(0), plain(1), plain(2)));
    try (KafkaProducer<String, String> producer =
            broker.sendOpen("open", List.of(plain(3), plain(4)));
        EventReader reader = open(settings("open"), 0, 1, Optional.empty())) {
      broker.send("open", List.of(plain(5), plain(6)));
      assertEquals(List.of(0, 1, 2), values(next(reader)));
      assertEquals("topic open, partition 0 is silent", reader.awaited());

      List<String> warnings = new ArrayList<>();
      for (int i = 0; warnings.isEmpty() && i < 300; i++) {
        assertTrue(reader.poll(200).isEmpty());
        warnings.addAll(reader.warnings());
      }

      String what =
          "topic open, partition 0: 4 records wait behind an open transaction at offset 3";
      assertEquals(what, reader.awaited());
      assertTrue(warnings.get(0).startsWith(what), warnings::toString);
      assertTrue(
          warnings.get(0).endsWith("abort --topic open --partition 0 --start-offset 3"),
          warnings::toString);

      producer.commitTransaction();
      assertEquals(List.of(3, 4, 5), values(next(reader)));
      assertEquals(
          List.of(
              "topic open, partition 0: the transaction at offset 3 has ended, and training goes on"),
          reader.warnings());
      assertEquals("topic open, partition 0 is silent", reader.awaited());
    }
  }

  private static Record plain(int value) {
    return new Record(0, null, event(value));
  }

  private static Record waiting(int number) {
    return new Record(0, "k" + number, "{\"value\": %d}".formatted(number));
  }

  private static Record answer(int number) {
    return new Record(0, "k" + number, "{\"class\": \"a\"}");
  }

  @Test
  void shouldKeepDeadLettersInATopic() throws Exception {
    broker.create("letters", 1);
    KafkaSource.KafkaConfig config =
        KafkaSource.KafkaConfig.read(Settings.of("job.json", settings("letters")));
    try (TopicLetters letters = new TopicLetters(config, "letters", "worker 0")) {
      letters.write(
          new Event.Original("topic x", "x/0@3", "k".getBytes(UTF_8), "{".getBytes(UTF_8)),
          "is cut off");
    }

    try (KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(
            Map.of("bootstrap.servers", broker.servers()),
            new StringDeserializer(),
            new StringDeserializer())) {
      TopicPartition partition = new TopicPartition("letters", 0);
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      ConsumerRecord<String, String> letter =
          consumer.poll(Duration.ofSeconds(30)).iterator().next();
      assertEquals("k", letter.key());
      assertEquals("{", letter.value());
      assertEquals(
          "x/0@3", new String(letter.headers().lastHeader("vertigrad.origin").value(), UTF_8));
      assertEquals(
          "is cut off", new String(letter.headers().lastHeader("vertigrad.reason").value(), UTF_8));
    }
    Duration limit = Duration.ofSeconds(2);
    DataException missing =
        assertThrows(
            DataException.class, () -> new TopicLetters(config, "nowhere", "worker 0", limit));
    assertTrue(missing.getMessage().startsWith("data.deadLetter: topic nowhere is not there"));
  }

  /** Sends records until the first offset of the topic holds no record any more. */
  private static void awaitCompaction(String topic, List<Record> newer) throws Exception {
    broker.send(topic, newer);
    for (int i = 0; i < 300; i++) {
      broker.send(topic, List.of(new Record(0, "other", "{\"value\": 9}")));
      try (EventReader reader = open(settings(topic), 0, 1, Optional.empty())) {
        if (next(reader).get(0).index() > 1) {
          return;
        }
      }
    }
    throw new AssertionError("no compaction");
  }

  private static JsonObject positionAfterTwoBatches(String topic, int partitions) throws Exception {
    broker.create(topic, partitions);
    List<Record> records = new ArrayList<>();
    for (int partition = 0; partition < partitions; partition++) {
      for (int i = 0; i < 10; i++) {
        records.add(new Record(partition, null, event(i)));
      }
    }
    broker.send(topic, records);
    try (EventReader reader = open(settings(topic), 0, 1, Optional.empty())) {
      next(reader);
      next(reader);
      return reader.position().orElseThrow();
    }
  }

  /** Returns why reading from a position does not go on. */
  private static String refusal(String topic, JsonObject position) {
    return assertThrows(
            DataException.class,
            () -> {
              try (EventReader reader = open(settings(topic), 0, 1, Optional.of(position))) {
                next(reader);
              }
            })
        .getMessage();
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
    return open(settings, rank, ranks, position, false);
  }

  private static EventReader open(
      JsonObject settings, int rank, int ranks, Optional<JsonObject> position, boolean goesOn) {
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
                null,
                goesOn),
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
