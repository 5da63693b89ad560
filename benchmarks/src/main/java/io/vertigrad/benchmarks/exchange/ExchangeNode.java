package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertx.core.json.JsonObject;
import java.io.IOException;

/** The measured process: serves, works, or both, over raw TCP or over the event bus. */
final class ExchangeNode {

  private ExchangeNode() {}

  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(ExchangeNode::answer);
  }

  private static JsonObject answer(JsonObject question) throws Exception {
    ExchangeCase exchange = ExchangeCase.fromJson(question.getJsonObject("exchange"));
    String task = question.getString("task");
    return switch (task) {
      case "serve raw" -> new JsonObject().put("port", RawTcpServer.start(exchange));
      case "work raw" -> RawTcpWorker.work(exchange, question.getInteger("port")).toJson();
      default -> throw new IllegalArgumentException("no task '" + task + "'");
    };
  }
}
