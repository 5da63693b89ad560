package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import io.vertx.core.spi.cluster.NodeInfo;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.core.spi.cluster.RegistrationListener;
import io.vertx.core.spi.cluster.RegistrationUpdateEvent;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class BusRegistrationsTest {

  private final Map<String, BusRegistrations> cluster = new LinkedHashMap<>();
  private final Set<String> silent = new HashSet<>();
  private int lostAnswers;
  private final List<Runnable> undelivered = new CopyOnWriteArrayList<>();
  private final List<String> updates = new CopyOnWriteArrayList<>();
  private long startedMillis = BusRegistrations.STARTED_MILLIS;

  @Test
  void shouldFindAConsumerOfAnotherNodeWithoutAskingItWhenItsRegistrationIsComplete() {
    join("a", "b");

    Future<Void> added = add("b", "worker", 7);
    silent.add("b");

    assertTrue(added.succeeded());
    assertEquals(List.of(new RegistrationInfo("b", 7, false)), cluster.get("a").get("worker"));
    assertEquals(List.of("a: worker [7]", "b: worker [7]"), updates.stream().sorted().toList());
  }

  @Test
  void shouldSendRegistrationsAndAddressesToANewNode() {
    join("a");
    cluster.get("a").setInfo(new NodeInfo("10.0.0.5", 4711, null), Promise.promise());
    add("a", "coordinator", 1);

    join("b");

    assertEquals(1, cluster.get("b").get("coordinator").size());
    assertEquals(4711, cluster.get("b").info("a").result().port());
    assertTrue(cluster.get("b").info("c").failed(), "it is not in the cluster");
  }

  @Test
  @Tag("slow")
  void shouldWaitOneSecondInAllWhenANodeIsSilent() throws Exception {
    join("a", "b", "c");
    silent.add("c");
    long begun = System.nanoTime();

    Future<Void> first = add("a", "first", 1);
    assertFalse(first.isComplete(), "c may only be late");
    await(first);
    for (int i = 0; i < 30; i++) {
      await(add("a", "next " + i, i));
    }

    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis >= BusRegistrations.SLOW_MILLIS && millis < 10_000, millis + " ms");
    assertEquals(1, cluster.get("b").get("next 29").size());
  }

  @Test
  void shouldWaitShortlyForASilentNodeThatAnsweredForAWhile() throws Exception {
    startedMillis = 0;
    join("a", "b");
    silent.add("b");
    long begun = System.nanoTime();

    await(add("a", "first", 1));

    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis >= BusRegistrations.SILENT_MILLIS, millis + " ms");
    assertTrue(millis < BusRegistrations.SLOW_MILLIS, millis + " ms");
  }

  @Test
  @Tag("slow")
  void shouldSendTheNewestVersionToANodeThatAnswersAgain() throws Exception {
    join("a", "b");
    silent.add("b");
    await(add("a", "old", 1));
    cluster.get("a").remove("old", new RegistrationInfo("a", 1, false));
    await(add("a", "new", 2));
    assertEquals(List.of(), cluster.get("b").get("new"));

    silent.clear();
    undelivered.forEach(Runnable::run);

    assertEquals(1, cluster.get("b").get("new").size());
    assertEquals(List.of(), cluster.get("b").get("old"));
  }

  /** The registration waits no longer than for a silent node, so a lost answer must cost less. */
  @Test
  void shouldReachALiveNodeWithinASecondWhenOneAnswerIsLost() throws Exception {
    join("a", "b");
    lostAnswers = 1;
    add("a", "first", 1);
    long begun = System.nanoTime();

    await(add("a", "second", 2));

    assertEquals(1, cluster.get("b").get("second").size());
    long millis = (System.nanoTime() - begun) / 1_000_000;
    assertTrue(millis < BusRegistrations.SLOW_MILLIS, millis + " ms");
  }

  @Test
  void shouldUseALateAnswerAfterARetry() throws Exception {
    join("a", "b");
    silent.add("b");
    Future<Void> added = add("a", "first", 1);
    Awaitility.await().atMost(Duration.ofSeconds(5)).until(() -> undelivered.size() == 2);

    undelivered.get(0).run();

    assertTrue(added.succeeded());
    assertEquals(1, cluster.get("b").get("first").size());
  }

  @Test
  void shouldRemoveANodeThatLeftAndReadmitItWhenOnlyOneSideDroppedIt() {
    join("a", "b");
    add("b", "worker", 7);

    BusRegistrations dropped = cluster.remove("b");
    cluster.get("a").updateNodes();
    assertEquals(List.of(), cluster.get("a").get("worker"));
    assertTrue(updates.contains("a: worker []"), updates::toString);
    cluster.put("b", dropped);
    cluster.get("a").updateNodes();

    assertEquals(1, cluster.get("a").get("worker").size());
  }

  @Test
  void shouldKeepLocalConsumersToItself() {
    join("a", "b");
    Promise<Void> added = Promise.promise();

    cluster.get("a").add("reply", new RegistrationInfo("a", 1, true), added);

    assertTrue(added.future().succeeded());
    assertEquals(1, cluster.get("a").get("reply").size());
    assertEquals(List.of(), cluster.get("b").get("reply"));
  }

  private void join(String... nodes) {
    for (String node : nodes) {
      cluster.put(
          node,
          new BusRegistrations(
              node,
              listener(node),
              () -> Set.copyOf(cluster.keySet()),
              this::request,
              startedMillis));
      cluster.values().forEach(BusRegistrations::updateNodes);
    }
  }

  private Future<Void> add(String node, String address, long seq) {
    Promise<Void> added = Promise.promise();
    cluster.get(node).add(address, new RegistrationInfo(node, seq, false), added);
    return added.future();
  }

  /**
   * Delivers a message. A silent node neither receives nor answers it until the test delivers it.
   */
  private Future<JsonObject> request(String node, JsonObject message) {
    JsonObject copy = message.copy();
    Promise<JsonObject> answer = Promise.promise();
    boolean loses = lostAnswers-- > 0;
    Runnable deliver =
        () -> {
          JsonObject reply = cluster.get(node).receive(copy);
          if (!loses) {
            answer.complete(reply);
          }
        };
    if (silent.contains(node)) {
      undelivered.add(deliver);
    } else {
      deliver.run();
    }
    return answer.future();
  }

  private RegistrationListener listener(String node) {
    return new RegistrationListener() {
      @Override
      public boolean wantsUpdatesFor(String address) {
        return true;
      }

      @Override
      public void registrationsUpdated(RegistrationUpdateEvent event) {
        updates.add(
            "%s: %s %s"
                .formatted(
                    node,
                    event.address(),
                    event.registrations().stream().map(RegistrationInfo::seq).toList()));
      }
    };
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
