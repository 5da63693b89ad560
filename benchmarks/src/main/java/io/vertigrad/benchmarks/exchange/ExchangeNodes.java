package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The measured processes: one with the server, and one for each worker, or one for all. */
final class ExchangeNodes implements AutoCloseable {

  private static final long LIMIT_SECONDS = 300;

  private final List<String> options;
  private final boolean embedded;
  private final ChildJvm server;
  private final List<ChildJvm> workers = new ArrayList<>();
  private final String address;

  private ExchangeNodes(boolean embedded, List<String> options)
      throws IOException, InterruptedException {
    this.options = options;
    this.embedded = embedded;
    this.server = start("server", !embedded, "");
    this.address = server.answer(LIMIT_SECONDS).getString("address");
  }

  /** Server and workers in one process, without a cluster. */
  static ExchangeNodes embedded(List<String> options) throws IOException, InterruptedException {
    return new ExchangeNodes(true, options);
  }

  /** Server and each worker in a process of its own. */
  static ExchangeNodes processes(List<String> options) throws IOException, InterruptedException {
    return new ExchangeNodes(false, options);
  }

  /** The product's exchange, from deployment of the server to the last worker's last round. */
  List<RoundTimes> bus(ExchangeCase exchange) throws IOException, InterruptedException {
    server.ask(task(ExchangeNode.SERVE_BUS, exchange), LIMIT_SECONDS);
    if (embedded) {
      JsonObject all = task(ExchangeNode.WORK_BUS, exchange).put("firstRank", 0);
      return times(server.ask(all.put("count", exchange.workers()), LIMIT_SECONDS));
    }
    return collect(exchange, task(ExchangeNode.WORK_BUS, exchange).put("count", 1));
  }

  /** The same bytes over raw TCP between the same processes. */
  List<RoundTimes> raw(ExchangeCase exchange) throws IOException, InterruptedException {
    int port =
        server.ask(task(ExchangeNode.SERVE_RAW, exchange), LIMIT_SECONDS).getInteger("port");
    return collect(exchange, task(ExchangeNode.WORK_RAW, exchange).put("port", port));
  }

  @Override
  public void close() {
    workers.forEach(ChildJvm::close);
    server.close();
  }

  private List<RoundTimes> collect(ExchangeCase exchange, JsonObject task)
      throws IOException, InterruptedException {
    while (workers.size() < exchange.workers()) {
      ChildJvm worker = start("worker " + workers.size(), true, address);
      worker.answer(LIMIT_SECONDS);
      workers.add(worker);
    }
    List<ChildJvm> taking = workers.subList(0, exchange.workers());
    for (int rank = 0; rank < taking.size(); rank++) {
      taking.get(rank).tell(task.copy().put("firstRank", rank));
    }
    List<RoundTimes> all = new ArrayList<>();
    for (ChildJvm worker : taking) {
      all.addAll(times(worker.answer(LIMIT_SECONDS)));
    }
    return all;
  }

  private ChildJvm start(String name, boolean clustered, String join) throws IOException {
    return ChildJvm.start(name, ExchangeNode.class, options, Map.of())
        .tell(
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
