package io.vertigrad.streams.internal;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Exit;

/** A broker of Kafka (KRaft, one node) in a JVM of its own, on loopback. */
public final class KafkaBroker implements AutoCloseable {

  private static final int TRIES = 120;

  private final Process process;
  private final String servers;
  private final Admin admin;

  private KafkaBroker(Process process, String servers, Admin admin) {
    this.process = process;
    this.servers = servers;
    this.admin = admin;
  }

  /** Starts a broker that keeps its files in a folder, and waits until it answers. */
  public static KafkaBroker start(Path folder) throws Exception {
    int port = freePort();
    int controller = freePort();
    Path file = folder.resolve("server.properties");
    Files.createDirectories(folder);
    Files.writeString(
        file,
        """
        process.roles=broker,controller
        node.id=1
        controller.quorum.voters=1@127.0.0.1:%d
        listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d
        advertised.listeners=PLAINTEXT://127.0.0.1:%d
        controller.listener.names=CONTROLLER
        listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
        log.dirs=%s
        offsets.topic.replication.factor=1
        offsets.topic.num.partitions=1
        transaction.state.log.replication.factor=1
        transaction.state.log.min.isr=1
        auto.create.topics.enable=false
        log.cleaner.backoff.ms=100
        log.cleaner.dedupe.buffer.size=2097152
        """
            .formatted(controller, port, controller, port, folder.resolve("log")));
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")),
                KafkaBroker.class.getName(),
                file.toString())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("broker.log").toFile())
            .start();
    String servers = "127.0.0.1:" + port;
    Admin admin =
        Admin.create(
            Map.of(
                "bootstrap.servers",
                servers,
                "default.api.timeout.ms",
                1_000,
                "request.timeout.ms",
                1_000));
    for (int i = 0; i < TRIES; i++) {
      try {
        if (!admin.describeCluster().nodes().get(1, TimeUnit.SECONDS).isEmpty()) {
          return new KafkaBroker(process, servers, admin);
        }
      } catch (ExecutionException | java.util.concurrent.TimeoutException notYet) {
        if (!process.isAlive()) {
          break;
        }
      }
    }
    process.destroyForcibly();
    admin.close();
    throw new AssertionError("no broker: " + Files.readString(folder.resolve("broker.log")));
  }

  /** Runs the broker of a properties file. */
  public static void main(String[] arguments) {
    Exit.setExitProcedure((status, message) -> {});
    try {
      kafka.tools.StorageTool.main(
          new String[] {"format", "-t", Uuid.randomUuid().toString(), "-c", arguments[0]});
    } catch (RuntimeException | Error formatted) {
      // The tool ends with an exit that does not end this JVM.
    }
    Exit.resetExitProcedure();
    kafka.Kafka.main(arguments);
  }

  /** Returns the address of the broker. */
  public String servers() {
    return servers;
  }

  /** Creates a topic. */
  public void create(String topic, int partitions) throws Exception {
    admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
  }

  /** Creates a topic in which only the newest record of a key stays. */
  public void createCompacted(String topic) throws Exception {
    NewTopic compacted = new NewTopic(topic, 1, (short) 1);
    compacted.configs(
        Map.of(
            "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01", "segment.ms", "100"));
    admin.createTopics(List.of(compacted)).all().get();
  }

  /** Deletes a topic and waits until the broker no longer knows it. */
  public void delete(String topic) throws Exception {
    admin.deleteTopics(List.of(topic)).all().get();
    for (int i = 0; admin.listTopics().names().get().contains(topic); i++) {
      if (i == TRIES) {
        throw new AssertionError("topic %s is still there".formatted(topic));
      }
    }
  }

  /** Deletes the records of a partition before an offset, as retention does. */
  public void deleteBefore(String topic, int partition, long offset) throws Exception {
    admin
        .deleteRecords(
            Map.of(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(offset)))
        .all()
        .get();
  }

  /** A record to send. */
  public record Record(int partition, String key, String value) {}

  /** Sends records and waits until the broker has them. */
  public void send(String topic, List<Record> records) throws Exception {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
      List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
      for (Record record : records) {
        sent.add(
            producer.send(
                new ProducerRecord<>(topic, record.partition(), record.key(), record.value())));
      }
      for (java.util.concurrent.Future<?> each : sent) {
        each.get();
      }
    }
  }

  /** Sends records in a transaction that is aborted: they leave offsets that hold no record. */
  public void sendAborted(String topic, List<Record> records) {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    properties.put("transactional.id", topic);
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
      producer.initTransactions();
      producer.beginTransaction();
      records.forEach(
          record ->
              producer.send(
                  new ProducerRecord<>(topic, record.partition(), record.key(), record.value())));
      producer.flush();
      producer.abortTransaction();
    }
  }

  /** Sends records in a transaction that stays open until it is committed. */
  public KafkaProducer<String, String> sendOpen(String topic, List<Record> records) {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", servers);
    properties.put("transactional.id", topic + "-open");
    KafkaProducer<String, String> producer =
        new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    producer.initTransactions();
    producer.beginTransaction();
    records.forEach(
        record ->
            producer.send(
                new ProducerRecord<>(topic, record.partition(), record.key(), record.value())));
    producer.flush();
    return producer;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() {
    admin.close();
    process.destroyForcibly();
  }
}
