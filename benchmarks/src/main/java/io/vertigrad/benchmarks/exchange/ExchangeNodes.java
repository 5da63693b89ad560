package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.process.HeapWatch;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The measured processes: one with the server, and one for each worker or one for all. */
final class ExchangeNodes implements AutoCloseable {

  private static final long LIMIT_SECONDS = 300;

  private final List<String> options;
  private final Layout layout;
  private final ChildJvm server;
  private final List<ChildJvm> workers = new ArrayList<>();
  private final String address;

  /** The ways to divide server and workers into processes. */
  private enum Layout {
    EMBEDDED,
    PROCESSES,
    SERVER_AND_WORKERS
  }

  private ExchangeNodes(Layout layout, List<String> options)
      throws IOException, InterruptedException {
    this.options = options;
    this.layout = layout;
    this.server = start("server", layout != Layout.EMBEDDED, "");
    this.address = server.answer(LIMIT_SECONDS).getString("address");
  }

  /** Returns one process for server and workers, without a cluster. */
  static ExchangeNodes embedded(List<String> options) throws IOException, InterruptedException {
    return new ExchangeNodes(Layout.EMBEDDED, options);
  }

  /** Returns a process for the server and one for each worker. */
  static ExchangeNodes processes(List<String> options) throws IOException, InterruptedException {
    return new ExchangeNodes(Layout.PROCESSES, options);
  }

  /** Returns a process for the server and one for all workers, which share one model's memory. */
  static ExchangeNodes sharing(List<String> options) throws IOException, InterruptedException {
    return new ExchangeNodes(Layout.SERVER_AND_WORKERS, options);
  }

  /** Runs Vertigrad's exchange, from deployment of the server to the last worker's last round. */
  List<RoundTimes> bus(ExchangeCase exchange) throws IOException, InterruptedException {
    server.ask(task(ExchangeNode.SERVE_BUS, exchange), LIMIT_SECONDS);
    JsonObject task = task(ExchangeNode.WORK_BUS, exchange).put("firstRank", 0);
    if (layout == Layout.PROCESSES) {
      start(exchange.workers());
      return collect(task.put("count", 1), exchange.workers());
    }
    task.put("count", exchange.workers());
    if (layout == Layout.EMBEDDED) {
      return times(server.ask(task, LIMIT_SECONDS));
    }
    start(1);
    return collect(task.put("sharedModel", true), 1);
  }

  /** Moves the same bytes over raw TCP between the same processes. */
  List<RoundTimes> raw(ExchangeCase exchange) throws IOException, InterruptedException {
    int port = server.ask(task(ExchangeNode.SERVE_RAW, exchange), LIMIT_SECONDS).getInteger("port");
    start(exchange.workers());
    return collect(task(ExchangeNode.WORK_RAW, exchange).put("port", port), exchange.workers());
  }

  /** Moves the same bytes over raw TCP, from and into vectors that the server adds up and steps. */
  List<RoundTimes> rawSums(ExchangeCase exchange) throws IOException, InterruptedException {
    return raw(exchange.thatSums());
  }

  /**
   * Moves the same bytes over the event bus between the same processes, without Vertigrad's
   * exchange.
   */
  List<RoundTimes> bare(ExchangeCase exchange) throws IOException, InterruptedException {
    server.ask(task(ExchangeNode.SERVE_BARE, exchange), LIMIT_SECONDS);
    start(exchange.workers());
    return collect(task(ExchangeNode.WORK_BARE, exchange), exchange.workers());
  }

  /** Returns the memory use of the server's process, see {@link HeapWatch#report()}. */
  JsonObject serverMemory() throws InterruptedException {
    return server.ask(new JsonObject().put("task", ExchangeNode.MEMORY), LIMIT_SECONDS);
  }

  /** Returns the processor time of all these processes since their start. */
  long cpuNanos() throws InterruptedException {
    JsonObject question = new JsonObject().put("task", ExchangeNode.CPU);
    long nanos = server.ask(question, LIMIT_SECONDS).getLong("nanos");
    for (ChildJvm worker : workers) {
      nanos += worker.ask(question, LIMIT_SECONDS).getLong("nanos");
    }
    return nanos;
  }

  @Override
  public void close() {
    workers.forEach(ChildJvm::close);
    server.close();
  }

  private void start(int count) throws IOException, InterruptedException {
    while (workers.size() < count) {
      ChildJvm worker = start("worker " + workers.size(), true, address);
      worker.answer(LIMIT_SECONDS);
      workers.add(worker);
    }
  }

  private List<RoundTimes> collect(JsonObject task, int count) throws InterruptedException {
    for (int rank = 0; rank < count; rank++) {
      workers.get(rank).send(task.copy().put("firstRank", rank));
    }
    List<RoundTimes> all = new ArrayList<>();
    for (ChildJvm worker : workers.subList(0, count)) {
      all.addAll(times(worker.answer(LIMIT_SECONDS)));
    }
    return all;
  }

  private ChildJvm start(String name, boolean clustered, String join) throws IOException {
    return ChildJvm.start(name, ExchangeNode.class, options, Map.of())
        .send(
            new JsonObject()
                .put("task", ExchangeNode.JOIN)
                .put("clustered", clustered)
                .put("address", join));
  }

  private static JsonObject task(String name, ExchangeCase exchange) {
    return new JsonObject().put("task", name).put("exchange", exchange.toJson());
  }

  private static List<RoundTimes> times(JsonObject answer) {
    JsonArray workers = answer.getJsonArray("times");
    return workers.stream().map(JsonObject.class::cast).map(RoundTimes::fromJson).toList();
  }
}
