package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.server.ShardService.ShardEndpoint;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests the answers before and after the last version is on the disk, in a job of two rounds. */
final class ShardEndpointTest {

  private final TestJob job = new TestJob("{\"name\": \"sync\"}", 8, 0, 2, 2).withRanks(2);
  private final TestShard shard = job.shard();
  private final List<Future<Frame>> answers = new ArrayList<>();
  private final Promise<Void> written = Promise.promise();
  private final List<Checkpoint> saves = new ArrayList<>();
  private final ShardEndpoint endpoint =
      new ShardEndpoint(shard.internal(), job.clock, () -> {}, () -> {}, () -> {}, this::save);

  @AfterEach
  void giveBackAnswers() {
    written.tryComplete();
    answers.forEach(
        answer ->
            answer.onSuccess(
                frame -> SharedTensor.giveBack(((ParameterPartition) frame).parameters())));
  }

  @Test
  void shouldHoldAnswersOfTheLastVersionUntilItIsOnDisk() {
    shard.membershipChanged(TestJob.workers(2));
    assertTrue(round(0, 0).stream().allMatch(Future::succeeded));
    assertTrue(round(0, 1).stream().allMatch(Future::succeeded));
    // The first partition may be answered: a worker also needs the others before it leaves.
    assertTrue(round(1, 0).stream().allMatch(Future::succeeded));

    List<Future<Frame>> last = round(1, 1);
    Future<Frame> again = send(0, 1, 1);
    Future<Frame> evaluator = handle(job.pull(-1, 0, 1, 2));

    assertTrue(last.stream().noneMatch(Future::isComplete), "a worker would leave");
    assertFalse(again.isComplete(), "a retry, too");
    assertTrue(evaluator.succeeded(), "who reads does not leave");
    written.complete();
    assertTrue(last.stream().allMatch(Future::succeeded));
    assertTrue(again.succeeded());
  }

  @Test
  void shouldSaveTheLastVersionOnceWithAllItsUpdates() {
    shard.membershipChanged(TestJob.workers(2));
    for (int step = 0; step < 2; step++) {
      round(step, 0);
      round(step, 1);
    }
    send(1, 1, 1);
    endpoint.tick(0);

    assertEquals(1, saves.size());
    assertEquals(2, saves.get(0).version());
    saves
        .get(0)
        .states()
        .forEach(
            state ->
                assertEquals(
                    List.of(2L, 2L),
                    state.head().ledger().entries().stream()
                        .map(LedgerSnapshot.Entry::next)
                        .toList()));
  }

  private Future<Void> save() {
    saves.add(shard.internal().snapshot());
    return written.future();
  }

  private List<Future<Frame>> round(int step, int partition) {
    return List.of(send(0, step, partition), send(1, step, partition));
  }

  private Future<Frame> send(int worker, int step, int partition) {
    return handle(job.gradient(worker, step, partition, step, 1, 1, 1, 1));
  }

  private Future<Frame> handle(Frame frame) {
    Future<Frame> answer = endpoint.handle(frame);
    answers.add(answer);
    return answer;
  }
}
