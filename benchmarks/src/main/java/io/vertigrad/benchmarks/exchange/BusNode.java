package io.vertigrad.benchmarks.exchange;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.observability.BusTraffic;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** Vertigrad's side of a measured process: Vert.x with a server, workers, or both. */
public final class BusNode {

  private static final int PORT = 15_901;
  private static final long START_SECONDS = 60;

  private final Vertx vertx;
  private final String address;
  private String deployment;
  private MessageConsumer<Buffer> bare;

  private BusNode(Vertx vertx, String address) {
    this.vertx = vertx;
    this.address = address;
    FrameCodecs.register(vertx.eventBus());
  }

  /** Returns a node with everything in this process and no cluster. */
  public static BusNode alone() {
    return new BusNode(counted().build(), "");
  }

  /**
   * Returns a node of a cluster on the loopback address; it starts a cluster when there is none to
   * join.
   */
  public static BusNode clustered(String join) throws Exception {
    List<String> members = join.isEmpty() ? List.of() : List.of(join);
    ClusterConfig config =
        new ClusterConfig(
            "127.0.0.1",
            PORT,
            ClusterConfig.MEMBERS,
            members,
            false,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            0);
    ClusterStart start = new ClusterStart("vertigrad-benchmarks", config);
    Vertx vertx = start.start(counted(), new VertxOptions()).await(START_SECONDS, TimeUnit.SECONDS);
    return new BusNode(vertx, start.joinAddress());
  }

  /** Returns a Vert.x as the launcher builds it. */
  private static VertxBuilder counted() {
    return Vertx.builder().withMetrics(BusTraffic.counting());
  }

  /** Returns the address at which others join, {@code HOST:PORT}; empty without a cluster. */
  public String address() {
    return address;
  }

  public Vertx vertx() {
    return vertx;
  }

  /** Serves this case from now on, in place of the last one. */
  void serve(ExchangeCase exchange) throws Exception {
    if (deployment != null) {
      vertx.undeploy(deployment).await(START_SECONDS, TimeUnit.SECONDS);
    }
    deployment =
        vertx
            .deployVerticle(ShardServer.verticle(exchange, membership(exchange)))
            .await(START_SECONDS, TimeUnit.SECONDS);
  }

  /** Answers the bare bus's requests of this case from now on, in place of the last one. */
  void serveBare(ExchangeCase exchange) throws Exception {
    if (bare != null) {
      bare.unregister().await(START_SECONDS, TimeUnit.SECONDS);
    }
    bare = BareBus.serve(vertx, exchange);
  }

  /** Runs one worker of the bare bus. */
  RoundTimes workBare(ExchangeCase exchange) throws Exception {
    return BareBus.work(vertx, exchange);
  }

  /** Runs these workers, one thread each, and returns when all have finished. */
  List<RoundTimes> work(ExchangeCase exchange, Ranks ranks) throws Exception {
    SyntheticModel first = new SyntheticModel(exchange.parameters());
    ExecutorService threads = Executors.newFixedThreadPool(ranks.count());
    try {
      List<Callable<RoundTimes>> workers =
          ranks.stream().mapToObj(rank -> worker(exchange, ranks, rank, first)).toList();
      List<RoundTimes> times = new ArrayList<>();
      for (Future<RoundTimes> future : threads.invokeAll(workers)) {
        times.add(future.get());
      }
      return times;
    } finally {
      threads.shutdown();
    }
  }

  private Callable<RoundTimes> worker(
      ExchangeCase exchange, Ranks ranks, int rank, SyntheticModel first) {
    SyntheticModel model =
        ranks.sharedModel()
            ? first.sharing()
            : rank == ranks.first() ? first : new SyntheticModel(exchange.parameters());
    BusWorker worker = new BusWorker(vertx, exchange, model, membership(exchange), rank);
    return worker::work;
  }

  private static Membership membership(ExchangeCase exchange) {
    List<Member> workers =
        IntStream.range(0, exchange.workers()).mapToObj(rank -> new Member(rank, 0, 0)).toList();
    return new Membership(1, workers, List.of(new Member(0, 0, 0)));
  }
}
