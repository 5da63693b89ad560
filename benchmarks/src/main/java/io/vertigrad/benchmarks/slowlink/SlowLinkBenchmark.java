package io.vertigrad.benchmarks.slowlink;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.testkit.chaos.NetworkLink;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Measures what every strategy does when the link between two workers has 10,000, 1,000, 100 or 10
 * Mbit/s, with a round trip of 0.2 and 20 ms where the kernel can delay packets, with an MLP (0.4
 * million parameters), a ConvNet (2,000) and a ResNet-20 (0.3 million). Beside it PyTorch over
 * gloo, where there is a Python that has it.
 */
public final class SlowLinkBenchmark implements Benchmark {

  static final List<Integer> MEGABITS = List.of(10_000, 1_000, 100, 10);

  /** Round trips in ms; 0 is that of the machine itself. */
  private static final List<Double> ROUND_TRIPS = List.of(0.0, 0.2, 20.0);

  /** The models of grey pictures, then that of coloured ones. */
  static final List<String> MODELS = List.of("mlp", "convnet", "resnet20");

  private static final String PYTHON = System.getenv("PYTHON");
  private static final String GLOO = "gloo ";

  /** The first half is warm-up. */
  private static final double MINUTES = 1 / 3.0;

  private static final double QUICK_MINUTES = 0.1;
  private static final int GLOO_SECONDS = 10;
  private static final int QUICK_GLOO_SECONDS = 2;
  private static final int PORT = 26_700;
  private static final int JOIN_PORT = PORT + 100;
  private static final long SECRET_SECONDS = 60;
  private static final long LIMIT_SECONDS = 180;
  private static final long POLL_MILLIS = 100;

  private final String only;
  private final String data;
  private GlooPeer gloo;

  /**
   * Creates the benchmark.
   *
   * @param only a text that the names of the measured cases contain; empty for all
   * @param data folder of the files of MNIST, or of CIFAR-10 for the ResNet-20 alone; empty for
   *     generated pictures and all models
   */
  public SlowLinkBenchmark(String only, String data) {
    this.only = only;
    this.data = data;
  }

  @Override
  public String name() {
    return "slow-link";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    List<Measurement> chosen = Cases.named(only, all(data, PYTHON != null), Measurement::title);
    NetworkLink link;
    try {
      link = NetworkLink.create();
    } catch (IOException e) {
      report.remark("nothing was measured: " + e.getMessage());
      return;
    }
    Path folder = Files.createDirectories(Path.of("benchmarks/target"));
    try (link) {
      for (Measurement next : possible(report, link, chosen)) {
        link.limit(next.link().megabits(), next.link().roundTripMillis());
        double throughput =
            next.way().startsWith(GLOO)
                ? measureGloo(report, link, next, quick)
                : measure(report, link, next, quick);
        if (next.link().roundTripMillis() == 0) {
          draw(folder, next, throughput);
        }
      }
    }
    report.remark(
        "pictures, with what was measured before: %s"
            .formatted(folder.resolve("slow-link-MODEL.svg")));
  }

  /** Returns the measurements that this machine can make; says once why it cannot make others. */
  private List<Measurement> possible(
      BenchmarkReport report, NetworkLink link, List<Measurement> chosen)
      throws InterruptedException {
    List<Measurement> possible = new ArrayList<>(chosen);
    if (chosen.stream().anyMatch(next -> next.link().roundTripMillis() > 0)) {
      link.whyNoDelay()
          .ifPresent(
              why -> {
                possible.removeIf(next -> next.link().roundTripMillis() > 0);
                report.remark("without the links that have a delay: " + why);
              });
    }
    if (possible.stream().anyMatch(next -> next.way().startsWith(GLOO))) {
      try {
        gloo = GlooPeer.of(PYTHON);
      } catch (IOException e) {
        possible.removeIf(next -> next.way().startsWith(GLOO));
        report.remark("without gloo: " + e.getMessage());
      }
    }
    return possible;
  }

  /** Adds a throughput to those that were measured before, and draws all of that model. */
  private static void draw(Path folder, Measurement next, double throughput) throws IOException {
    Path values = folder.resolve("slow-link-%s.json".formatted(next.model()));
    Path picture = folder.resolve("slow-link-%s.svg".formatted(next.model()));
    JsonObject throughputs =
        Files.exists(values) ? new JsonObject(Files.readString(values)) : new JsonObject();
    JsonObject rates = throughputs.getJsonObject(next.way(), new JsonObject());
    throughputs.put(next.way(), rates.put(Integer.toString(next.link().megabits()), throughput));
    Files.writeString(values, throughputs.encodePrettily());
    Files.writeString(picture, new ThroughputPicture(byCase(throughputs)).svg());
  }

  /** Returns the measurements that are possible with these data. */
  private static List<Measurement> all(String data, boolean python) {
    boolean coloured =
        Stream.of("data_batch_1.bin", "data_batch_1.bin.gz")
            .anyMatch(file -> Files.exists(Path.of(data, file)));
    return Measurement.all(python).stream()
        .filter(next -> data.isEmpty() || next.model().equals("resnet20") == coloured)
        .toList();
  }

  /** Returns samples a second by Mbit/s for each case, in the order of the cases. */
  static Map<String, Map<Integer, Double>> byCase(JsonObject throughputs) {
    Map<String, Map<Integer, Double>> curves = new LinkedHashMap<>();
    for (String way : Measurement.ways(true)) {
      JsonObject rates = throughputs.getJsonObject(way, new JsonObject());
      for (String megabits : rates.fieldNames()) {
        curves
            .computeIfAbsent(way, name -> new TreeMap<>())
            .put(Integer.valueOf(megabits), rates.getDouble(megabits));
      }
    }
    return curves;
  }

  /**
   * A link.
   *
   * @param megabits rate in Mbit/s
   * @param roundTripMillis delay of a packet and its answer together, in ms
   */
  record Link(int megabits, double roundTripMillis) {

    String title() {
      String rate = String.format(Locale.ROOT, "%,d Mbit/s", megabits);
      return roundTripMillis == 0
          ? rate
          : rate
              + " with "
              + (roundTripMillis < 1 ? "" + roundTripMillis : "" + (int) roundTripMillis)
              + " ms";
    }
  }

  /**
   * A way to exchange over one link.
   *
   * @param way name of a case, or {@link #GLOO} and a strategy
   */
  record Measurement(String model, Link link, String way) {

    static List<Measurement> all(boolean python) {
      List<Measurement> all = new ArrayList<>();
      for (String model : MODELS) {
        for (double roundTrip : ROUND_TRIPS) {
          for (int megabits : MEGABITS) {
            Link link = new Link(megabits, roundTrip);
            ways(python).forEach(way -> all.add(new Measurement(model, link, way)));
          }
        }
      }
      return all;
    }

    static List<String> ways(boolean python) {
      List<String> ways = new ArrayList<>();
      SlowLinkCase.all().forEach(one -> ways.add(one.name()));
      if (python) {
        GlooPeer.STRATEGIES.forEach(strategy -> ways.add(GLOO + strategy));
      }
      return ways;
    }

    SlowLinkCase one() {
      return SlowLinkCase.all().stream().filter(one -> one.name().equals(way)).findAny().get();
    }

    String title() {
      return String.join(", ", model, link.title(), way);
    }
  }

  /** Trains one case and returns its samples a second. */
  private double measure(BenchmarkReport report, NetworkLink link, Measurement next, boolean quick)
      throws IOException, InterruptedException {
    SlowLinkCase one = next.one();
    String title = next.title();
    TrainCommandLine.Trained run =
        train(link, one.job(next.model(), quick ? QUICK_MINUTES : MINUTES, data, PORT));
    double samples = run.summary().getDouble("samples");
    SteadyRate steady = SteadyRate.of(run.events());
    addShare(report, title, steady.samplesPerSecond(), steady.limit(next.link().megabits()));
    row(
        report,
        title + ", exchanged",
        "bytes/sample",
        exchangedBytes(run.events(), one.hasServers()) / samples);
    row(report, title + ", accuracy", "%", run.summary().getDouble("accuracy"));
    return steady.samplesPerSecond();
  }

  /** Measures PyTorch over gloo and returns its samples a second. */
  private double measureGloo(
      BenchmarkReport report, NetworkLink link, Measurement next, boolean quick)
      throws IOException, InterruptedException {
    GlooPeer.Measured measured =
        gloo.measure(
            GlooPeer.Ends.of(link),
            next.model(),
            next.way().substring(GLOO.length()),
            SlowLinkCase.BATCH,
            next.link().megabits(),
            quick ? QUICK_GLOO_SECONDS : GLOO_SECONDS,
            LIMIT_SECONDS);
    addShare(report, next.title(), measured.samplesPerSecond(), measured.limit());
    return measured.samplesPerSecond();
  }

  /** Adds a throughput and, where something was exchanged, its share of the link's limit. */
  private static void addShare(
      BenchmarkReport report, String title, double samplesPerSecond, double limit) {
    row(report, title + ", throughput", "samples/s", samplesPerSecond);
    if (Double.isInfinite(limit)) {
      report.remark(title + ": no exchange ended in this time, so the link has no limit for it");
      return;
    }
    row(report, title + ", limit of the link", "samples/s", limit);
    row(report, title + ", share of the limit", "of 1", samplesPerSecond / limit);
  }

  private static void row(BenchmarkReport report, String name, String unit, double value) {
    report.add(BenchmarkRow.of(name, unit, Repetitions.of(List.of(value))));
  }

  /** Returns the payload that workers have sent, and what they have received from servers. */
  private static double exchangedBytes(List<JsonObject> events, boolean servers) {
    Map<Integer, Long> bytes = new TreeMap<>();
    for (JsonObject event : events) {
      if (event.getString("type").equals("workerProgress")) {
        long received = servers ? event.getLong("bytesReceived") : 0;
        bytes.merge(event.getInteger("rank"), event.getLong("bytesSent") + received, Math::max);
      }
    }
    return bytes.values().stream().mapToLong(Long::longValue).sum();
  }

  private TrainCommandLine.Trained train(NetworkLink link, JsonObject job)
      throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("vertigrad-slow-link-");
    Path run = folder.resolve("run");
    List<Process> processes = new ArrayList<>();
    try {
      Path file = Files.writeString(folder.resolve("job.json"), job.encodePrettily());
      processes.add(
          start(
              folder.resolve("near"),
              link.near(
                  words(
                      "train " + file + " --quiet --run-dir " + run,
                      "--workers-here 1 --insecure --host " + NetworkLink.NEAR_HOST))));
      await(processes.get(0), SECRET_SECONDS, run.resolve("secret"));
      processes.add(
          start(
              folder.resolve("far"),
              link.far(
                  words(
                      "node %s:%s --secret %s/secret"
                          .formatted(NetworkLink.NEAR_HOST, JOIN_PORT, run),
                      "--wait 60 --insecure --role worker --host "
                          + NetworkLink.FAR_HOST
                          + (data.isEmpty() ? "" : " --data " + data)))));
      boolean ended = processes.get(0).waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
      if (!ended || processes.get(0).exitValue() != 0) {
        throw new IOException(
            "%s%n%s"
                .formatted(
                    Files.readString(folder.resolve("near")),
                    Files.readString(folder.resolve("far"))));
      }
      return new TrainCommandLine.Trained(
          new JsonObject(Files.readString(run.resolve("summary.json"))),
          Files.readAllLines(run.resolve("events.jsonl")).stream().map(JsonObject::new).toList(),
          List.of());
    } finally {
      for (Process process : processes) {
        process.destroy();
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      }
      TrainCommandLine.delete(folder);
    }
  }

  private static List<String> words(String... texts) {
    List<String> words = new ArrayList<>(List.of("./vertigrad"));
    for (String text : texts) {
      words.addAll(List.of(text.split(" ")));
    }
    return words;
  }

  private static Process start(Path output, List<String> words) throws IOException {
    return new ProcessBuilder(words)
        .redirectErrorStream(true)
        .redirectOutput(output.toFile())
        .start();
  }

  private static void await(Process process, long seconds, Path file) throws InterruptedException {
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (process.isAlive() && !Files.exists(file) && System.nanoTime() < limit) {
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
  }
}
