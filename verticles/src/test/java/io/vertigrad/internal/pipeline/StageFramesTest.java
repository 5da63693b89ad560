package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.StageTensor;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.peer.WorkerPeers;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests how two stages send values to each other over a local bus. */
@Timeout(20)
class StageFramesTest {

  private static final long PLAN = 42;

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job =
      JobConfig.read(
          "test",
          new JsonObject(
              """
              {"job": "line", "pipeline": {"stages": 2},
               "exchange": {"deadlineMillis": 400, "suspectMillis": 100,
                            "evictMillis": 300, "partitionElements": 4}}
              """));
  private final WorkerPeers first = line(0);
  private final WorkerPeers second = line(1);

  @BeforeEach
  void open() {
    FrameCodecs.register(vertx.eventBus());
    await(first.open());
    await(second.open());
  }

  @AfterEach
  void close() {
    await(vertx.close());
  }

  @Test
  void shouldDeliverAllPiecesWhenValuesTakeSeveralFrames() {
    float[] values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

    neighbours(0, first).send(Direction.FORWARD, 7, 1, FloatBuffer.wrap(values));
    neighbours(0, first).send(Direction.FORWARD, 7, 0, FloatBuffer.wrap(new float[] {-1}));

    StageNeighbours behind = neighbours(1, second);
    assertArrayEquals(new float[] {-1}, behind.receive(Direction.FORWARD, 7, 0, 1));
    assertArrayEquals(values, behind.receive(Direction.FORWARD, 7, 1, 10));
    assertEquals(11 * 4, second.traffic().bytesReceived());
  }

  @Test
  void shouldDistinguishTheTwoDirectionsOfAMicroBatch() {
    neighbours(0, first).send(Direction.FORWARD, 0, 0, FloatBuffer.wrap(new float[] {1}));
    neighbours(1, second).send(Direction.BACKWARD, 0, 0, FloatBuffer.wrap(new float[] {2}));

    assertArrayEquals(new float[] {1}, neighbours(1, second).receive(Direction.FORWARD, 0, 0, 1));
    assertArrayEquals(new float[] {2}, neighbours(0, first).receive(Direction.BACKWARD, 0, 0, 1));
  }

  @Test
  void shouldNameStageAndMicroBatchWhenTheDeadlinePasses() {
    UnansweredException late =
        assertThrows(
            UnansweredException.class,
            () -> neighbours(0, first).receive(Direction.BACKWARD, 12, 3, 4));

    assertEquals(
        "stage 0 (incarnation 0): nothing from stage 1 (incarnation 0) for 400 ms: step 12,"
            + " micro-batch 3, the gradient of its activations of membership epoch 1. See that"
            + " worker's log, or raise exchange.deadlineMillis",
        late.getMessage());
  }

  @Test
  void shouldNameTheTestWhenOneOfItsBatchesIsMissing() {
    int batch = job.pipeline().orElseThrow().microBatches() + 2;

    UnansweredException late =
        assertThrows(
            UnansweredException.class,
            () -> neighbours(1, second).receive(Direction.FORWARD, 20, batch, 4));

    assertTrue(
        late.getMessage().contains("test after step 20, batch 2, its activations"),
        late.getMessage());
  }

  @Test
  void shouldNameThePieceWhenItHasAnotherLength() {
    neighbours(0, first).send(Direction.FORWARD, 0, 0, FloatBuffer.wrap(new float[] {1, 2}));

    ExchangeException wrong =
        assertThrows(
            ExchangeException.class,
            () -> neighbours(1, second).receive(Direction.FORWARD, 0, 0, 3));

    assertTrue(
        wrong.getMessage().contains("piece 0 of micro-batch 0 of step 0 from stage 0 has 2"),
        wrong.getMessage());
  }

  @Test
  void shouldRefuseFramesOfAnotherPlanOrKind() {
    ExchangeId id = new ExchangeId(job.addresses().jobHash(), 0, 0, 1, 0, 0);
    TensorView one = Tensor.ofFloats(1);

    assertNull(ask(new StageTensor(id, PLAN, Direction.FORWARD, 0, 0, one)));
    Refusal foreign =
        assertInstanceOf(
            Refusal.class, ask(new StageTensor(id, PLAN + 1, Direction.FORWARD, 0, 0, one)));
    assertEquals(Refusal.Reason.WRONG_LAYOUT, foreign.reason());
    assertInstanceOf(Malformed.class, ask(new PeerPartition(id, PLAN, 0, one)));
  }

  private Frame ask(Frame frame) {
    return await(vertx.eventBus().<Frame>request("vertigrad.line.stage.1.0", frame)).body();
  }

  private WorkerPeers line(int rank) {
    SenderIdentity self = new SenderIdentity(job.addresses().jobHash(), rank, 0);
    StageFrames line = new StageFrames(job.pipeline().orElseThrow(), 4);
    WorkerPeers peers =
        new WorkerPeers(
            vertx, job, PLAN, self, System::nanoTime, SpanRecorder.OFF, () -> false, line);
    peers.membershipChanged(
        new Membership(1, List.of(new Member(0, 0, 0), new Member(1, 0, 0)), List.of()));
    peers.adopt();
    return peers;
  }

  private StageNeighbours neighbours(int rank, WorkerPeers line) {
    return new StageNeighbours(
        line, job.pipeline().orElseThrow(), rank, DataType.FLOAT32, 4, System::nanoTime);
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
