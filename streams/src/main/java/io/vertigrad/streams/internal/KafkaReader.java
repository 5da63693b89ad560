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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
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
  private static final Duration OPENING = KafkaTopics.LIMIT;
  private static final CloseOptions CLOSING = CloseOptions.timeout(Duration.ofSeconds(1));
  private static final long REREAD_MILLIS = 200;
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
  private final KafkaTopics topics;
  private final OpenTransactions transactions;
  private final Map<String, KafkaTopics.Topic> found;
  private final int assigned;
  private final List<String> warnings = new ArrayList<>();
  private List<Event> batch = new ArrayList<>();
  private List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
  private List<ConsumerRecord<byte[], byte[]>> lastRecords = List.of();
  private List<Event.Original> strays = new ArrayList<>();
  private long turn;
  private long lost;
  private boolean settled = true;
  private Set<TopicPartition> flowing = Set.of();

  /** Offsets that the next batch must not read beyond, because it was read before; else null. */
  private long[] end;

  /** Offsets after the last batch, of the events and of their labels. */
  private long[] cursor = new long[0];

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
      topics = new KafkaTopics(config, reading.owner());
    } catch (RuntimeException e) {
      consumer.close(CLOSING);
      throw e;
    }
    try {
      transactions = new OpenTransactions(topics.admin(), config.servers());
      found = topics.begin(position.isPresent());
      int partitions = found.get(config.topic()).partitions();
      config.labels().ifPresent(labels -> refuseUnequal(labels.place(), partitions));
      if (partitions < reading.ranks()) {
        throw new DataException(
            "topic %s has %s partitions for %s workers: expected at least one for each"
                .formatted(config.topic(), partitions, reading.ranks()));
      }
      assigned = position.map(at -> at.getInteger("partitions")).orElse(partitions);
      position.ifPresent(this::refuseOtherTopics);
      assign(assigned);
      if (position.isPresent()) {
        seek(position.get());
      } else {
        begin();
      }
    } catch (KafkaException e) {
      close();
      throw failed(e);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private void refuseUnequal(String labels, int partitions) {
    int ofLabels = found.get(labels).partitions();
    if (ofLabels != partitions) {
      throw new DataException(
          "topic %s has %s partitions, but %s has %s: expected as many, with the same keys in each"
              .formatted(labels, ofLabels, config.topic(), partitions));
    }
  }

  private void refuseOtherTopics(JsonObject position) {
    JsonObject ids = position.getJsonObject("topicIds");
    for (String topic : found.keySet()) {
      topics.refuseOther(
          topic, Optional.ofNullable(ids.getString(topic)), position.getInteger("partitions"));
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
    return KafkaTopics.withLoaderOfKafka(
        () ->
            new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer()));
  }

  private void assign(int count) {
    for (int partition = reading.rank(); partition < count; partition += reading.ranks()) {
      int lane = partition;
      lanes.add(
          new Lane(
              new TopicPartition(config.topic(), partition),
              config.labels().map(labels -> new TopicPartition(labels.place(), lane)),
              config.labels().map(LabelJoin::new)));
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
    Map<TopicPartition, Long> first = consumer.beginningOffsets(consumer.assignment(), OPENING);
    Map<TopicPartition, Long> last = consumer.endOffsets(consumer.assignment(), OPENING);
    for (Lane lane : lanes) {
      String name = String.valueOf(lane.events.partition());
      JsonObject at = position.getJsonObject("offsets").getJsonObject(name);
      goOn(lane.events, at.getLong("events"), first, last);
      lane.labels.ifPresent(labels -> goOn(labels, at.getLong("labels"), first, last));
      lane.join.ifPresent(join -> refill(lane, join, at, first.get(lane.events)));
    }
    settled = false;
  }

  /** Goes on at an offset that was reached before, or at the oldest one after it. */
  private void goOn(
      TopicPartition partition,
      long offset,
      Map<TopicPartition, Long> first,
      Map<TopicPartition, Long> last) {
    refuseShorter(partition, offset, last.get(partition));
    goTo(partition, Math.max(first.get(partition), offset));
    next.put(partition, offset);
  }

  private static void refuseShorter(TopicPartition partition, long offset, long last) {
    if (last < offset) {
      throw new DataException(
          "%s: ends at offset %s, but the run had read it up to offset %s: it was deleted and created again, or cut off; %s"
              .formatted(place(partition), last, offset, KafkaTopics.NEW_RUN));
    }
  }

  /**
   * Compares the next offsets with those that the brokers have. What was trained on may be gone,
   * but not what is next.
   *
   * @throws DataException if records are gone
   */
  private void settle(Set<TopicPartition> partitions) {
    Map<TopicPartition, Long> first = consumer.beginningOffsets(partitions, OPENING);
    Map<TopicPartition, Long> last = consumer.endOffsets(partitions, OPENING);
    for (TopicPartition partition : partitions) {
      long offset = next.get(partition);
      long oldest = first.get(partition);
      refuseShorter(partition, offset, last.get(partition));
      if (oldest > offset) {
        String gone =
            String.format(
                Locale.ROOT,
                "%s: begins at offset %d, but the run had read it up to offset %d only: the topic has deleted the %,d offsets between",
                place(partition),
                oldest,
                offset,
                oldest - offset);
        if (!reading.goesOn()) {
          throw DataException.permanent(
              gone
                  + "; expected a longer retention; to go on without them: vertigrad resume RUN --set data.onBadEvent=skip");
        }
        warnings.add(gone + "; they count as lost");
        lost += oldest - offset;
        fetched.get(partition).clear();
        goTo(partition, oldest);
      }
    }
    settled = true;
  }

  private static String place(TopicPartition partition) {
    return "topic %s, partition %s".formatted(partition.topic(), partition.partition());
  }

  /** Reads the events again that waited for their labels, as far as they are still there. */
  private void refill(Lane lane, LabelJoin join, JsonObject at, long oldest) {
    TreeSet<Long> waiting = new TreeSet<>();
    at.getJsonArray("waiting").forEach(offset -> waiting.add(((Number) offset).longValue()));
    long reached = next.get(lane.events);
    if (!waiting.isEmpty()) {
      goTo(lane.events, Math.max(waiting.first(), oldest));
      Optional<ConsumerRecord<byte[], byte[]>> record = before(lane.events, reached);
      while (record.isPresent()) {
        if (waiting.remove(record.get().offset())) {
          join.add(key(record.get(), format), waiting(record.get()));
        }
        record = waiting.isEmpty() ? Optional.empty() : before(lane.events, reached);
      }
      if (!waiting.isEmpty()) {
        warnings.add(
            String.format(
                Locale.ROOT,
                "%s: %,d records that waited for their labels are no longer there, the first at offset %d: compaction or retention has removed them; they count as lost",
                place(lane.events),
                waiting.size(),
                waiting.first()));
        lost += waiting.size();
      }
      fetched.get(lane.events).clear();
      goTo(lane.events, Math.max(reached, oldest));
      next.put(lane.events, reached);
    }
    join.restore(at.getLong("unlabelled"), at.getLong("unmatched"), at.getLong("newestMillis"));
  }

  /**
   * Reads the next record before an offset that was reached before. Records may be missing:
   * compaction removes them, and transactions leave offsets without one.
   *
   * @return empty if there is none before that offset
   */
  private Optional<ConsumerRecord<byte[], byte[]>> before(TopicPartition partition, long offset) {
    Optional<ConsumerRecord<byte[], byte[]>> record = peekBefore(partition, offset);
    record.ifPresent(found -> record(partition, 0));
    return record;
  }

  private Optional<ConsumerRecord<byte[], byte[]>> peekBefore(
      TopicPartition partition, long offset) {
    long reached = consumer.position(partition, OPENING);
    long deadline = System.nanoTime() + OPENING.toNanos();
    while (fetched.get(partition).isEmpty() && consumer.position(partition, OPENING) < offset) {
      fetch(partition, REREAD_MILLIS);
      long now = consumer.position(partition, OPENING);
      if (now > reached) {
        reached = now;
        deadline = System.nanoTime() + OPENING.toNanos();
      } else if (System.nanoTime() > deadline) {
        throw new DataException(
            "%s: nothing came from offset %s on within %s s, expected the records up to offset %s, which were read before; do the brokers at %s answer?"
                .formatted(
                    place(partition), reached, OPENING.toSeconds(), offset, config.servers()));
      }
    }
    return Optional.ofNullable(fetched.get(partition).peek())
        .filter(record -> record.offset() < offset);
  }

  @Override
  public Optional<List<Event>> poll(long millis) {
    Lane lane = lanes.get((int) (turn % lanes.size()));
    boolean again = end != null;
    try {
      if (!settled && !again) {
        settle(consumer.assignment());
      }
      boolean complete =
          !again ? readBatch(lane, millis) : readAgain(lane, lane.labels.orElseThrow());
      if (!complete) {
        return Optional.empty();
      }
    } catch (OffsetOutOfRangeException e) {
      topics.checkNow();
      settle(e.offsetOutOfRangePartitions().keySet());
      return Optional.empty();
    } catch (KafkaException e) {
      throw failed(e);
    }
    List<Event> complete = batch;
    batch = new ArrayList<>();
    lastRecords = records;
    records = new ArrayList<>();
    end = null;
    turn++;
    cursor =
        new long[] {
          lane.events.partition(), next.get(lane.events), lane.labels.map(next::get).orElse(0L)
        };
    if (config.group().isPresent() && !again) {
      Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
      next.forEach((partition, offset) -> offsets.put(partition, new OffsetAndMetadata(offset)));
      unanswered.add(offsets);
    }
    return Optional.of(complete);
  }

  /** Returns false if the batch is not complete yet. */
  private boolean readBatch(Lane lane, long millis) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (batch.size() < reading.batch()) {
      long left = Math.max(0, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
      boolean more = lane.join.isPresent() ? joined(lane, left) : event(lane, left);
      if (!more && System.nanoTime() >= deadline) {
        return false;
      }
    }
    return true;
  }

  /** Reads a batch of labelled events again, as far as its records are still there. */
  private boolean readAgain(Lane lane, TopicPartition labels) {
    while (peekBefore(labels, end[2]).isPresent()) {
      joined(lane, 0);
    }
    for (Optional<ConsumerRecord<byte[], byte[]>> record = before(lane.events, end[1]);
        record.isPresent();
        record = before(lane.events, end[1])) {
      hold(lane, record.get());
    }
    goPast(lane.events, end[1]);
    goPast(labels, end[2]);
    return true;
  }

  /** Passes over offsets without records. */
  private void goPast(TopicPartition partition, long offset) {
    if (next.get(partition) < offset) {
      next.put(partition, offset);
    }
  }

  /** Adds the next event to the batch; returns false if none came. */
  private boolean event(Lane lane, long millis) {
    Optional<ConsumerRecord<byte[], byte[]>> record = record(lane.events, millis);
    record.ifPresent(
        found -> {
          try {
            Object[] values = read(found, format);
            add(new Event(lane.events.partition(), found.offset(), true, values), found);
          } catch (DataException e) {
            addUnreadable(found, e);
          }
        });
    return record.isPresent();
  }

  private void add(Event event, ConsumerRecord<byte[], byte[]> record) {
    batch.add(event);
    records.add(record);
  }

  private void addUnreadable(ConsumerRecord<byte[], byte[]> record, DataException e) {
    add(Event.unreadable(record.partition(), record.offset(), true, e.getMessage()), record);
  }

  /**
   * Adds the event of the next label to the batch. Events are read until one has the label's key or
   * is later than the label.
   *
   * @return false if the batch is as it was
   */
  private boolean joined(Lane lane, long millis) {
    LabelJoin join = lane.join.orElseThrow();
    TopicPartition labels = lane.labels.orElseThrow();
    Optional<ConsumerRecord<byte[], byte[]>> label = peek(labels, millis);
    if (label.isEmpty()) {
      return false;
    }
    String key;
    Object[] values;
    try {
      key = key(label.get(), labelFormat.orElseThrow());
      values = read(label.get(), labelFormat.orElseThrow());
    } catch (DataException e) {
      addUnreadable(label.get(), e);
      record(labels, 0);
      return true;
    }
    while (!join.waitsFor(key) && !join.isPast(label.get().timestamp())) {
      Optional<ConsumerRecord<byte[], byte[]>> record =
          end == null ? record(lane.events, millis) : before(lane.events, end[1]);
      if (record.isEmpty() && end == null) {
        return false;
      }
      if (record.isEmpty()) {
        break;
      }
      if (!hold(lane, record.get())) {
        return true;
      }
    }
    record(labels, 0);
    Optional<Waiting> event = join.label(key, label.get().timestamp(), values[0]);
    if (event.isEmpty()) {
      strays.add(original(label.get()));
      return false;
    }
    add(
        new Event(lane.events.partition(), event.get().index(), true, event.get().values()),
        source(event.get()));
    return true;
  }

  @SuppressWarnings("unchecked")
  private static ConsumerRecord<byte[], byte[]> source(Waiting event) {
    return (ConsumerRecord<byte[], byte[]>) event.source();
  }

  /** Lets an event wait for its label; returns false if it cannot be read. */
  private boolean hold(Lane lane, ConsumerRecord<byte[], byte[]> record) {
    try {
      lane.join.orElseThrow().add(key(record, format), waiting(record));
      return true;
    } catch (DataException e) {
      addUnreadable(record, e);
      return false;
    }
  }

  private Waiting waiting(ConsumerRecord<byte[], byte[]> record) {
    Object[] read = read(record, format);
    Object[] values = new Object[reading.fields().size()];
    System.arraycopy(read, 0, values, 0, values.length - 1);
    return new Waiting(record.offset(), record.timestamp(), values, record);
  }

  /** Returns the key of a record: a field, or the record's own key. */
  private String key(ConsumerRecord<byte[], byte[]> record, LineFormat form) {
    if (config.labels().flatMap(LabelConfig::key).isPresent()) {
      Object[] values = read(record, form);
      Object key = values[values.length - 1];
      if (key == null) {
        throw new DataException(
            "field \"%s\" is missing, expected the key that event and label share"
                .formatted(config.labels().get().key().get()));
      }
      return String.valueOf(key);
    }
    if (record.key() == null) {
      throw new DataException(
          "has no key, expected one that event and label share, or labels.key: the field that holds it");
    }
    return new String(record.key(), StandardCharsets.UTF_8);
  }

  private static Object[] read(ConsumerRecord<byte[], byte[]> record, LineFormat form) {
    return form.read(record.value(), 0, record.value().length);
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

  /**
   * Polls one partition; the others are paused. Deletion markers of a compacted topic are no
   * events.
   */
  private void fetch(TopicPartition partition, long millis) {
    topics.check();
    if (!flowing.equals(Set.of(partition))) {
      consumer.pause(flowing);
      flowing = Set.of(partition);
      consumer.resume(flowing);
    }
    ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofMillis(millis));
    if (polled.isEmpty()) {
      transactions.waits(partition, consumer.position(partition, OPENING));
    } else {
      transactions.ended();
    }
    for (ConsumerRecord<byte[], byte[]> record : polled) {
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
                  .put("unmatched", join.unmatched())
                  .put("newestMillis", join.newestMillis()));
      offsets.put(String.valueOf(lane.events.partition()), at);
    }
    JsonObject ids = new JsonObject();
    found.forEach((topic, now) -> now.id().ifPresent(id -> ids.put(topic, id)));
    return Optional.of(
        new JsonObject()
            .put("turn", turn)
            .put("topicIds", ids)
            .put("partitions", assigned)
            .put("offsets", offsets));
  }

  @Override
  public long[] cursor() {
    return cursor;
  }

  @Override
  public OptionalInt skipTo(long[] after) {
    cursor = after;
    Lane lane = lanes.get((int) (turn % lanes.size()));
    if (lane.join.isPresent()) {
      end = after;
      return OptionalInt.empty();
    }
    turn++;
    fetched.get(lane.events).clear();
    goTo(lane.events, after[1]);
    return OptionalInt.of(lane.events.partition());
  }

  @Override
  public Event.Original original(int index, Event event) {
    return original(lastRecords.get(index));
  }

  private static Event.Original original(ConsumerRecord<byte[], byte[]> record) {
    byte[] none = {};
    return new Event.Original(
        place(record),
        "%s/%s@%s".formatted(record.topic(), record.partition(), record.offset()),
        record.key() == null ? none : record.key(),
        record.value());
  }

  @Override
  public long unmatched() {
    return lanes.stream().flatMap(lane -> lane.join.stream()).mapToLong(LabelJoin::unmatched).sum();
  }

  @Override
  public List<Event.Original> strays() {
    List<Event.Original> since = strays;
    strays = new ArrayList<>();
    return since;
  }

  @Override
  public long lost() {
    return lost;
  }

  @Override
  public List<String> warnings() {
    List<String> since = new ArrayList<>(topics.takeWarnings());
    since.addAll(transactions.takeWarnings());
    since.addAll(warnings);
    warnings.clear();
    return since;
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
    return "topic %s, partition %s, offset %s"
        .formatted(config.topic(), event.lane(), event.index());
  }

  private static String place(ConsumerRecord<byte[], byte[]> record) {
    return "topic %s, partition %s, offset %s"
        .formatted(record.topic(), record.partition(), record.offset());
  }

  private DataException failed(KafkaException e) {
    return new DataException("%s: %s".formatted(name(), e.getMessage()), e);
  }

  @Override
  public String awaited() {
    return transactions.found().orElseGet(() -> name() + " is silent");
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
    topics.close();
  }
}
