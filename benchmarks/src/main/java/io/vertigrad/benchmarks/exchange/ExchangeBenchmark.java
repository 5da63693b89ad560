package io.vertigrad.benchmarks.exchange;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.List;

public final class ExchangeBenchmark implements Benchmark {
  public String name() { return "exchange"; }
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    var server = io.vertigrad.benchmarks.process.ChildJvm.start("server", ExchangeNode.class, List.of("-Xmx1g"), java.util.Map.of());
    java.util.ArrayList<io.vertigrad.benchmarks.process.ChildJvm> ws = new java.util.ArrayList<>();
    for (int w : List.of(1, 2)) {
      while (ws.size() < w) ws.add(io.vertigrad.benchmarks.process.ChildJvm.start("worker" + ws.size(), ExchangeNode.class, List.of("-Xmx1g"), java.util.Map.of()));
      for (int n : List.of(2000, 270000, 2500000, 25000000)) {
        int rounds = Math.max(3, Math.min(2000, 50_000_000 / n));
        var c = new ExchangeCase("sync", n, w, rounds, rounds / 4 + 1);
        for (int rep = 0; rep < 2; rep++) {
        int port = server.ask(new io.vertx.core.json.JsonObject().put("task", "serve raw").put("exchange", c.toJson()), 30).getInteger("port");
        for (int i = 0; i < w; i++) ws.get(i).tell(new io.vertx.core.json.JsonObject().put("task", "work raw").put("exchange", c.toJson()).put("port", port));
        java.util.ArrayList<RoundTimes> t = new java.util.ArrayList<>();
        for (int i = 0; i < w; i++) t.add(RoundTimes.fromJson(ws.get(i).answer(60)));
        if (rep > 0) {
          double rps = RoundTimes.roundsPerSecond(t);
          report.add(BenchmarkRow.of(n + " x" + w, "M/s", new Repetitions(new double[] {rps * n / 1e6})));
          report.add(BenchmarkRow.of(n + " x" + w, "ms", new Repetitions(t.get(0).millis())));
        }
        }
      }
    }
    server.close(); ws.forEach(x -> x.close());
  }
}
