package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.fixture.ExchangeFixture;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.internal.worker.WorkerCounters.LoopProgress;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.QuadraticModel;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.junit5.VertxExtension;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Two workers in lockstep and a real shard of three partitions: two of trainable elements and one
 * of statistics. Halfway through each gradient, the models report the second partition as final.
 */
@ExtendWith(VertxExtension.class)
@Timeout(30)
class OverlappedTrainingTest {

  private static final int TRAINABLE = 8;
  private static final int STATISTICS = 2;
  private static final int SECOND = 4;
  private static final int STEPS = 6;
  private static final int NEVER = -1;

  private final TestJob job =
      new TestJob("{\"name\": \"sync\"}", TRAINABLE, STATISTICS, STEPS, 2).withRanks(2);
  private final Addresses addresses = new Addresses("test");
  private final Queue<ExchangeId> offered = new ConcurrentLinkedQueue<>();
  private final Set<ExchangeId> answered = ConcurrentHashMap.newKeySet();
  private final List<LoopProgress> progress = new ArrayList<>();
  private final ExecutorService threads = Executors.newFixedThreadPool(3);
  private Vertx vertx;
  private TestShard shard;
  private Membership members;
  private int runs;

  /** The step at which the {@link #event} happens to worker 0. */
  private int eventStep = NEVER;

  private Event event = Event.NOTHING;

  private enum Event {
    NOTHING,
    FRONT_IS_NOT_FINITE,
    SECOND_IS_NOT_FINITE,
    WORKER_DIES
  }

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
  void shouldApplyThePartitionsOfAnOverlappedGradientWithTheSameBits() throws Exception {
    begin();
    train(false);
    List<float[]> expected = parameters();
    offered.clear();
    answered.clear();

    begin();
    train(true);

    assertEquals(STEPS, shard.version());
    assertEquals(2 * STEPS * 3, offered.size(), "each partition of each gradient once");
    for (int part = 0; part < 3; part++) {
      assertArrayEquals(expected.get(part), parameters().get(part));
    }
  }

  @Test
  void shouldApplyNothingWhenTheFirstFinalPartitionIsNotFinite() throws Exception {
    eventStep = 2;
    event = Event.SECOND_IS_NOT_FINITE;
    begin();

    train(true);

    assertEquals(STEPS, shard.version());
    assertEquals(1, shard.counters().refused());
    assertEquals(List.of(1), partitionsOffered(0, 2));
    assertEquals(List.of(1L, 0L), progress.stream().map(LoopProgress::refused).toList());
  }

  @Test
  void shouldSendZerosForUnsentPartitionsWhenOneIsNotFinite() throws Exception {
    eventStep = 2;
    event = Event.FRONT_IS_NOT_FINITE;
    begin();

    train(true);

    assertEquals(STEPS, shard.version());
    assertEquals(0, shard.counters().refused());
    assertEquals(List.of(1, 0, 2), partitionsOffered(0, 2));
    assertEquals(List.of(1L, 0L), progress.stream().map(LoopProgress::refused).toList());
    float[] expected = job.initial();
    for (int step = 0; step < STEPS; step++) {
      for (int i = 0; i < TRAINABLE; i++) {
        float ofFirst = step == eventStep && i < SECOND ? 0 : expected[i] - value(0, step, i);
        float ofOther = expected[i] - value(1, step, i);
        expected[i] -= TestJob.LEARNING_RATE * (ofFirst + ofOther) / 2;
      }
    }
    assertArrayEquals(Arrays.copyOf(expected, SECOND), parameters().get(0), 1e-4f);
    assertArrayEquals(Arrays.copyOfRange(expected, SECOND, TRAINABLE), parameters().get(1), 1e-4f);
    float statistics = job.initial()[TRAINABLE] - (STEPS - 0.5f);
    assertEquals(statistics, parameters().get(2)[0], 1e-4f, "one step of one of two workers less");
  }

  @Test
  @Tag("slow")
  void shouldEndWithTheSameBitsWhenAWorkerDiesInTheMiddleOfAGradient() throws Exception {
    begin();
    train(true);
    List<float[]> expected = parameters();
    offered.clear();
    answered.clear();
    eventStep = 3;
    event = Event.WORKER_DIES;
    begin();

    Future<Boolean> other = threads.submit(() -> run(loop(members.workers().get(1), true)));
    Future<Boolean> dies = threads.submit(() -> run(loop(members.workers().get(0), true)));
    assertThrows(ExecutionException.class, () -> dies.get(10, TimeUnit.SECONDS));
    assertTrue(answered.stream().anyMatch(id -> id.step() == 3 && id.worker() == 0));
    eventStep = NEVER;
    Member replacement = new Member(0, 1, 3);
    members = new Membership(2, List.of(replacement, members.workers().get(1)), members.servers());
    shard.membershipChanged(members);
    Future<Boolean> again = threads.submit(() -> run(loop(replacement, true)));

    assertTrue(again.get(10, TimeUnit.SECONDS));
    assertTrue(other.get(10, TimeUnit.SECONDS));
    assertEquals(STEPS, shard.version());
    assertEquals(2 * STEPS * 3, shard.counters().applied());
    for (int part = 0; part < 3; part++) {
      assertArrayEquals(expected.get(part), parameters().get(part));
    }
  }

  private void begin() {
    int server = runs++;
    shard = job.shard(0, server);
    members =
        new Membership(
            1,
            List.of(new Member(0, 0, 0), new Member(1, 0, 0)),
            List.of(new Member(0, server, 0)));
    TestShard serving = shard;
    serving.membershipChanged(members);
    vertx
        .eventBus()
        .<Frame>consumer(addresses.shard(0, server), message -> answer(serving, message));
  }

  private void train(boolean overlap) throws Exception {
    List<Future<Boolean>> ends = new ArrayList<>();
    List<TrainingLoop> loops = new ArrayList<>();
    for (Member member : members.workers()) {
      TrainingLoop loop = loop(member, overlap);
      loops.add(loop);
      ends.add(threads.submit(() -> run(loop)));
    }
    for (Future<Boolean> end : ends) {
      assertTrue(end.get(10, TimeUnit.SECONDS));
    }
    loops.forEach(loop -> progress.add(loop.progress()));
  }

  private static boolean run(TrainingLoop loop) {
    return loop.run();
  }

  private void answer(TestShard serving, Message<Frame> message) {
    if (message.body() instanceof GradientPartition gradient) {
      offered.add(gradient.id());
    }
    serving
        .handle(message.body())
        .onSuccess(
            answer -> {
              if (message.body() instanceof GradientPartition gradient) {
                answered.add(gradient.id());
              }
              message.reply(answer);
            });
  }

  private TrainingLoop loop(Member self, boolean overlap) {
    PartitionClient client =
        new PartitionClient(
            Transport.onBus(vertx.eventBus()),
            addresses,
            ExchangeFixture.config(4, 1 << 20, 1_000, 5_000),
            System::nanoTime);
    client.membershipChanged(members);
    TrainingPlan plan =
        new TrainingPlan(
            TestJob.JOB,
            job.plan,
            DataType.FLOAT32,
            Compression.NONE,
            Optional.empty(),
            0,
            STEPS,
            true,
            Epochs.NONE,
            Float.MAX_VALUE,
            overlap,
            false,
            "");
    return TrainingLoop.withServers(
        new GradualModel(self.rank(), overlap),
        plan,
        client,
        () -> Optional.of(self),
        (rank, first) -> new NumberedBatches(rank, first),
        System::nanoTime);
  }

  private List<float[]> parameters() {
    return List.of(0, 1, 2).stream().map(part -> job.parameters(shard, part)).toList();
  }

  private List<Integer> partitionsOffered(int worker, long step) {
    return offered.stream()
        .filter(id -> id.worker() == worker && id.step() == step)
        .map(ExchangeId::partition)
        .toList();
  }

  private static float value(int rank, long step, int element) {
    return 1 + 10 * rank + 3 * step + 0.37f * element;
  }

  /** One sample per batch; its label is the step. */
  private static final class NumberedBatches implements BatchSource {

    private final int rank;
    private long step;
    private Batch ahead;

    NumberedBatches(int rank, long first) {
      this.rank = rank;
      this.step = first;
    }

    @Override
    public Optional<Batch> peek() {
      ahead = ahead == null ? create() : ahead;
      return Optional.of(ahead);
    }

    @Override
    public Batch next() {
      Batch batch = peek().get();
      ahead = null;
      return batch;
    }

    private Batch create() {
      float[] features = new float[TRAINABLE];
      for (int i = 0; i < TRAINABLE; i++) {
        features[i] = value(rank, step, i);
      }
      return new Batch(features, new int[] {(int) step++}, List.of(TRAINABLE), 0);
    }

    @Override
    public void close() {}
  }

  /**
   * A model that reports the second half of its gradient as final. It computes the rest when the
   * server has answered that half, which happens only after both workers have sent theirs.
   */
  private final class GradualModel implements Model {

    private final QuadraticModel model = new QuadraticModel(TRAINABLE, STATISTICS);
    private final int rank;
    private final boolean overlap;
    private boolean half;
    private int broken = NEVER;
    private Batch prepared;
    private int gradients;

    GradualModel(int rank, boolean overlap) {
      this.rank = rank;
      this.overlap = overlap;
    }

    @Override
    public ParameterLayout layout() {
      return model.layout();
    }

    @Override
    public double gradient(Batch batch) {
      assertFalse(overlap, "somebody should listen");
      return model.gradient(batch);
    }

    @Override
    public void prepareNext(Batch next) {
      prepared = next;
    }

    @Override
    public double gradient(Batch batch, GradientListener listener) {
      if (gradients++ > 0) {
        assertSame(prepared, batch);
      }
      int step = batch.labels()[0];
      boolean now = rank == 0 && step == eventStep;
      broken = NEVER;
      if (now && event == Event.SECOND_IS_NOT_FINITE) {
        broken = SECOND + 1;
      }
      float[] before = model.parameters.clone();
      double loss = model.gradient(batch);
      half = true;
      listener.ready(SECOND);
      if (broken == NEVER) {
        awaitAnswer(step);
      }
      assertArrayEquals(before, model.parameters, "answers should wait for the gradient");
      if (now && event == Event.WORKER_DIES) {
        throw new IllegalStateException("killed");
      }
      broken = now && event == Event.FRONT_IS_NOT_FINITE ? 1 : broken;
      half = false;
      return loss;
    }

    private void awaitAnswer(int step) {
      Awaitility.await()
          .atMost(5, TimeUnit.SECONDS)
          .until(
              () ->
                  answered.stream()
                      .anyMatch(
                          id -> id.worker() == rank && id.step() == step && id.partition() == 1));
    }

    @Override
    public void readGradient(int first, FloatBuffer destination) {
      assertTrue(!half || first >= SECOND, "element " + first + " is not final");
      int position = destination.position();
      int count = destination.remaining();
      model.readGradient(first, destination);
      if (broken >= first && broken < first + count) {
        destination.put(position + broken - first, Float.NaN);
      }
    }

    @Override
    public void readParameters(int first, FloatBuffer destination) {
      model.readParameters(first, destination);
    }

    @Override
    public void writeParameters(int first, FloatBuffer source) {
      model.writeParameters(first, source);
    }

    @Override
    public Score score(Batch batch, int topK) {
      return model.score(batch, topK);
    }

    @Override
    public void save(Path file) {
      model.save(file);
    }

    @Override
    public void close() {
      model.close();
    }
  }
}
