package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.streams.Event.Original;
import io.vertigrad.streams.internal.KafkaSource.KafkaConfig;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A topic of dead letters: the record's key and value, with the headers {@code vertigrad.origin}
 * and {@code vertigrad.reason}. An event that is read again after a restart may be sent again.
 */
final class TopicLetters implements BadEvents.DeadLetters {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final KafkaConfig config;
  private final String topic;
  private final Duration limit;
  private final KafkaProducer<byte[], byte[]> producer;

  TopicLetters(KafkaConfig config, String topic, String owner) {
    this(config, topic, owner, LIMIT);
  }

  /**
   * Opens the topic.
   *
   * @param limit the longest wait for the topic, and for each letter to be kept
   * @throws DataException if the topic is not there within the limit
   */
  TopicLetters(KafkaConfig config, String topic, String owner, Duration limit) {
    this.config = config;
    this.topic = topic;
    this.limit = limit;
    Map<String, Object> properties = KafkaTopics.connection(config, owner);
    properties.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, limit.toMillis());
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    producer =
        KafkaTopics.withLoaderOfKafka(
            () ->
                new KafkaProducer<>(
                    properties, new ByteArraySerializer(), new ByteArraySerializer()));
    try {
      producer.partitionsFor(topic);
    } catch (KafkaException e) {
      close();
      throw new DataException(
          "data.deadLetter: topic %s is not there: %s; expected one at %s: create it before the training"
              .formatted(topic, e.getMessage(), config.servers()),
          e);
    }
  }

  @Override
  public void write(Original event, String reason) {
    ProducerRecord<byte[], byte[]> letter =
        new ProducerRecord<>(
            topic,
            event.key().length == 0 ? null : event.key(),
            event.bytes().length == 0 ? null : event.bytes());
    String origin = event.origin().isEmpty() ? event.place() : event.origin();
    letter.headers().add("vertigrad.origin", origin.getBytes(StandardCharsets.UTF_8));
    letter.headers().add("vertigrad.reason", reason.getBytes(StandardCharsets.UTF_8));
    try {
      producer.send(letter).get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException | KafkaException e) {
      throw unwritten(event, reason, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unwritten(event, reason, e);
    }
  }

  private DataException unwritten(Original event, String reason, Exception e) {
    return new DataException(
        "topic %s at %s: an event that cannot be trained on (%s: %s) was not kept there within %s s: %s"
            .formatted(
                topic,
                config.servers(),
                event.place(),
                reason,
                limit.toSeconds(),
                Optional.ofNullable(e.getMessage()).orElse(e.toString())),
        e);
  }

  @Override
  public String name() {
    return "topic " + topic;
  }

  @Override
  public void close() {
    producer.close(Duration.ofSeconds(1));
  }
}
