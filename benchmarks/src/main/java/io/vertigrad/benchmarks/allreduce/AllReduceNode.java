package io.vertigrad.benchmarks.allreduce;

import io.vertigrad.benchmarks.exchange.BusNode;
import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** The measured process: it runs one worker or all of them, over raw TCP or over the event bus. */
final class AllReduceNode {

  static final String JOIN = "join";
  static final String LISTEN = "listen";
  static final String RAW = "raw";
  static final String BUS = "bus";

  private final List<BusMember> members = new ArrayList<>();
  private BusNode bus;
  private RawRing ring;

  private AllReduceNode() {}

  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(new AllReduceNode()::answer);
  }

  private JsonObject answer(JsonObject question) throws Exception {
    return switch (question.getString("task")) {
      case JOIN -> {
        String address = question.getString("address");
        bus = address == null ? BusNode.alone() : BusNode.clustered(address);
        yield new JsonObject().put("address", bus.address());
      }
      case LISTEN -> {
        ring = new RawRing();
        yield new JsonObject().put("port", ring.port());
      }
      case RAW -> {
        try (RawRing open = ring) {
          yield times(open.work(sum(question), question.getInteger("right")));
        }
      }
      case BUS -> times(work(sum(question), question));
      default -> throw new IllegalArgumentException("no task " + question.encode());
    };
  }

  /**
   * Runs the workers of this process; returns the milliseconds of the first rank's rounds when all
   * of them have finished.
   */
  private double[] work(AllReduceCase sum, JsonObject question) throws Exception {
    for (BusMember former : members) {
      former.close();
    }
    members.clear();
    int first = question.getInteger("first");
    IntStream.range(first, first + question.getInteger("count"))
        .forEach(rank -> members.add(new BusMember(bus.vertx(), sum, rank)));
    ExecutorService threads = Executors.newFixedThreadPool(members.size());
    try {
      List<Callable<double[]>> works = new ArrayList<>();
      members.forEach(member -> works.add(member::work));
      List<Future<double[]>> ended = threads.invokeAll(works);
      for (Future<double[]> one : ended) {
        one.get();
      }
      return ended.get(0).get();
    } finally {
      threads.shutdown();
    }
  }

  private static AllReduceCase sum(JsonObject question) {
    return AllReduceCase.fromJson(question.getJsonObject("sum"));
  }

  private static JsonObject times(double[] millis) {
    JsonArray array = new JsonArray();
    Arrays.stream(millis).forEach(array::add);
    return new JsonObject().put("millis", array);
  }
}
