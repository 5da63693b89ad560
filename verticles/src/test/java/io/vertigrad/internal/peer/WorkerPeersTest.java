package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Tag;
import io.vertx.core.Future;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class WorkerPeersTest extends TwoPeers {

  @Test
  void shouldDeliverAMessageWhenItsReceiverListensLater() {
    left.send(1, TAG, ONE);
    await(right.open());
    group(1, right, 0, 1);

    assertEquals(ONE, right.receive(0, TAG));
    assertEquals(8, right.traffic().bytesReceived());
    assertEquals(Optional.empty(), right.poll(0, TAG));
  }

  /** Its retries must not be timers of that verticle. */
  @Test
  void shouldRepeatAMessageWhenTheVerticleOnWhoseThreadItWasSentHasEnded() {
    String sender =
        await(
            vertx.deployVerticle(
                context -> {
                  left.send(1, TAG, ONE);
                  return Future.succeededFuture();
                }));
    await(vertx.undeploy(sender));
    await(right.open());
    group(1, right, 0, 1);

    assertEquals(ONE, right.receive(0, TAG));
  }

  @Test
  void shouldKeepAMessageOfAnUnknownEpoch() {
    await(right.open());
    group(1, right, 0, 1);
    group(2, left, 0, 1);
    left.send(1, TAG, ONE);
    Awaitility.await().until(() -> right.traffic().bytesReceived() > 0);

    assertEquals(Optional.empty(), right.poll(0, TAG));
    group(2, right, 0, 1);

    assertEquals(ONE, right.receive(0, TAG));
  }

  @Test
  void shouldRepeatAtMostTheWindowWhenNothingIsAcknowledged() {
    AtomicInteger came = new AtomicInteger();
    var consumer =
        vertx
            .eventBus()
            .<Frame>consumer("vertigrad.peers.peer.1.0", message -> came.incrementAndGet());
    await(consumer.completion());
    IntStream.range(0, 6).forEach(i -> left.send(1, new Tag(0, 0, i), ONE));
    // The window of 16 bytes holds two frames of 8: these are sent repeatedly, the others are not.
    Awaitility.await().until(() -> came.get() >= 6);
    await(consumer.unregister());

    await(right.open());
    group(1, right, 0, 1);

    IntStream.range(0, 6).forEach(i -> assertEquals(ONE, right.receive(0, new Tag(0, 0, i))));
    assertEquals(Map.of(0, 6 * 8L), right.traffic().receivedFrom());
    assertEquals(Map.of(1, 6 * 8L), left.traffic().sentTo());
  }

  @Test
  void shouldNameTheSilentWorkersWhenTheDeadlinePasses() {
    UnansweredException late = assertThrows(UnansweredException.class, () -> left.receive(1, TAG));

    assertEquals(
        "worker 0 (incarnation 0): nothing from worker 1 (incarnation 0) for 400 ms: round 3,"
            + " phase 1, piece 2 of membership epoch 1. See that worker's log, or raise"
            + " exchange.deadlineMillis",
        late.getMessage());
  }

  @Test
  void shouldReturnArrivedResultsAndNameTheFirstMissingOne() {
    await(right.open());
    group(1, right, 0, 1);
    List<Tag> tags = IntStream.range(0, 4).mapToObj(i -> new Tag(3, 1, i)).toList();
    List<Tag> taken = new CopyOnWriteArrayList<>();
    for (int piece : new int[] {0, 2, 3, 2}) {
      right.send(0, tags.get(piece), ONE);
    }

    UnansweredException late =
        assertThrows(
            UnansweredException.class,
            () -> left.receive(1, tags, (tag, tensor) -> taken.add(tag)));

    assertTrue(late.getMessage().contains("piece 1 of membership epoch 1"), late.getMessage());
    assertEquals(Set.of(tags.get(0), tags.get(2), tags.get(3)), Set.copyOf(taken));
    assertEquals(3, taken.size());
  }

  @Test
  void shouldRecordTheAwaitedWorkerAndTheDuration() {
    List<String> noted = new CopyOnWriteArrayList<>();
    SpanRecorder track =
        new SpanRecorder() {
          @Override
          public long now() {
            return System.nanoTime();
          }

          @Override
          public void span(String name, long begunNanos, long endedNanos, long step) {
            noted.add(name + ", step " + step);
            assertTrue(endedNanos - begunNanos >= 80_000_000, "the sender slept for 100 ms");
          }
        };
    WorkerPeers third = peers(2, track);
    await(third.open());
    group(2, third, 0, 2);
    group(2, left, 0, 2);
    vertx.setTimer(100, id -> left.send(2, TAG, ONE));

    assertEquals(ONE, third.receive(0, TAG));

    assertEquals(List.of("wait for worker 0, step 3"), noted);
  }

  @Test
  void shouldEndAWaitWhenTheGroupChanges() throws Exception {
    CompletableFuture<Void> waiting =
        CompletableFuture.runAsync(
            () -> assertThrows(GroupChangedException.class, () -> left.receive(1, TAG)));

    left.membershipChanged(membership(2, 0, 2));

    waiting.get(5, TimeUnit.SECONDS);
    assertTrue(left.hasNewGroup());
    assertEquals(List.of(0, 2), left.adopt().ranks());
  }

  @Test
  void shouldRejectAGroupItIsNotPartOf() {
    left.membershipChanged(membership(2, 1, 2));

    assertEquals(false, left.hasNewGroup());
    assertEquals(false, left.current());
    assertThrows(GroupChangedException.class, left::adopt);
  }

  @Test
  void shouldRefuseFramesOfOtherEndpoints() {
    ExchangeId id = new ExchangeId(job.addresses().jobHash(), 1, 0, 1, 3, 2);

    assertNull(ask(new PeerPartition(id, LAYOUT, 1, ONE)));
    Refusal foreign =
        assertInstanceOf(Refusal.class, ask(new PeerPartition(id, LAYOUT + 1, 1, ONE)));
    assertEquals(Refusal.Reason.WRONG_LAYOUT, foreign.reason());
    assertInstanceOf(Malformed.class, ask(new PullRequest(id, LAYOUT, 0)));
    assertEquals(8, left.traffic().bytesReceived());
  }

  private Frame ask(Frame frame) {
    return await(vertx.eventBus().<Frame>request("vertigrad.peers.peer.0.0", frame)).body();
  }
}
