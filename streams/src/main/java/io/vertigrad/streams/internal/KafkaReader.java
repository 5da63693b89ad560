package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource.Reading;
import io.vertigrad.streams.internal.KafkaSource.KafkaConfig;
import io.vertigrad.streams.internal.LabelJoin.Waiting;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads one rank's partitions of a topic: those whose number leaves the rank as remainder. The
 * batches come from them in turn, so which records are in a batch does not depend on when they
 * came. Partitions whose turn it is not are paused, so nothing is read ahead of the training but
 * one fetch for each.
 */
final class KafkaReader implements EventReader {

  private static final Logger LOG = LoggerFactory.getLogger(KafkaReader.class);
  private static final Duration OPENING = Duration.ofSeconds(30);
  private static final Duration CLOSING = Duration.ofSeconds(1);
  private static final int FETCH_BYTES = 1 << 18;

  private final KafkaConfig config;
  private final Reading reading;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final LineFormat format;
  private final Optional<LineFormat> labelFormat;
  private final Map<TopicPartition, Deque<ConsumerRecord<byte[], byte[]>>> fetched =
      new HashMap<>();
  private final Map<TopicPartition, Long> next = new HashMap<>();
  private final List<Lane> lanes = new ArrayList<>();
  private final Deque<Map<TopicPartition, OffsetAndMetadata>> unanswered = new ArrayDeque<>();
  private final int assigned;
  private List<Event> batch = new ArrayList<>();
  private long turn;
  private Set<TopicPartition> flowing = Set.of();

  /** One partition of this rank, and that of the labels that belong to it. */
  private static final class Lane {

    private final TopicPartition events;
    private final Optional<TopicPartition> labels;
    private final Optional<LabelJoin> join;

    Lane(TopicPartition events, Optional<TopicPartition> labels, Optional<LabelJoin> join) {
      this.events = events;
      this.labels = labels;
      this.join = join;
    }
  }

  KafkaReader(KafkaConfig config, Reading reading, Optional<JsonObject> position) {
    this.config = config;
    this.reading = reading;
    List<String> fields = reading.fields();
    boolean joined = config.labels().isPresent();
    Optional<String> key = config.labels().flatMap(LabelConfig::key);
    List<String> own = new ArrayList<>(joined ? fields.subList(0, fields.size() - 1) : fields);
    key.ifPresent(own::add);
    List<String> ofLabel = new ArrayList<>(fields.subList(fields.size() - 1, fields.size()));
    key.ifPresent(ofLabel::add);
    this.format = format(own);
    this.labelFormat = joined ? Optional.of(LineFormat.json(ofLabel)) : Optional.empty();
    this.consumer = consumer();
    try {
      int partitions = partitions(config.topic());
      if (joined && partitions(config.labels().get().place()) != partitions) {
        throw new DataException(
            "topic %s has %d partitions, but %s has %d: expected as many, with the same keys in each"
                .formatted(
                    config.labels().get().place(),
                    partitions(config.labels().get().place()),
                    config.topic(),
                    partitions));
      }
      if (partitions < reading.ranks()) {
        throw new DataException(
            "topic %s has %d partitions for %d workers: expected at least one for each"
                .formatted(config.topic(), partitions, reading.ranks()));
      }
      assigned = position.map(at -> at.getInteger("partitions")).orElse(partitions);
      assign(assigned);
      if (position.isPresent()) {
        seek(position.get());
      } else {
        begin();
      }
    } catch (KafkaException e) {
      consumer.close(CLOSING);
      throw failed(e);
    } catch (RuntimeException e) {
      consumer.close(CLOSING);
      throw e;
    }
  }

  private LineFormat format(List<String> fields) {
    return config.columns().isEmpty()
        ? LineFormat.json(fields)
        : LineFormat.csv(config.columns(), fields, config.separator());
  }

  private KafkaConsumer<byte[], byte[]> consumer() {
    Map<String, Object> properties = new HashMap<>();
    properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    properties.put(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, 4 * FETCH_BYTES);
    properties.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, FETCH_BYTES);
    properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, Math.max(500, reading.batch()));
    properties.put(
        ConsumerConfig.CLIENT_ID_CONFIG, "vertigrad-" + reading.owner().replace(' ', '-'));
    properties.putAll(config.properties());
    config.group().ifPresent(group -> properties.put(ConsumerConfig.GROUP_ID_CONFIG, group));
    properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, config.servers());
    properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      Thread.currentThread().setContextClassLoader(KafkaConsumer.class.getClassLoader());
      return new KafkaConsumer<>(
          properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    } catch (KafkaException e) {
      throw new DataException(
          "%s: %s"
              .formatted(name(), e.getCause() == null ? e.getMessage() : e.getCause().getMessage()),
          e);
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private int partitions(String topic) {
    List<PartitionInfo> found;
    try {
      found = consumer.partitionsFor(topic, OPENING);
    } catch (KafkaException e) {
      throw new DataException(
          "%s: cannot be reached at %s within %d s: %s; expected a running broker and this topic"
              .formatted(name(), config.servers(), OPENING.toSeconds(), e.getMessage()),
          e);
    }
    if (found == null || found.isEmpty()) {
      throw new DataException(
          "%s has no topic %s, expected one: create it before the training"
              .formatted(config.servers(), topic));
    }
    return found.size();
  }

  private void assign(int count) {
    for (int partition = reading.rank(); partition < count; partition += reading.ranks()) {
      int lane = partition;
      lanes.add(
          new Lane(
              new TopicPartition(config.topic(), partition),
              config.labels().map(labels -> new TopicPartition(labels.place(), lane)),
              config.labels().map(labels -> new LabelJoin(lane, labels))));
    }
    Set<TopicPartition> all = new HashSet<>();
    for (Lane lane : lanes) {
      all.add(lane.events);
      lane.labels.ifPresent(all::add);
    }
    consumer.assign(all);
    consumer.pause(all);
    all.forEach(partition -> fetched.put(partition, new ArrayDeque<>()));
  }

  /** Finds the offsets to begin with; they are in the state before the first step. */
  private void begin() {
    Map<TopicPartition, Long> offsets =
        config.latest()
            ? consumer.endOffsets(consumer.assignment(), OPENING)
            : consumer.beginningOffsets(consumer.assignment(), OPENING);
    offsets.forEach(this::goTo);
  }

  private void goTo(TopicPartition partition, long offset) {
    next.put(partition, offset);
    consumer.seek(partition, offset);
  }

  private void seek(JsonObject position) {
    turn = position.getLong("turn");
    for (Lane lane : lanes) {
      String name = String.valueOf(lane.events.partition());
      JsonObject at = position.getJsonObject("offsets").getJsonObject(name);
      goTo(lane.events, at.getLong("events"));
      lane.labels.ifPresent(labels -> goTo(labels, at.getLong("labels")));
      lane.join.ifPresent(join -> refill(lane, join, at));
    }
  }

  /** Reads the events again that waited for their labels. */
  private void refill(Lane lane, LabelJoin join, JsonObject at) {
    Set<Long> waiting =
        at.getJsonArray("waiting").stream()
            .map(offset -> ((Number) offset).longValue())
            .collect(Collectors.toSet());
    long end = next.get(lane.events);
    if (!waiting.isEmpty()) {
      goTo(lane.events, waiting.stream().mapToLong(Long::longValue).min().orElseThrow());
      while (!waiting.isEmpty()) {
        Optional<ConsumerRecord<byte[], byte[]>> record = record(lane.events, 1_000);
        if (record.isPresent() && waiting.remove(record.get().offset())) {
          join.add(key(record.get(), format), waiting(record.get()));
        }
      }
      fetched.get(lane.events).clear();
      goTo(lane.events, end);
    }
    join.restore(at.getLong("unlabelled"), at.getLong("newestMillis"));
  }

  @Override
  public Optional<List<Event>> poll(long millis) {
    Lane lane = lanes.get((int) (turn % lanes.size()));
    long deadline = System.nanoTime() + millis * 1_000_000;
    try {
      while (batch.size() < reading.batch()) {
        long left = Math.max(0, (deadline - System.nanoTime()) / 1_000_000);
        Optional<Event> event = lane.join.isPresent() ? joined(lane, left) : event(lane, left);
        if (event.isPresent()) {
          batch.add(event.get());
        } else if (System.nanoTime() >= deadline) {
          return Optional.empty();
        }
      }
    } catch (OffsetOutOfRangeException e) {
      throw new DataException(
          "%s: its offsets %s are no longer there: the topic keeps records for a shorter time than the training was away; expected a longer retention, or a new run"
              .formatted(name(), e.offsetOutOfRangePartitions()),
          e);
    } catch (KafkaException e) {
      throw failed(e);
    }
    List<Event> complete = batch;
    batch = new ArrayList<>();
    turn++;
    if (config.group().isPresent()) {
      Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
      next.forEach((partition, offset) -> offsets.put(partition, new OffsetAndMetadata(offset)));
      unanswered.add(offsets);
    }
    return Optional.of(complete);
  }

  private Optional<Event> event(Lane lane, long millis) {
    return record(lane.events, millis)
        .map(
            record ->
                new Event(lane.events.partition(), record.offset(), true, read(record, format)));
  }

  /**
   * Returns the event of the next label. Events are read until one has the label's key or is later
   * than the label.
   */
  private Optional<Event> joined(Lane lane, long millis) {
    LabelJoin join = lane.join.orElseThrow();
    TopicPartition labels = lane.labels.orElseThrow();
    Optional<ConsumerRecord<byte[], byte[]>> label = peek(labels, millis);
    if (label.isEmpty()) {
      return Optional.empty();
    }
    String key = key(label.get(), labelFormat.orElseThrow());
    while (!join.waitsFor(key) && !join.isPast(label.get().timestamp())) {
      Optional<ConsumerRecord<byte[], byte[]>> record = record(lane.events, millis);
      if (record.isEmpty()) {
        return Optional.empty();
      }
      join.add(key(record.get(), format), waiting(record.get()));
    }
    Object[] values = read(label.get(), labelFormat.orElseThrow());
    record(labels, 0);
    return join.label(key, label.get().timestamp(), values[0]);
  }

  private Waiting waiting(ConsumerRecord<byte[], byte[]> record) {
    Object[] read = read(record, format);
    Object[] values = new Object[reading.fields().size()];
    System.arraycopy(read, 0, values, 0, values.length - 1);
    return new Waiting(record.offset(), record.timestamp(), values);
  }

  /** Returns the key of a record: a field, or the record's own key. */
  private String key(ConsumerRecord<byte[], byte[]> record, LineFormat form) {
    if (config.labels().flatMap(LabelConfig::key).isPresent()) {
      Object[] values = read(record, form);
      Object key = values[values.length - 1];
      if (key == null) {
        throw new DataException(
            "%s: field \"%s\" is missing, expected the key that event and label share"
                .formatted(place(record), config.labels().get().key().get()));
      }
      return String.valueOf(key);
    }
    if (record.key() == null) {
      throw new DataException(
          "%s: has no key, expected one that event and label share, or labels.key: the field that holds it"
              .formatted(place(record)));
    }
    return new String(record.key(), StandardCharsets.UTF_8);
  }

  private Object[] read(ConsumerRecord<byte[], byte[]> record, LineFormat form) {
    try {
      return form.read(record.value(), 0, record.value().length);
    } catch (DataException e) {
      throw new DataException("%s: %s".formatted(place(record), e.getMessage()), e);
    }
  }

  private Optional<ConsumerRecord<byte[], byte[]>> peek(TopicPartition partition, long millis) {
    Deque<ConsumerRecord<byte[], byte[]>> ready = fetched.get(partition);
    if (ready.isEmpty()) {
      fetch(partition, millis);
    }
    return Optional.ofNullable(ready.peek());
  }

  private Optional<ConsumerRecord<byte[], byte[]>> record(TopicPartition partition, long millis) {
    Optional<ConsumerRecord<byte[], byte[]>> record = peek(partition, millis);
    record.ifPresent(
        found -> {
          fetched.get(partition).remove();
          next.put(partition, found.offset() + 1);
        });
    return record;
  }

  /** Polls one partition; the others are paused. Records without a value are left out. */
  private void fetch(TopicPartition partition, long millis) {
    if (!flowing.equals(Set.of(partition))) {
      consumer.pause(flowing);
      flowing = Set.of(partition);
      consumer.resume(flowing);
    }
    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(millis))) {
      if (record.value() != null) {
        fetched.get(new TopicPartition(record.topic(), record.partition())).add(record);
      }
    }
  }

  @Override
  public Optional<JsonObject> position() {
    JsonObject offsets = new JsonObject();
    for (Lane lane : lanes) {
      JsonObject at = new JsonObject().put("events", next.get(lane.events));
      lane.labels.ifPresent(labels -> at.put("labels", next.get(labels)));
      lane.join.ifPresent(
          join ->
              at.put("waiting", new JsonArray(new ArrayList<>(join.indices())))
                  .put("unlabelled", join.unlabelled())
                  .put("newestMillis", join.newestMillis()));
      offsets.put(String.valueOf(lane.events.partition()), at);
    }
    return Optional.of(
        new JsonObject().put("turn", turn).put("partitions", assigned).put("offsets", offsets));
  }

  /** Commits the group's offsets, which only monitors of lag read. */
  @Override
  public void acknowledge(boolean applied) {
    if (config.group().isPresent()) {
      consumer.commitAsync(
          unanswered.remove(),
          (offsets, failure) -> {
            if (failure != null) {
              LOG.debug("offsets of group {} not committed", config.group().get(), failure);
            }
          });
    }
  }

  @Override
  public long unlabelled() {
    return lanes.stream()
        .flatMap(lane -> lane.join.stream())
        .mapToLong(LabelJoin::unlabelled)
        .sum();
  }

  @Override
  public String place(Event event) {
    return "topic %s, partition %d, offset %d"
        .formatted(config.topic(), event.lane(), event.index());
  }

  private static String place(ConsumerRecord<byte[], byte[]> record) {
    return "topic %s, partition %d, offset %d"
        .formatted(record.topic(), record.partition(), record.offset());
  }

  private DataException failed(KafkaException e) {
    return new DataException("%s: %s".formatted(name(), e.getMessage()), e);
  }

  @Override
  public String name() {
    String own =
        lanes.stream()
            .map(lane -> String.valueOf(lane.events.partition()))
            .collect(Collectors.joining(", "));
    return "topic %s%s".formatted(config.topic(), own.isEmpty() ? "" : ", partition " + own);
  }

  @Override
  public void close() {
    consumer.close(CLOSING);
  }
}
