package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests which states are copied from worker to worker, and which answers are refused. */
final class CopiedStatesTest {

  private static final int LAYOUT = 5;
  private static final long HEAP = 1 << 20;

  /** Has room for one state of 30 elements, or two of each of two ranks. */
  private static final long SMALL_HEAP = 16 * 30 * Float.BYTES;

  private static final int WORKERS = 3;
  private static final JobConfig JOB =
      JobConfig.read(
          "test",
          new JsonObject(
              "{\"job\": \"copied\", \"workers\": {\"count\": 3}, \"exchange\": {\"deadlineMillis\": 6000}}"));

  private final Vertx vertx = Vertx.vertx();
  private final List<MemoryCopies> all = new ArrayList<>();
  private final int[] incarnations = new int[WORKERS];
  private int epoch;

  @BeforeEach
  void registerFrames() {
    FrameCodecs.register(vertx.eventBus());
  }

  @AfterEach
  void close() {
    await(vertx.close());
  }

  @Test
  void shouldCopyEachStateToTheNextRankAndToOneThatWaits() {
    MemoryCopies waits = copies(HEAP);
    MemoryCopies second = member(1, 0);
    MemoryCopies third = member(2, 0);

    second.keep(1, at(20), () -> state(20, 7));
    Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> waits.heldBytes() > 0);
    awaitHeld(third, 20);
    second.keep(1, at(40), () -> state(40, 8));
    second.awaitHeld(() -> false);

    assertEquals(List.of(at(40), at(20)), third.held(true));
    await(third.close());
    await(second.close());
    join(waits, 1, 1);
    assertTrue(waits.own().contains(at(40)), () -> "it has " + waits.own());
    assertArrayEquals(
        new float[] {8, 8}, waits.fetch(at(40), () -> false).orElseThrow().part("parameters"));
  }

  /** A process that was evicted may join again under another rank. */
  @Test
  void shouldNeverPassOnAStateUnderAnotherRank() {
    MemoryCopies moved = member(2, 0);
    moved.keep(2, at(20), () -> state(20, 7));
    await(moved.close());
    join(moved, 1, 1);
    assertEquals(List.of(), moved.own());

    Future<Frame> newest = ask(0);
    await(ask(20));
    moved.keep(1, at(40), () -> state(40, 8));

    assertEquals(40, ((ParameterPartition) await(newest)).version());
  }

  /** Asks the second incarnation of rank 1 for a version, or 0 for the newest. */
  private Future<Frame> ask(long version) {
    ExchangeId id = new ExchangeId(JOB.addresses().jobHash(), 1, 0, 7, version, 0);
    long layout = version == 0 ? LAYOUT : LAYOUT ^ at(version).run();
    return Transport.of(vertx, JOB.exchange())
        .request(JOB.addresses().member("copies", 1, 1), new PullRequest(id, layout, 0), 10_000);
  }

  @Test
  void shouldReturnNothingWhenTheNextRankHasNotGotTheState() {
    MemoryCopies second = member(1, 0);
    MemoryCopies third = member(2, 0);
    second.keep(1, at(20), () -> state(20, 7));
    awaitHeld(third, 20);

    MemoryCopies replacement = member(1, 1);

    assertEquals(Optional.empty(), replacement.fetch(at(40), () -> false));
    assertEquals(
        Optional.empty(),
        replacement.fetch(new RunVersion(20, 99), () -> false),
        "the state of another run");
    assertArrayEquals(
        new float[] {7, 7},
        replacement.fetch(at(20), () -> false).orElseThrow().part("parameters"));
  }

  @Test
  void shouldLeaveOutStatesThatTheHeapHasNoRoomFor() {
    MemoryCopies waits = copies(SMALL_HEAP);
    List<MemoryCopies> members =
        IntStream.range(0, WORKERS).mapToObj(rank -> member(rank, 0)).toList();

    for (long version : new long[] {20, 40}) {
      for (int rank = 0; rank < WORKERS; rank++) {
        members.get(rank).keep(rank, at(version), () -> state(version, new float[30]));
      }
      members.forEach(one -> awaitHeld(one, version));
      Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> waits.heldBytes() > 0);
      members.forEach(one -> one.awaitHeld(() -> false));
    }

    long whole = 2L * WORKERS * 30 * Float.BYTES;
    assertTrue(waits.heldBytes() < whole, () -> waits.heldBytes() + " bytes");
  }

  static Stream<JsonObject> descriptions() {
    return Stream.of(
        new JsonObject("{}"),
        new JsonObject("{\"samples\": 1, \"parts\": {\"parameters\": -1}}"),
        new JsonObject("{\"samples\": 1, \"parts\": {\"parameters\": \"many\"}}"),
        new JsonObject("{\"samples\": 1, \"parts\": {\"parameters\": 3}}"),
        new JsonObject("{\"samples\": 1, \"parts\": {\"parameters\": 2147483647}}"));
  }

  /** Each piece that this worker sends has two elements. */
  @ParameterizedTest
  @MethodSource("descriptions")
  void shouldRefuseAnAnswerThatIsNoState(JsonObject description) {
    AtomicInteger answered = new AtomicInteger();
    await(
        Transport.listen(
            vertx,
            JOB.addresses().member("copies", 2, 0),
            frame -> {
              answered.incrementAndGet();
              return Future.succeededFuture(answer((PullRequest) frame, description));
            }));
    MemoryCopies first = member(0, 0);

    assertEquals(Optional.empty(), member(1, 1).fetch(at(20), () -> false));
    Awaitility.await().atMost(10, TimeUnit.SECONDS).until(() -> answered.get() > 1);
    assertEquals(List.of(), first.held(true));
  }

  private static Frame answer(PullRequest request, JsonObject description) {
    ExchangeId id = request.id();
    byte[] text = description.encode().getBytes(StandardCharsets.UTF_8);
    ByteBuffer bytes =
        ByteBuffer.allocate((text.length + 3) / Float.BYTES * Float.BYTES).put(text).clear();
    return new ParameterPartition(
        id,
        LAYOUT ^ 3,
        0,
        20,
        0,
        Outcome.PULLED,
        1,
        id.partition() == 0 ? Tensor.wrap(DataType.FLOAT32, bytes) : Tensor.ofFloats(1, 2));
  }

  private static void awaitHeld(MemoryCopies copies, long version) {
    Awaitility.await()
        .atMost(10, TimeUnit.SECONDS)
        .until(() -> copies.held(true).contains(at(version)));
  }

  private static RunVersion at(long version) {
    return new RunVersion(version, 3);
  }

  private static SavedState state(long version, float value) {
    return state(version, new float[] {value, value});
  }

  private static SavedState state(long version, float[] elements) {
    return SavedState.of(new SavedState.Head(version, version), Map.of("parameters", elements));
  }

  private MemoryCopies copies(long heap) {
    return new MemoryCopies(vertx, JOB, LAYOUT, System::nanoTime, () -> true, heap);
  }

  private MemoryCopies member(int rank, int incarnation) {
    MemoryCopies copies = copies(HEAP);
    join(copies, rank, incarnation);
    return copies;
  }

  /** Opens an incarnation, and shows all the new membership. */
  private void join(MemoryCopies copies, int rank, int incarnation) {
    incarnations[rank] = incarnation;
    await(copies.open(new SenderIdentity(JOB.addresses().jobHash(), rank, incarnation)));
    List<Member> members =
        IntStream.range(0, WORKERS)
            .mapToObj(each -> new Member(each, incarnations[each], 0))
            .toList();
    all.add(copies);
    all.forEach(one -> one.membershipChanged(new Membership(++epoch, members, List.of())));
    copies.held(true);
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
