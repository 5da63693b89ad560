package io.vertigrad.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.hazelcast.config.Config;
import com.hazelcast.config.NetworkConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.spi.metrics.VertxMetrics;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests nodes whose Vert.x has settings of an application, or was built by it. */
class OwnVertxTest {

  private static final int LIMIT_SECONDS = 120;

  private final List<Vertx> started = new ArrayList<>();

  @TempDir private Path folder;

  @AfterEach
  void stop() throws Exception {
    for (Vertx vertx : started) {
      await(vertx.close());
    }
  }

  @Test
  @Tag("slow")
  void shouldJoinWithTheBuilderAndTheOptionsOfAnApplication() throws Exception {
    ClusterStart first = ClusterStart.ofJob(job(List.of()), secret("secret"));
    VertxMetrics metrics = new VertxMetrics() {};
    VertxOptions options = new VertxOptions().setEventLoopPoolSize(1);

    Vertx own = await(first.start(Vertx.builder().withMetrics(any -> metrics), options));
    started.add(own);
    ClusterStart second = ClusterStart.ofJob(job(List.of(first.joinAddress())), secret("secret"));
    Vertx other = await(second.start());
    started.add(other);

    assertSame(metrics, ((VertxInternal) own).metrics());
    assertEquals(1, first.otherNodes());
    await(own.eventBus().<String>consumer("echo", m -> m.reply(m.body())).completion());
    assertEquals("hello", await(other.eventBus().<String>request("echo", "hello")).body());
  }

  @Test
  void shouldRefuseAVertxWithoutACluster() {
    ClusterStart start = ClusterStart.ofJob(job(List.of()), secret("secret"));
    Vertx alone = Vertx.vertx();
    started.add(alone);

    assertEquals(
        "cluster vertigrad-own: this Vert.x has no cluster manager, expected the cluster manager of"
            + " ClusterStart: build it with ClusterStart.builder, or use the one that"
            + " ClusterStart.start returns",
        refusal(start, alone));
  }

  @Test
  @Tag("slow")
  void shouldRefuseAVertxWithAnotherClusterManager() throws Exception {
    Config config = new Config().setClusterName("of-the-application");
    NetworkConfig network = config.getNetworkConfig().setPort(FreePort.find());
    network.getInterfaces().setEnabled(true).addInterface("127.0.0.1");
    network.getJoin().getMulticastConfig().setEnabled(false);
    network.getJoin().getAutoDetectionConfig().setEnabled(false);
    VertxOptions options = new VertxOptions();
    options.getEventBusOptions().setHost("127.0.0.1");
    Vertx foreign =
        await(
            Vertx.builder()
                .with(options)
                .withClusterManager(new HazelcastClusterManager(config))
                .buildClustered());
    started.add(foreign);
    ClusterStart start = ClusterStart.ofJob(job(List.of()), secret("secret"));

    assertEquals(
        "cluster vertigrad-own: this Vert.x has the cluster manager"
            + " io.vertx.spi.cluster.hazelcast.HazelcastClusterManager, expected the cluster manager"
            + " of ClusterStart: build it with ClusterStart.builder, or use the one that"
            + " ClusterStart.start returns",
        refusal(start, foreign));
  }

  @Test
  @Tag("slow")
  void shouldRefuseAVertxOfAnotherStart() throws Exception {
    Vertx other = await(ClusterStart.ofJob(job(List.of()), secret("other")).start());
    started.add(other);
    ClusterStart start = ClusterStart.ofJob(job(List.of()), secret("secret"));

    String refusal = refusal(start, other);

    assertEquals(
        "cluster vertigrad-own: this Vert.x has the cluster manager"
            + " io.vertigrad.internal.cluster.JobClusterManager",
        refusal.substring(0, refusal.indexOf(',')));
  }

  private static String refusal(ClusterStart start, Vertx vertx) {
    return assertThrows(
            IllegalArgumentException.class, () -> start.opened(vertx, new VertxOptions()))
        .getMessage();
  }

  private JobSecret secret(String file) {
    return JobSecret.createOrRead(folder.resolve(file));
  }

  private static JobConfig job(List<String> members) {
    JsonObject cluster = JsonObject.of("port", 16_901, "members", new JsonArray(members));
    return JobConfig.read("own.json", JsonObject.of("job", "own", "cluster", cluster));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
