package io.vertigrad.internal.exchange;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.fixture.ExchangeFixture;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.PartitionClient.Round;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.transport.BitFlippingProxy;
import io.vertigrad.internal.transport.Streams;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sends a worker's gradients to a real shard over a real stream that flips bits. */
@Timeout(30)
class CorruptedFrameTest {

  private static final String BEHIND = "shard-behind-the-proxy";
  private static final Addresses ADDRESSES = new Addresses("test");

  private final Vertx vertx = Vertx.vertx();
  private final TestJob job = new TestJob("{\"name\": \"async\"}", 8, 0, 9, 1);
  private final Shard shard = job.shard().internal();
  private final BitFlippingProxy proxy = new BitFlippingProxy(vertx);
  private final float[] parameters = job.initial();
  private final List<Long> versions = new ArrayList<>();

  @BeforeEach
  void open() {
    FrameCodecs.register(vertx.eventBus());
    Streams.open(vertx, new EventBusOptions().setHost("127.0.0.1"));
    Membership now = new Membership(1, List.of(new Member(0, 0, 0)), List.of(new Member(0, 0, 0)));
    shard.membershipChanged(now);
    await(Transport.borrow(vertx, BEHIND, shard::handle));
    await(proxy.open(ADDRESSES.shard(0, 0), BEHIND));
  }

  @AfterEach
  void close() {
    await(vertx.close());
  }

  @Test
  void shouldRepeatAGradientWhenABitOfItIsFlippedOnTheWay() {
    proxy.flipRequests(2);

    Ending ending = client().run(new OneGradient());

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(0, proxy.requestsToFlip(), "two gradients should have been damaged");
    assertEquals(List.of(1L, 1L), versions, "each partition should have been stepped once");
    assertArrayEquals(afterOneStep(), parameters, 1e-6f);
  }

  @Test
  void shouldRepeatTheRequestAndApplyOnceWhenABitOfTheAnswerIsFlipped() {
    proxy.flipAnswers(2);

    Ending ending = client().run(new OneGradient());

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(0, proxy.answersToFlip(), "two answers should have been damaged");
    assertEquals(List.of(1L, 1L), versions, "each partition should have been stepped once");
    assertArrayEquals(afterOneStep(), parameters, 1e-6f);
  }

  @Test
  void shouldNameTheShardAndTheFieldWhenEveryGradientIsDamaged() {
    proxy.flipRequests(Integer.MAX_VALUE);

    ExchangeException failure =
        assertThrows(ExchangeException.class, () -> client().run(new OneGradient()));

    assertTrue(failure.getMessage().contains("3 frames to or from shard 0"), failure::getMessage);
    assertTrue(failure.getMessage().contains("checksum"), failure::getMessage);
    assertEquals(0, shard.version());
  }

  private PartitionClient client() {
    ExchangeConfig limits = ExchangeFixture.config(4, 1 << 20, 10_000, 20_000);
    PartitionClient client = PartitionClient.of(vertx, ADDRESSES, limits, System::nanoTime);
    client.membershipChanged(
        new Membership(1, List.of(new Member(0, 0, 0)), List.of(new Member(0, 0, 0))));
    return client;
  }

  /** Returns {@code p - rate g}, with a gradient of 1 everywhere. */
  private float[] afterOneStep() {
    float[] expected = job.initial();
    for (int i = 0; i < expected.length; i++) {
      expected[i] -= TestJob.LEARNING_RATE;
    }
    return expected;
  }

  private static <T> T await(Future<T> future) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    return result.orTimeout(10, TimeUnit.SECONDS).join();
  }

  /** Step 0 of worker 0: both partitions, with a gradient of 1 everywhere. */
  private final class OneGradient implements Round {

    @Override
    public List<Partition> order() {
      return job.plan.partitions();
    }

    @Override
    public Frame request(Partition partition) {
      ExchangeId id = new ExchangeId(TestJob.JOB, 0, 0, 1, 0, partition.index());
      return job.gradient(id, 0, 10, 1, 1, 1, 1);
    }

    @Override
    public void answered(Partition partition, ParameterPartition answer) {
      versions.add(answer.version());
      System.arraycopy(
          TestJob.values(answer), 0, parameters, partition.first(), partition.length());
    }
  }
}
