package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.streams.internal.KafkaSource.KafkaConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * The identities of the topics that a reader reads, which it asks the brokers for when it begins
 * and every few seconds. Used by one thread.
 */
final class KafkaTopics implements AutoCloseable {

  static final Duration LIMIT = Duration.ofSeconds(30);

  private static final long CHECK_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** Time in which all brokers learn of a topic that was just created. */
  private static final long NEW_NANOS = TimeUnit.SECONDS.toNanos(3);

  private static final long POLL_MILLIS = 100;

  /** Answers in sequence that say that a topic is gone, until it is: one broker may know less. */
  private static final int UNKNOWN_LIMIT = 2;

  private final KafkaConfig config;
  private final List<String> topics;
  private final Admin admin;
  private final List<String> warnings = new ArrayList<>();
  private Map<String, Topic> begun = Map.of();
  private Optional<KafkaFuture<Map<String, TopicDescription>>> asked = Optional.empty();
  private long askedNanos;
  private boolean silent;
  private int unknown;

  /**
   * One topic.
   *
   * @param id differs from that of any other topic; empty if brokers give none
   */
  record Topic(Optional<String> id, int partitions) {}

  KafkaTopics(KafkaConfig config, String owner) {
    this.config = config;
    this.topics = new ArrayList<>(List.of(config.topic()));
    config.labels().ifPresent(labels -> topics.add(labels.place()));
    Map<String, Object> properties = connection(config, owner);
    properties.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) LIMIT.toMillis());
    this.admin = withLoaderOfKafka(() -> Admin.create(properties));
  }

  /** Returns the properties of a client of Kafka that is no consumer. */
  static Map<String, Object> connection(KafkaConfig config, String owner) {
    Map<String, Object> properties = new HashMap<>(config.properties());
    properties
        .keySet()
        .removeIf(
            name ->
                ConsumerConfig.configNames().contains(name)
                    && !AdminClientConfig.configNames().contains(name));
    properties.put("client.id", "vertigrad-" + owner.replace(' ', '-'));
    properties.put("bootstrap.servers", config.servers());
    return properties;
  }

  /** Creates a client; Kafka finds classes through the thread's loader. */
  static <T> T withLoaderOfKafka(Supplier<T> creation) {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      Thread.currentThread().setContextClassLoader(Admin.class.getClassLoader());
      return creation.get();
    } catch (KafkaException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      throw new DataException("data.source: " + cause.getMessage(), e);
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  /**
   * Asks the brokers for the topics, and keeps their identities.
   *
   * @param resumed true if the run has read them before
   */
  Map<String, Topic> begin(boolean resumed) {
    begun = describe(resumed);
    begun.forEach(
        (name, topic) -> {
          if (topic.id().isEmpty()) {
            warnings.add(
                "topic %s: the brokers at %s give topics no id, so a topic that was deleted and created again is found by its partitions and offsets only"
                    .formatted(name, config.servers()));
          }
        });
    return begun;
  }

  private Map<String, Topic> describe(boolean resumed) {
    long begun = System.nanoTime();
    try {
      while (true) {
        try {
          return found(
              admin
                  .describeTopics(topics)
                  .allTopicNames()
                  .get(LIMIT.toSeconds(), TimeUnit.SECONDS));
        } catch (ExecutionException e) {
          if (!(e.getCause() instanceof UnknownTopicOrPartitionException)) {
            throw unreachable(e.getCause());
          }
          if (System.nanoTime() - begun > NEW_NANOS) {
            throw resumed ? gone() : missing();
          }
          TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
      }
    } catch (TimeoutException | KafkaException e) {
      throw unreachable(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unreachable(e);
    }
  }

  private static Map<String, Topic> found(Map<String, TopicDescription> descriptions) {
    Map<String, Topic> found = new TreeMap<>();
    descriptions.forEach(
        (name, topic) ->
            found.put(
                name,
                new Topic(
                    Optional.ofNullable(topic.topicId())
                        .filter(id -> !id.equals(Uuid.ZERO_UUID))
                        .map(Uuid::toString),
                    topic.partitions().size())));
    return found;
  }

  /**
   * Finds out every few seconds, without a wait, whether the topics are still the same.
   *
   * @throws DataException if one was deleted
   */
  void check() {
    long now = System.nanoTime();
    if (asked.isEmpty()) {
      if (now - askedNanos > CHECK_NANOS) {
        askedNanos = now;
        asked = Optional.of(admin.describeTopics(topics).allTopicNames());
      }
      return;
    }
    KafkaFuture<Map<String, TopicDescription>> answer = asked.get();
    if (!answer.isDone()) {
      return;
    }
    asked = Optional.empty();
    try {
      refuseOthers(found(answer.getNow(Map.of())));
      silent = false;
      unknown = 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof UnknownTopicOrPartitionException) {
        unknown++;
        if (unknown == UNKNOWN_LIMIT) {
          throw gone();
        }
        return;
      }
      if (!silent) {
        silent = true;
        warnings.add(
            "topic %s: the brokers at %s do not answer: %s; training waits for them"
                .formatted(config.topic(), config.servers(), cause.getMessage()));
      }
    }
  }

  /** Finds out at once whether the topics are still the same. */
  void checkNow() {
    refuseOthers(describe(true));
  }

  private void refuseOthers(Map<String, Topic> now) {
    begun.forEach(
        (name, topic) -> {
          Topic newest = now.get(name);
          if (newest != null && !newest.id().equals(topic.id())) {
            throw recreated(name, topic.id(), newest.id());
          }
        });
  }

  /**
   * Compares with the topics of a position.
   *
   * @param id the id in the position
   * @param partitions the number of partitions then
   * @throws DataException if the topic is another one
   */
  void refuseOther(String topic, Optional<String> id, int partitions) {
    Topic now = begun.get(topic);
    if (id.isPresent() && now.id().isPresent() && !id.equals(now.id())) {
      throw recreated(topic, id, now.id());
    }
    if (now.partitions() < partitions) {
      throw new DataException(
          "topic %s has %s partitions, but had %s when the run read it: it was deleted and created again; %s"
              .formatted(topic, now.partitions(), partitions, NEW_RUN));
    }
    if (now.partitions() > partitions) {
      warnings.add(
          "topic %s has %s partitions, but had %s when the run began: this run reads no others; start a new run to read all"
              .formatted(topic, now.partitions(), partitions));
    }
  }

  /** What can be done about a topic that is another one. */
  static final String NEW_RUN =
      "expected the topic that the run began with: start a new run with train";

  private static DataException recreated(
      String topic, Optional<String> before, Optional<String> now) {
    return DataException.permanent(
        "topic %s was deleted and created again: its id is %s, but was %s when the run read it; %s"
            .formatted(topic, now.orElse("unknown"), before.orElse("unknown"), NEW_RUN));
  }

  private DataException gone() {
    return DataException.permanent(
        "topic %s was deleted at %s since the run began to read it; %s"
            .formatted(String.join(" or ", topics), config.servers(), NEW_RUN));
  }

  private DataException missing() {
    return new DataException(
        "%s has no topic %s, expected one: create it before the training"
            .formatted(config.servers(), String.join(" or no topic ", topics)));
  }

  private DataException unreachable(Throwable e) {
    return new DataException(
        "topic %s: cannot be reached at %s within %s s: %s; expected a running broker and this topic"
            .formatted(config.topic(), config.servers(), LIMIT.toSeconds(), e.getMessage()),
        e);
  }

  /** Returns the client that asks the brokers, which {@link #close} closes. */
  Admin admin() {
    return admin;
  }

  /** Returns what the user must know, since the last call. */
  List<String> takeWarnings() {
    List<String> taken = List.copyOf(warnings);
    warnings.clear();
    return taken;
  }

  @Override
  public void close() {
    admin.close(Duration.ofSeconds(1));
  }
}
