package io.vertigrad.internal.peer;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.Tag;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** Two workers of a job. The left one listens and is in a group with the right one. */
@Timeout(20)
abstract class TwoPeers {

  protected static final long LAYOUT = 42;
  protected static final TensorView ONE = Tensor.ofFloats(1, 2);
  protected static final Tag TAG = new Tag(3, 1, 2);

  protected final Vertx vertx = Vertx.vertx();
  protected final JobConfig job =
      JobConfig.read(
          "test",
          new JsonObject(
              """
              {"job": "peers", "exchange": {"deadlineMillis": 400,
               "suspectMillis": 100, "evictMillis": 300, "windowBytes": 16}}
              """));
  protected final WorkerPeers left = peers(0);
  protected final WorkerPeers right = peers(1);

  @BeforeEach
  void open() {
    FrameCodecs.register(vertx.eventBus());
    await(left.open());
    group(1, left, 0, 1);
  }

  @AfterEach
  void close() {
    await(left.close());
    await(right.close());
    await(vertx.close());
  }

  protected final WorkerPeers peers(int rank) {
    return peers(rank, SpanRecorder.OFF);
  }

  protected final WorkerPeers peers(int rank, SpanRecorder track) {
    SenderIdentity self = new SenderIdentity(job.addresses().jobHash(), rank, 0);
    return new WorkerPeers(
        vertx, job, LAYOUT, self, System::nanoTime, track, () -> false, PeerFrames.ofStrategies());
  }

  protected static void group(int epoch, WorkerPeers peers, int... ranks) {
    peers.membershipChanged(membership(epoch, ranks));
    peers.adopt();
  }

  protected static Membership membership(int epoch, int... ranks) {
    List<Member> workers = IntStream.of(ranks).mapToObj(rank -> new Member(rank, 0, 0)).toList();
    return new Membership(epoch, workers, List.of());
  }

  protected static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
