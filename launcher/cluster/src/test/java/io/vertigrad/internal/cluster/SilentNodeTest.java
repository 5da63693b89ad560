package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.job.ClusterConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Tests a stopped node, which the others see as cut off. It keeps its connections and answers
 * nothing, and Hazelcast does not drop it for a long time.
 */
@Tag("slow")
@EnabledOnOs({OS.LINUX, OS.MAC})
class SilentNodeTest {

  /**
   * More addresses than Hazelcast has partitions, so that the silent node would own some of them.
   */
  private static final int ADDRESSES = 64;

  private static final int LIMIT_SECONDS = 30;
  private static final long POLL_MILLIS = 20;

  private final List<Vertx> started = new ArrayList<>();
  private Process silent;

  @AfterEach
  void stop() throws Exception {
    if (silent != null) {
      silent.destroyForcibly().waitFor();
    }
    for (Vertx vertx : started) {
      await(vertx.close(), 60);
    }
  }

  @Test
  void shouldReachNewAddressesOfLiveNodesWhenAnotherNodeIsSilent() throws Exception {
    ClusterStart first = new ClusterStart("silent", config(List.of()));
    Vertx one = started(first);
    Vertx two = started(new ClusterStart("silent", config(List.of(first.joinAddress()))));
    silent = startNode(first.joinAddress());
    Awaitility.await().atMost(60, TimeUnit.SECONDS).until(() -> first.otherNodes() == 2);

    signal("STOP");
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);

    for (int i = 0; i < ADDRESSES; i++) {
      String address = "member " + i;
      await(
          one.eventBus().<String>consumer(address, m -> m.reply(m.body())).completion(),
          LIMIT_SECONDS);
      for (Vertx vertx : List.of(one, two)) {
        assertEquals("hello", ask(vertx, address, limit));
      }
    }
    assertTrue(System.nanoTime() < limit, "all of it within " + LIMIT_SECONDS + " s");
    assertEquals(2, first.otherNodes(), "Hazelcast should not have dropped the silent node yet");
  }

  /**
   * Asks until the address is known: a registration does not wait for a node that takes longer than
   * a second, which a live one does on a busy machine.
   */
  private static String ask(Vertx vertx, String address, long limit) throws Exception {
    while (true) {
      try {
        return await(vertx.eventBus().<String>request(address, "hello"), LIMIT_SECONDS).body();
      } catch (ExecutionException e) {
        boolean unknown =
            e.getCause() instanceof ReplyException no
                && no.failureType() == ReplyFailure.NO_HANDLERS;
        if (!unknown || System.nanoTime() > limit) {
          throw e;
        }
        Thread.sleep(POLL_MILLIS);
      }
    }
  }

  /** Runs a node in its own JVM, until it is killed. */
  public static void main(String[] arguments) {
    new ClusterStart("silent", config(List.of(arguments[0]))).start();
  }

  private static Process startNode(String join) throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    return new ProcessBuilder(
            java,
            "-XX:TieredStopAtLevel=1",
            "-Xmx128m",
            "-cp",
            System.getProperty("java.class.path"),
            SilentNodeTest.class.getName(),
            join)
        .inheritIO()
        .start();
  }

  private void signal(String name) throws Exception {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(silent.pid())).start();
    assertEquals(0, kill.waitFor());
  }

  private Vertx started(ClusterStart start) throws Exception {
    Vertx vertx = await(start.start(), 60);
    started.add(vertx);
    return vertx;
  }

  private static ClusterConfig config(List<String> members) {
    return new ClusterConfig(
        "127.0.0.1",
        16_951,
        ClusterConfig.MEMBERS,
        members,
        false,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        0);
  }

  private static <T> T await(Future<T> future, int seconds) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(seconds, TimeUnit.SECONDS);
  }
}
