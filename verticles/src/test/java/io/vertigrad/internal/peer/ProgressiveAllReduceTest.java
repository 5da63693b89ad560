package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.collective.AllReduce;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Replica;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sums vectors around a ring of workers in one JVM while they become final from their ends. */
@Timeout(30)
class ProgressiveAllReduceTest {

  private static final int LENGTH = 100_003;
  private static final int TAIL = 3;

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job = JobConfig.read("test", new JsonObject().put("job", "progressive"));
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<WorkerPeers> peers = new ArrayList<>();
  private final List<AllReduce> rings = new ArrayList<>();

  @BeforeEach
  void register() {
    FrameCodecs.register(vertx.eventBus());
  }

  @AfterEach
  void close() throws Exception {
    threads.shutdownNow();
    peers.forEach(WorkerPeers::close);
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @ParameterizedTest
  @CsvSource({"1, FLOAT32", "2, FLOAT32", "3, FLOAT32", "4, FLOAT32", "3, BFLOAT16"})
  void shouldSumPiecesToTheBitsOfWholeVectors(int workers, DataType type) throws Exception {
    open(workers, type);
    List<float[]> whole = IntStream.range(0, workers).mapToObj(this::values).toList();
    List<float[]> parts = IntStream.range(0, workers).mapToObj(this::values).toList();
    List<Future<?>> sums = new ArrayList<>();
    for (int rank = 0; rank < workers; rank++) {
      int self = rank;
      ManualProgress progress = new ManualProgress();
      sums.add(
          threads.submit(
              () -> {
                rings.get(self).sum(0, whole.get(self));
                rings.get(self).sum(1, parts.get(self), progress);
              }));
      sums.add(threads.submit(() -> reportInRuns(progress, new Random(self))));
    }

    for (Future<?> sum : sums) {
      sum.get(10, TimeUnit.SECONDS);
    }

    for (int rank = 0; rank < workers; rank++) {
      assertArrayEquals(whole.get(0), whole.get(rank));
      assertArrayEquals(whole.get(0), parts.get(rank));
    }
  }

  @Test
  void shouldSumFinalElementsWhileTheRestIsMissing() throws Exception {
    open(2, DataType.FLOAT32);
    List<float[]> vectors = List.of(values(0), values(1));
    List<ManualProgress> progress = List.of(new ManualProgress(), new ManualProgress());
    int half = LENGTH / 2;
    List<Future<?>> sums = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      int self = rank;
      sums.add(threads.submit(() -> rings.get(self).sum(0, vectors.get(self), progress.get(self))));
    }

    progress.get(0).report(half, LENGTH - TAIL);
    progress.get(1).report(half, LENGTH - TAIL);

    // The back half except its last piece, which contains the tail: to worker 0 and back.
    long bytes = Float.BYTES * (long) (LENGTH - half - (LENGTH - half) % 7_152);
    Awaitility.await()
        .atMost(10, TimeUnit.SECONDS)
        .until(
            () ->
                peers.get(0).traffic().bytesReceived() == bytes
                    && peers.get(1).traffic().bytesReceived() == bytes);
    assertFalse(sums.get(0).isDone());
    for (ManualProgress one : progress) {
      one.report(0, half);
      one.report(LENGTH - TAIL, LENGTH);
      one.complete();
    }
    for (Future<?> sum : sums) {
      sum.get(10, TimeUnit.SECONDS);
    }
    assertEquals(values(0)[7] + values(1)[7], vectors.get(0)[7]);
    assertEquals(values(0)[LENGTH - 1] + values(1)[LENGTH - 1], vectors.get(1)[LENGTH - 1]);
  }

  @Test
  void shouldEndTheRoundWhenTheGroupChanges() throws Exception {
    open(2, DataType.FLOAT32);
    ManualProgress progress = new ManualProgress();
    Future<?> sum = threads.submit(() -> rings.get(0).sum(0, values(0), progress));
    progress.report(LENGTH / 2, LENGTH - TAIL);

    peers.get(0).membershipChanged(membership(2, 2));

    ExecutionException ended =
        assertThrows(ExecutionException.class, () -> sum.get(10, TimeUnit.SECONDS));
    assertEquals(GroupChangedException.class, ended.getCause().getClass());
    long sent = peers.get(0).traffic().bytesSent();
    progress.report(0, LENGTH / 2);
    assertEquals(
        sent, peers.get(0).traffic().bytesSent(), "nothing is sent for a round that is over");
  }

  private void reportInRuns(ManualProgress progress, Random random) {
    int end = LENGTH - TAIL;
    while (end > 0) {
      int first = Math.max(0, end - 1 - random.nextInt(30_000));
      progress.report(first, end);
      end = first;
    }
    progress.report(LENGTH - TAIL, LENGTH);
    progress.complete();
  }

  private void open(int workers, DataType type) throws Exception {
    for (int rank = 0; rank < workers; rank++) {
      SenderIdentity self = new SenderIdentity(job.addresses().jobHash(), rank, 0);
      WorkerPeers line =
          new WorkerPeers(
              vertx,
              job,
              42,
              self,
              System::nanoTime,
              SpanRecorder.OFF,
              () -> false,
              PeerFrames.ofStrategies());
      line.open().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
      line.membershipChanged(membership(1, workers));
      PeerGroup group = line.adopt();
      peers.add(line);
      rings.add(AllReduce.of(context(line, workers, type), group, LENGTH, 0));
    }
  }

  private static Membership membership(int epoch, int workers) {
    List<Member> members =
        IntStream.range(0, workers).mapToObj(rank -> new Member(rank, 0, 0)).toList();
    return new Membership(epoch, members, List.of());
  }

  private static PeerContext context(WorkerPeers line, int workers, DataType type) {
    return new PeerContext(
        line,
        new Replica(new float[LENGTH], LENGTH, 1),
        config -> null,
        OptimizerConfig.read(Settings.of("test", new JsonObject())),
        workers,
        1,
        type,
        Compression.NONE,
        114_432,
        System::nanoTime);
  }

  private float[] values(int rank) {
    Random random = new Random(rank);
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  /** Progress that the test reports. */
  private static final class ManualProgress implements GradientProgress {

    private final List<int[]> runs = new ArrayList<>();
    private Follower follower = (first, end) -> {};
    private boolean complete;

    synchronized void report(int first, int end) {
      runs.add(new int[] {first, end});
      follower.ready(first, end);
    }

    synchronized void complete() {
      complete = true;
      notifyAll();
    }

    @Override
    public synchronized void await() {
      try {
        while (!complete) {
          wait();
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public synchronized void follow(Follower now) {
      follower = now;
      runs.forEach(run -> now.ready(run[0], run[1]));
    }
  }
}
