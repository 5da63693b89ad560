package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.fixture.ExchangeFixture;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.strategy.ExchangeException.DivergedException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.QuadraticModel;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.junit5.VertxExtension;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Two workers in lockstep and a real shard of three partitions; some batches break the second. */
@ExtendWith(VertxExtension.class)
@Timeout(20)
class NotFiniteGradientTest {

  private static final int TRAINABLE = 8;
  private static final int STATISTICS = 2;
  private static final int STEPS = 6;
  private static final float BROKEN = Float.NaN;

  private final TestJob job = new TestJob("{\"name\": \"sync\"}", TRAINABLE, STATISTICS, STEPS, 2);
  private final Addresses addresses = new Addresses("test");
  private final Queue<Frame> offered = new ConcurrentLinkedQueue<>();
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private Vertx vertx;
  private int runs;

  @BeforeEach
  void setUp(Vertx vertx) {
    this.vertx = vertx;
    FrameCodecs.register(vertx.eventBus());
  }

  @AfterEach
  void stopThreads() {
    threads.shutdownNow();
  }

  @Test
  void shouldEqualARunWithoutTheBatchWhoseGradientIsNotFinite() throws Exception {
    List<Float> other = List.of(10f, 20f, 30f, 40f, 50f, 60f);

    TestShard shard = train(List.of(1f, 2f, BROKEN, 3f, 4f, 5f, 6f), other);

    assertEquals(STEPS, shard.version());
    assertEquals(1, shard.counters().refused());
    assertEquals(2 * STEPS * 3, shard.counters().applied());
    assertEquals(List.of(1), partitionsOffered(0, 2));
    assertTrue(offered.stream().allMatch(this::hasExpectedVersion));
    TestShard control = train(List.of(1f, 2f, 3f, 4f, 5f, 6f), other);
    for (int part = 0; part < 3; part++) {
      assertArrayEquals(job.parameters(control, part), job.parameters(shard, part));
    }
  }

  @Test
  void shouldFailAndApplyNothingWhenTwentyGradientsInARowAreNotFinite() {
    List<Float> broken = Collections.nCopies(30, BROKEN);

    ExecutionException failure =
        assertThrows(ExecutionException.class, () -> train(broken, broken));

    DivergedException why = assertInstanceOf(DivergedException.class, failure.getCause());
    assertTrue(
        why.getMessage()
            .matches(
                "training diverged at step 19: the loss is .*, and 20 gradients in sequence were"
                    + " refused"),
        why.getMessage());
    assertTrue(why.failsJob());
    assertTrue(offered.stream().allMatch(frame -> ((GradientPartition) frame).version() == 0));
  }

  /** Trains to the end; each worker gets these batches. */
  private TestShard train(List<Float> ofFirst, List<Float> ofSecond) throws Exception {
    int server = runs++;
    TestShard shard = job.shard(0, server);
    Membership members =
        new Membership(
            1,
            List.of(new Member(0, 0, 0), new Member(1, 0, 0)),
            List.of(new Member(0, server, 0)));
    shard.membershipChanged(members);
    vertx.eventBus().<Frame>consumer(addresses.shard(0, server), message -> answer(shard, message));
    List<Future<Boolean>> ends = new ArrayList<>();
    for (Member member : members.workers()) {
      TrainingLoop loop = loop(member, members, member.rank() == 0 ? ofFirst : ofSecond);
      ends.add(threads.submit(loop::run));
    }
    for (Future<Boolean> end : ends) {
      assertTrue(end.get(10, TimeUnit.SECONDS));
    }
    return shard;
  }

  private void answer(TestShard shard, Message<Frame> message) {
    if (message.body() instanceof GradientPartition) {
      offered.add(message.body());
    }
    shard.handle(message.body()).onSuccess(message::reply);
  }

  private TrainingLoop loop(Member self, Membership members, List<Float> values) {
    PartitionClient client =
        new PartitionClient(
            Transport.onBus(vertx.eventBus()),
            addresses,
            ExchangeFixture.config(4, 1 << 20, 1_000, 5_000),
            System::nanoTime);
    client.membershipChanged(members);
    return TrainingLoop.withServers(
        new QuadraticModel(TRAINABLE, STATISTICS),
        TrainingPlans.of(TestJob.JOB, job.plan, DataType.FLOAT32, Compression.NONE, 0, STEPS, true),
        client,
        () -> Optional.of(self),
        (rank, first) -> new ListedBatches(values.iterator()),
        System::nanoTime);
  }

  private List<Integer> partitionsOffered(int worker, long step) {
    return offered.stream()
        .map(frame -> ((GradientPartition) frame).id())
        .filter(id -> id.worker() == worker && id.step() == step)
        .map(id -> id.partition())
        .toList();
  }

  /**
   * Checks the version: it equals the step, or is one lower after worker 0's batch 2 is left out.
   */
  private boolean hasExpectedVersion(Frame frame) {
    GradientPartition gradient = (GradientPartition) frame;
    long step = gradient.id().step();
    boolean heldBackBefore = gradient.id().worker() == 0 && step > 2;
    return gradient.version() == (heldBackBefore ? step - 1 : step);
  }

  /** One sample per batch. Its features all have one value, or are 100 with one NaN. */
  private record ListedBatches(Iterator<Float> values) implements BatchSource {

    @Override
    public Batch next() {
      float value = values.next();
      float[] features = new float[TRAINABLE];
      Arrays.fill(features, Float.isNaN(value) ? 100 : value);
      features[5] = value;
      return new Batch(features, new int[1], List.of(TRAINABLE), 0);
    }

    @Override
    public void close() {}
  }
}
