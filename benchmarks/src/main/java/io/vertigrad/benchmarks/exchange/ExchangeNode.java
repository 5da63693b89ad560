package io.vertigrad.benchmarks.exchange;

import com.sun.management.OperatingSystemMXBean;
import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertigrad.benchmarks.process.HeapWatch;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;

/** The measured process: it runs a server, workers, or both, over raw TCP or over the event bus. */
final class ExchangeNode {

  static final String JOIN = "join";
  static final String SERVE_RAW = "serve raw";
  static final String WORK_RAW = "work raw";
  static final String SERVE_BUS = "serve bus";
  static final String WORK_BUS = "work bus";
  static final String SERVE_BARE = "serve bare bus";
  static final String WORK_BARE = "work bare bus";
  static final String MEMORY = "memory";
  static final String CPU = "cpu";

  private final HeapWatch heap = new HeapWatch();
  private BusNode bus;

  private ExchangeNode() {}

  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(new ExchangeNode()::answer);
  }

  private JsonObject answer(JsonObject question) throws Exception {
    String task = question.getString("task");
    if (task.equals(JOIN)) {
      bus =
          question.getBoolean("clustered")
              ? BusNode.clustered(question.getString("address"))
              : BusNode.alone();
      return new JsonObject().put("address", bus.address());
    }
    if (task.equals(MEMORY)) {
      return heap.report();
    }
    if (task.equals(CPU)) {
      return new JsonObject().put("nanos", cpuNanos());
    }
    ExchangeCase exchange = ExchangeCase.fromJson(question.getJsonObject("exchange"));
    return switch (task) {
      case SERVE_RAW -> new JsonObject().put("port", RawTcpServer.start(exchange));
      case WORK_RAW -> times(List.of(RawTcpWorker.work(exchange, question.getInteger("port"))));
      case SERVE_BARE -> {
        bus.serveBare(exchange);
        yield new JsonObject();
      }
      case WORK_BARE -> times(List.of(bus.workBare(exchange)));
      case SERVE_BUS -> {
        bus.serve(exchange);
        heap.reset();
        yield new JsonObject();
      }
      case WORK_BUS -> times(bus.work(exchange, Ranks.fromJson(question)));
      default -> throw new IllegalArgumentException("no task '" + task + "'");
    };
  }

  /** Returns the user and system time of all threads of this process since its start. */
  private static long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private static JsonObject times(List<RoundTimes> workers) {
    JsonArray array = new JsonArray();
    workers.forEach(times -> array.add(times.toJson()));
    return new JsonObject().put("times", array);
  }
}
