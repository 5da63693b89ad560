package io.vertigrad.benchmarks.allreduce;

import io.vertigrad.benchmarks.process.ChildJvm;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The measured processes: one for each worker, and one that runs all of them. */
final class AllReduceNodes implements AutoCloseable {

  private static final long LIMIT_SECONDS = 600;

  private final List<ChildJvm> workers = new ArrayList<>();
  private final ChildJvm together;
  private String address = "";

  AllReduceNodes() throws IOException, InterruptedException {
    together = start("all workers", "3g");
    together.ask(task(AllReduceNode.JOIN), LIMIT_SECONDS);
  }

  /** Returns the median milliseconds of a round with a process for each worker. */
  double processes(AllReduceCase sum) throws IOException, InterruptedException {
    open(sum.workers());
    for (int rank = 0; rank < sum.workers(); rank++) {
      workers.get(rank).send(bus(sum, rank, 1));
    }
    return collect(sum.workers());
  }

  /** Returns the median milliseconds of a round with all workers in one process. */
  double embedded(AllReduceCase sum) throws InterruptedException {
    return median(together.ask(bus(sum, 0, sum.workers()), LIMIT_SECONDS));
  }

  /** Returns the median milliseconds of a round over raw TCP between the same processes. */
  double raw(AllReduceCase sum) throws IOException, InterruptedException {
    open(sum.workers());
    List<Integer> ports = new ArrayList<>();
    for (ChildJvm worker : workers.subList(0, sum.workers())) {
      ports.add(worker.ask(task(AllReduceNode.LISTEN), LIMIT_SECONDS).getInteger("port"));
    }
    for (int rank = 0; rank < sum.workers(); rank++) {
      int right = ports.get((rank + 1) % sum.workers());
      workers.get(rank).send(task(AllReduceNode.RAW).put("sum", sum.toJson()).put("right", right));
    }
    return collect(sum.workers());
  }

  @Override
  public void close() {
    workers.forEach(ChildJvm::close);
    together.close();
  }

  private void open(int count) throws IOException, InterruptedException {
    while (workers.size() < count) {
      ChildJvm worker = start("worker " + workers.size(), "1500m");
      JsonObject join = task(AllReduceNode.JOIN).put("address", address);
      address = worker.ask(join, LIMIT_SECONDS).getString("address");
      workers.add(worker);
    }
  }

  private double collect(int count) throws InterruptedException {
    double first = 0;
    for (int rank = 0; rank < count; rank++) {
      double median = median(workers.get(rank).answer(LIMIT_SECONDS));
      first = rank == 0 ? median : first;
    }
    return first;
  }

  private static double median(JsonObject answer) {
    return Repetitions.of(
            answer.getJsonArray("millis").stream()
                .map(one -> ((Number) one).doubleValue())
                .toList())
        .median();
  }

  private static ChildJvm start(String name, String heap) throws IOException {
    return ChildJvm.start(name, AllReduceNode.class, ChildJvm.settledOptions(heap), Map.of());
  }

  private static JsonObject bus(AllReduceCase sum, int first, int count) {
    return task(AllReduceNode.BUS).put("sum", sum.toJson()).put("first", first).put("count", count);
  }

  private static JsonObject task(String name) {
    return new JsonObject().put("task", name);
  }
}
