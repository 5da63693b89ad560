package io.vertigrad.internal.exchange;

import static io.vertigrad.internal.exchange.BusFixture.ADDRESSES;
import static io.vertigrad.internal.exchange.BusFixture.ELEMENTS;
import static io.vertigrad.internal.exchange.BusFixture.LENGTH;
import static io.vertigrad.internal.exchange.BusFixture.PLAN;
import static io.vertigrad.internal.exchange.BusFixture.config;
import static io.vertigrad.internal.exchange.BusFixture.expectedAfterOneStep;
import static io.vertigrad.internal.exchange.BusFixture.membership;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.fixture.FakeShard;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.junit5.VertxExtension;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(VertxExtension.class)
@Timeout(20)
class PartitionClientTest {

  private BusFixture fixture;
  private FakeShard shard;

  @BeforeEach
  void setUp(Vertx vertx) {
    fixture = new BusFixture(vertx);
    shard = fixture.shard();
  }

  @Test
  void shouldDeliverEveryAnswerWhenTheServerAnswers() {
    fixture.serve(0);
    RecordingRound round = new RecordingRound();

    Ending ending = fixture.client(config(1 << 20, 1_000, 5_000), 0).run(round);

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(PLAN.partitions().size(), round.answers.size());
    assertEquals(shard.received, round.takenBack);
    assertArrayEquals(expectedAfterOneStep(), shard.parameters);
  }

  @Test
  void shouldNeverExceedWindowWhenServerIsSlow() {
    Queue<Message<Frame>> held = new ArrayDeque<>();
    AtomicInteger most = new AtomicInteger();
    int framesInWindow = 3;
    fixture.consume(
        0,
        message -> {
          held.add(message);
          most.accumulateAndGet(held.size(), Math::max);
          fixture.vertx().setTimer(2, timer -> held.remove().reply(shard.answer(message.body())));
        });

    int window = framesInWindow * ELEMENTS * Float.BYTES;
    Ending ending = fixture.client(config(window, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(framesInWindow, most.get());
  }

  @Test
  void shouldSendOneFrameAtATimeWhenWindowIsSmallerThanAFrame() {
    fixture.serve(0);

    Ending ending = fixture.client(config(1, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(PLAN.partitions().size(), shard.received.size());
  }

  @Test
  void shouldRetryWithSameIdentityWhenRepliesAreLost() {
    List<Frame> lost = new ArrayList<>();
    fixture.consume(
        0,
        message -> {
          Frame answer = shard.answer(message.body());
          if (lost.size() < 5) {
            lost.add(message.body());
          } else {
            message.reply(answer);
          }
        });

    RecordingRound round = new RecordingRound();

    Ending ending = fixture.client(config(1 << 20, 30, 5_000), 0).run(round);

    assertEquals(Ending.COMPLETE, ending);
    for (Frame frame : lost) {
      assertTrue(shard.received.stream().filter(frame::equals).count() >= 2, frame.toString());
      assertFalse(round.takenBack.contains(frame), "a copy may still be on its way");
    }
    assertArrayEquals(expectedAfterOneStep(), shard.parameters);
  }

  @Test
  void shouldCompleteWhenServerComesLate() {
    fixture.vertx().setTimer(100, timer -> fixture.serve(0));

    Ending ending = fixture.client(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
  }

  @Test
  void shouldFollowServerWhenItMovesToANewIncarnation() {
    PartitionClient client = fixture.client(config(1 << 20, 10_000, 5_000), 0);
    fixture.consume(
        0,
        message -> {
          shard.incarnation = 1;
          fixture.serve(1);
          client.membershipChanged(membership(2, 1));
        });

    Ending ending = client.run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    assertArrayEquals(expectedAfterOneStep(), shard.parameters);
  }

  @Test
  void shouldStopWaitingWhenRoundIsAbandoned() {
    RecordingRound round = new RecordingRound();
    PartitionClient client = fixture.client(config(1 << 20, 10_000, 15_000), 0);
    fixture.consume(
        0,
        message -> {
          round.abandoned = true;
          client.wake();
        });
    long start = System.nanoTime();

    Ending ending = client.run(round);

    assertEquals(Ending.ABANDONED, ending);
    assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(5));
  }

  @Test
  void shouldWaitForPullWhenVersionIsNotReachedYet() {
    fixture.consume(
        0,
        message ->
            fixture.vertx().setTimer(50, timer -> message.reply(shard.answer(message.body()))));
    QuadraticModel model = new QuadraticModel(LENGTH, 0);
    ParameterReader reader =
        new ParameterReader.ServerReader(
            fixture.client(config(1 << 20, 1_000, 5_000), 0),
            PLAN,
            SenderIdentity.reader(ADDRESSES.jobHash()),
            model,
            new ModelPartitions(model, DataType.FLOAT32));
    shard.parameters[42] = 42;

    ParameterSnapshot snapshot = reader.pull(3, () -> false).orElseThrow();

    assertEquals(42, model.parameters[42]);
    assertTrue(snapshot.consistent());
    assertEquals(ParameterHash.of(model), snapshot.hash());
    assertEquals(3, ((PullRequest) shard.received.get(0)).minimumVersion());
  }
}
