package io.vertigrad.streams.internal;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out why nothing comes from a partition: records behind the last stable offset are not read
 * until the transaction that is open there ends. Asks the brokers without a wait, and only while a
 * reader waits. Used by one thread, except for {@link #found}.
 */
final class OpenTransactions {

  private static final Logger LOG = LoggerFactory.getLogger(OpenTransactions.class);

  /** Time between two questions, and after which the first one is asked. */
  private static final long ASK_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final Admin admin;
  private final String servers;
  private final List<String> warnings = new ArrayList<>();
  private Optional<TopicPartition> waiting = Optional.empty();
  private Optional<Question> asked = Optional.empty();
  private long askedNanos;

  /** The offset at which a transaction was reported; empty if there is none. */
  private Optional<Long> reported = Optional.empty();

  private volatile Optional<String> found = Optional.empty();

  /**
   * Both ends of a partition.
   *
   * @param position where the reader stood
   * @param stable end of what a reader of committed transactions gets
   * @param end end of all records
   */
  private record Question(
      long position,
      KafkaFuture<ListOffsetsResultInfo> stable,
      KafkaFuture<ListOffsetsResultInfo> end) {}

  OpenTransactions(Admin admin, String servers) {
    this.admin = admin;
    this.servers = servers;
  }

  /** Notes that nothing came from a partition, and asks why from time to time. */
  void waits(TopicPartition partition, long position) {
    long now = System.nanoTime();
    if (!waiting.equals(Optional.of(partition))) {
      ended();
      waiting = Optional.of(partition);
      askedNanos = now;
    } else if (asked.isPresent()) {
      answered(partition, asked.get());
    } else if (now - askedNanos > ASK_NANOS) {
      askedNanos = now;
      asked =
          Optional.of(
              new Question(
                  position,
                  end(partition, IsolationLevel.READ_COMMITTED),
                  end(partition, IsolationLevel.READ_UNCOMMITTED)));
    }
  }

  private KafkaFuture<ListOffsetsResultInfo> end(TopicPartition partition, IsolationLevel level) {
    return admin
        .listOffsets(Map.of(partition, OffsetSpec.latest()), new ListOffsetsOptions(level))
        .partitionResult(partition);
  }

  /** Notes that records came, or that another partition is read. */
  void ended() {
    if (waiting.isEmpty()) {
      return;
    }
    if (reported.isPresent()) {
      warnings.add(
          "%s: the transaction at offset %s has ended, and training goes on"
              .formatted(place(), reported.get()));
    }
    waiting = Optional.empty();
    asked = Optional.empty();
    reported = Optional.empty();
    found = Optional.empty();
  }

  private void answered(TopicPartition partition, Question question) {
    if (!question.stable().isDone() || !question.end().isDone()) {
      return;
    }
    asked = Optional.empty();
    try {
      long stable = question.stable().get().offset();
      long behind = question.end().get().offset() - stable;
      if (behind > 0 && question.position() >= stable) {
        report(partition, stable, behind);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      // The search for the topics reports brokers that do not answer.
      LOG.debug("{}: its end was not found", place(), e);
    }
  }

  private void report(TopicPartition partition, long stable, long behind) {
    String what =
        String.format(
            Locale.ROOT,
            "%s: %,d record%s behind an open transaction at offset %d",
            place(),
            behind,
            behind == 1 ? " waits" : "s wait",
            stable);
    found = Optional.of(what);
    if (!reported.equals(Optional.of(stable))) {
      reported = Optional.of(stable);
      warnings.add(
          "%s; they are read when its producer commits or aborts it, or its transaction.timeout.ms is over; one that hangs is ended by: kafka-transactions.sh --bootstrap-server %s abort --topic %s --partition %s --start-offset %s"
              .formatted(what, servers, partition.topic(), partition.partition(), stable));
    }
  }

  private String place() {
    return "topic %s, partition %s"
        .formatted(waiting.orElseThrow().topic(), waiting.orElseThrow().partition());
  }

  /** Returns which records wait behind which transaction; empty if none is known. Any thread. */
  Optional<String> found() {
    return found;
  }

  /** Returns what the user must know, since the last call. */
  List<String> takeWarnings() {
    List<String> taken = List.copyOf(warnings);
    warnings.clear();
    return taken;
  }
}
