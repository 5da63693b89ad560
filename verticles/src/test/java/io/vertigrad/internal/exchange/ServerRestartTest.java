package io.vertigrad.internal.exchange;

import static io.vertigrad.internal.exchange.ServerRestartFixture.moment;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.PartitionClient.Round;
import io.vertigrad.job.Partition;
import io.vertigrad.testkit.TestJob;
import io.vertx.core.Vertx;
import io.vertx.junit5.VertxExtension;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Two workers and a server that loses a round of which each worker has a different part. */
@ExtendWith(VertxExtension.class)
@Timeout(20)
class ServerRestartTest {

  private static final int ONE_FRAME = 16;

  private final ExecutorService threads = Executors.newFixedThreadPool(2);

  @AfterEach
  void stopThreads() {
    threads.shutdownNow();
  }

  @Test
  void shouldRepeatTheRoundWhenWorkersHaveDifferentAnswers(Vertx vertx) throws Exception {
    ServerRestartFixture fixture =
        new ServerRestartFixture(
            vertx, 1 << 20, Set.of("0/0", "1/1"), Set.of("answered 0/0", "answered 1/1"));

    List<Replica> replicas = train(fixture, 1);

    for (Replica replica : replicas) {
      assertEquals(Ending.COMPLETE, replica.ending);
      assertEquals(List.of(1L, 1L), replica.versions());
      assertArrayEquals(afterOneRound(fixture.job), replica.parameters, 1e-6f);
      assertTrue(replica.last.stream().allMatch(a -> a.server() == 1), replica.last::toString);
    }
    assertEquals(Set.copyOf(fixture.offeredBefore), Set.copyOf(fixture.offeredAfter));
  }

  @Test
  void shouldOfferAgainBeyondTheWindowWhenItIsFull(Vertx vertx) throws Exception {
    ServerRestartFixture fixture =
        new ServerRestartFixture(
            vertx, ONE_FRAME, Set.of("0/0"), Set.of("answered 0/0", "offered 0/1"));

    List<Replica> replicas = train(fixture, 1);

    for (Replica replica : replicas) {
      assertEquals(Ending.COMPLETE, replica.ending);
      assertArrayEquals(afterOneRound(fixture.job), replica.parameters, 1e-6f);
    }
  }

  @Test
  void shouldSkipTheRoundWhenOnlyOneWorkerHasAllOfIt(Vertx vertx) throws Exception {
    ServerRestartFixture fixture =
        new ServerRestartFixture(
            vertx, ONE_FRAME, Set.of("0/0", "0/1", "1/0"), Set.of("finished 0"));

    List<Replica> replicas = train(fixture, 2);

    for (Replica replica : replicas) {
      assertEquals(Ending.COMPLETE, replica.ending);
      assertEquals(List.of(2L, 2L), replica.versions());
      assertArrayEquals(afterOneRound(fixture.job), replica.parameters, 1e-6f);
    }
    assertTrue(replicas.get(1).outcomes.contains(Outcome.LATE));
  }

  private List<Replica> train(ServerRestartFixture fixture, int rounds) throws Exception {
    List<Replica> replicas = new ArrayList<>();
    List<Future<?>> ends = new ArrayList<>();
    for (int worker = 0; worker < 2; worker++) {
      Replica replica = new Replica(fixture, worker);
      replicas.add(replica);
      ends.add(threads.submit(() -> replica.train(rounds)));
    }
    for (Future<?> end : ends) {
      end.get(10, TimeUnit.SECONDS);
    }
    return replicas;
  }

  /** Returns {@code p - rate (g0 + g1) / 2}, where worker i's gradient is i + 1 everywhere. */
  private static float[] afterOneRound(TestJob job) {
    float[] expected = job.initial();
    for (int i = 0; i < expected.length; i++) {
      expected[i] -= TestJob.LEARNING_RATE * 1.5f;
    }
    return expected;
  }

  /** One worker's exchange, step and parameters; its gradient never changes. */
  private static final class Replica implements Round {

    private final ServerRestartFixture fixture;
    private final int worker;
    private final float[] parameters;
    private final List<Outcome> outcomes = new ArrayList<>();
    private ParameterPartition[] newest = new ParameterPartition[2];
    private List<ParameterPartition> last = List.of();
    private long step = -1;
    private Ending ending;

    Replica(ServerRestartFixture fixture, int worker) {
      this.fixture = fixture;
      this.worker = worker;
      this.parameters = fixture.job.initial();
    }

    void train(int rounds) {
      for (int round = 0; round < rounds; round++) {
        step++;
        ending = fixture.clients.get(worker).run(this);
        last = List.of(newest);
        newest = new ParameterPartition[2];
        fixture.record("finished " + worker);
      }
    }

    List<Long> versions() {
      return last.stream().map(ParameterPartition::version).toList();
    }

    @Override
    public List<Partition> order() {
      return fixture.job.plan.partitions();
    }

    @Override
    public Frame request(Partition partition) {
      float[] gradient = {worker + 1, worker + 1, worker + 1, worker + 1};
      ExchangeId id = new ExchangeId(TestJob.JOB, worker, 0, 1, step, partition.index());
      return fixture.job.gradient(id, step, 10, gradient);
    }

    @Override
    public void answered(Partition partition, ParameterPartition answer) {
      newest[partition.index()] = answer;
      outcomes.add(answer.outcome());
      System.arraycopy(
          TestJob.values(answer), 0, parameters, partition.first(), partition.length());
      if (answer.server() == 0) {
        fixture.record("answered " + moment(worker, partition.index()));
      }
    }
  }
}
