package io.vertigrad.events;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.testkit.TestJob;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ScalarsTest {

  private final List<TrainingEvent> published = new ArrayList<>();
  private final Deque<Runnable> timers = new ArrayDeque<>();
  private final Scalars scalars = new Scalars("worker 0", published::add, timers::add);

  @Test
  void shouldPublishTheNewestVersionOnceAnIntervalAndCountAllValues() {
    scalars.report("margin", 1, 10);
    scalars.report("margin", 2, 20);
    scalars.report("margin", 2, 40);
    scalars.report("margin", 1, 99);

    assertEquals(List.of(), published);
    assertEquals(1, timers.size());
    timers.remove().run();
    scalars.report("margin", 3, 5);
    timers.remove().run();

    assertEquals(
        List.of(
            new ScalarReported(time(0), "worker 0", "margin", 2, 30, 4, 0),
            new ScalarReported(time(1), "worker 0", "margin", 3, 5, 5, 0)),
        published);
  }

  @Test
  void shouldPublishTheScalarsOfAWorkerUnderItsNameWhenAServerReportsThem() {
    scalars.ofWorker(7).report("distance", 4, 1.5);
    scalars.ofWorker(7).report("distance", 5, 2.5);
    scalars.ofWorker(8).report("distance", 5, 1);

    scalars.flush();

    assertEquals(
        List.of(
            new ScalarReported(time(0), "worker 7", "distance", 5, 2.5, 2, 0),
            new ScalarReported(time(1), "worker 8", "distance", 5, 1, 1, 0)),
        published.stream().sorted(Comparator.comparing(event -> source(event))).toList());
  }

  private static String source(TrainingEvent event) {
    return ((ScalarReported) event).source();
  }

  @Test
  void shouldPublishNothingWhenNothingWasReportedInAnInterval() {
    scalars.report("margin", 1, 10);
    timers.remove().run();
    scalars.flush();

    assertEquals(1, published.size());
    assertEquals(0, timers.size());
  }

  @Test
  void shouldPublishAndCountValuesThatAreNotFinite() {
    scalars.report("margin", 1, Double.NaN);
    scalars.report("margin", 1, 1);
    scalars.flush();

    assertEquals(
        new ScalarReported(time(0), "worker 0", "margin", 1, Double.NaN, 2, 1), published.get(0));
  }

  @Test
  void shouldLeaveOutNamesBeyondTheLimitAndKeepTheOthers() {
    for (int i = 0; i <= Scalars.NAMES; i++) {
      scalars.report("s" + i, 1, i);
    }
    scalars.report("s0", 2, 7);
    scalars.flush();

    assertEquals(Scalars.NAMES, published.size());
    assertEquals(7, ((ScalarReported) published.get(0)).value());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1st", "a b", "a/b", "<b>", "ä"})
  void shouldRefuseNamesOfAnotherForm(String name) {
    String message =
        assertThrows(IllegalArgumentException.class, () -> scalars.report(name, 1, 1)).getMessage();

    assertTrue(message.startsWith("worker 0: scalar \"" + name + "\": expected a letter"), message);
  }

  @Test
  void shouldRefuseSourcesOfAnotherForm() {
    assertThrows(
        IllegalArgumentException.class, () -> new Scalars("a/b", published::add, timers::add));
    assertThrows(
        IllegalArgumentException.class,
        () -> new Scalars("a".repeat(65), published::add, timers::add));
  }

  @Test
  void shouldReachSubscribersFromAVerticleAndFromTheStrategyOfAShard() {
    Vertx vertx = Vertx.vertx();
    try {
      Queue<ScalarReported> heard = new ConcurrentLinkedQueue<>();
      TrainingEvents.of(vertx, "test").ofType(ScalarReported.class).subscribe(heard::add);
      ParameterStore store = new TestJob("{\"name\": \"sync\"}", 8, 0, 10, 1).store(0);
      store.reportTo(Scalars.of(vertx, "test", "server 0"));
      PartitionStore partition = store.partitions().get(0);
      partition.skipTo(7);

      partition.report("cut.share", 0.5);
      vertx
          .deployVerticle(
              new VerticleBase() {
                @Override
                public Future<?> start() {
                  Scalars.of(vertx, "test", "my feed").report("queue.length", 3, 12);
                  return Future.succeededFuture();
                }
              })
          .compose(vertx::undeploy);

      Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> heard.size() == 2);
      assertEquals(
          Map.of(
              "server 0 cut.share", List.of(7.0, 0.5), "my feed queue.length", List.of(3.0, 12.0)),
          heard.stream()
              .collect(
                  Collectors.toMap(
                      event -> event.source() + " " + event.name(),
                      event -> List.of((double) event.version(), event.value()))));
    } finally {
      vertx.close();
    }
  }

  @Test
  void shouldNotFailTheCallerWhenVertxIsClosed() {
    Vertx vertx = Vertx.vertx();
    Scalars late = Scalars.of(vertx, "test", "worker 0");
    vertx.close().toCompletionStage().toCompletableFuture().join();

    assertDoesNotThrow(() -> late.report("margin", 1, 1));
    assertDoesNotThrow(late::flush);
  }

  private long time(int index) {
    return published.get(index).timeMillis();
  }
}
