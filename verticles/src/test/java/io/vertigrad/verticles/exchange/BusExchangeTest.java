package io.vertigrad.verticles.exchange;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.verticles.exchange.PartitionExchange.Ending;
import io.vertigrad.verticles.fixture.FakeShard;
import io.vertigrad.verticles.fixture.QuadraticModel;
import io.vertigrad.verticles.job.ExchangeConfig;
import io.vertigrad.verticles.job.Partition;
import io.vertigrad.verticles.job.PartitionPlan;
import io.vertigrad.verticles.strategy.Membership;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.junit5.VertxExtension;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(VertxExtension.class)
@Timeout(20)
class BusExchangeTest {

  private static final int ELEMENTS = 10;
  private static final int LENGTH = 100;
  private static final Addresses ADDRESSES = new Addresses("exchange-test");
  private static final PartitionPlan PLAN =
      PartitionPlan.of(QuadraticModel.layout(LENGTH, 0), ELEMENTS, 1);

  private final FakeShard shard = new FakeShard(PLAN, LENGTH, 1);
  private Vertx vertx;

  @BeforeEach
  void register(Vertx vertx) {
    this.vertx = vertx;
    FrameCodecs.register(vertx.eventBus());
  }

  @Test
  void shouldHandOverEveryAnswerWhenServerAnswers() {
    serve(0);
    RecordingRound round = new RecordingRound();

    Ending ending = exchange(config(1 << 20, 1_000, 5_000), 0).run(round);

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(PLAN.partitions().size(), round.answers.size());
    assertArrayEquals(expectedAfterOneStep(), shard.parameters);
  }

  @Test
  void shouldNeverExceedWindowWhenServerIsSlow() {
    Queue<Message<Frame>> held = new ArrayDeque<>();
    AtomicInteger most = new AtomicInteger();
    int framesInWindow = 3;
    consume(
        0,
        message -> {
          held.add(message);
          most.accumulateAndGet(held.size(), Math::max);
          vertx.setTimer(2, timer -> held.remove().reply(shard.answer(message.body())));
        });

    int window = framesInWindow * ELEMENTS * Float.BYTES;
    Ending ending = exchange(config(window, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(framesInWindow, most.get());
  }

  @Test
  void shouldSendOneFrameAtATimeWhenWindowIsSmallerThanAFrame() {
    serve(0);

    Ending ending = exchange(config(1, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(PLAN.partitions().size(), shard.received.size());
  }

  @Test
  void shouldRetryWithSameIdentityWhenRepliesAreLost() {
    List<Frame> lost = new ArrayList<>();
    consume(
        0,
        message -> {
          Frame answer = shard.answer(message.body());
          if (lost.size() < 5) {
            lost.add(message.body());
          } else {
            message.reply(answer);
          }
        });

    Ending ending = exchange(config(1 << 20, 30, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    for (Frame frame : lost) {
      assertTrue(shard.received.stream().filter(frame::equals).count() >= 2, frame.toString());
    }
    assertArrayEquals(expectedAfterOneStep(), shard.parameters);
  }

  @Test
  void shouldNameShardPartitionStepAndTimeWhenNobodyAnswers() {
    consume(0, message -> {});

    UnansweredException failure =
        assertThrows(
            UnansweredException.class,
            () -> exchange(config(1 << 20, 50, 300), 0).run(new RecordingRound()));

    assertTrue(
        failure
            .getMessage()
            .matches(
                "worker 1 \\(incarnation 4\\), step 7, gradient of partition 0: no answer from"
                    + " shard 0 for 0\\.[34] s \\(\\d attempts, address"
                    + " vertigrad\\.exchange-test\\.shard\\.0\\.0\\); last heard .* ago: nothing\\."
                    + " Look at that server's log, or raise exchange\\.deadlineMillis"),
        failure.getMessage());
  }

  @Test
  void shouldSayThatNoServerListensWhenThereIsNone() {
    UnansweredException failure =
        assertThrows(
            UnansweredException.class,
            () -> exchange(config(1 << 20, 50, 200), 0).run(new RecordingRound()));

    assertTrue(
        failure.getMessage().contains("no server listens there"), failure.getMessage());
  }

  @Test
  void shouldCompleteWhenServerComesLate() {
    vertx.setTimer(100, timer -> serve(0));

    Ending ending = exchange(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
  }

  @Test
  void shouldTryAgainWhenServerIsUnavailable() {
    AtomicInteger refusals = new AtomicInteger();
    shard.script =
        frame ->
            refusals.incrementAndGet() <= 3
                ? Optional.of(refusal(frame, Reason.UNAVAILABLE, "starting"))
                : Optional.empty();
    serve(0);

    Ending ending = exchange(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
  }

  @Test
  void shouldAskToRejoinWhenIncarnationIsStale() {
    shard.script = frame -> Optional.of(refusal(frame, Reason.STALE_INCARNATION, "readmitted"));
    serve(0);

    Ending ending = exchange(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.REJOIN, ending);
  }

  @Test
  void shouldFailWithServersWordsWhenLayoutIsWrong() {
    shard.script = frame -> Optional.of(refusal(frame, Reason.WRONG_LAYOUT, "conv1.W differs"));
    serve(0);

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> exchange(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound()));

    assertEquals(
        "worker 1 (incarnation 4), step 7, gradient of partition 0 refused by shard 0 after 0.0 s:"
            + " conv1.W differs (WRONG_LAYOUT)",
        failure.getMessage());
  }

  @Test
  void shouldPullInsteadWhenGradientIsNotFinite() {
    shard.script =
        frame ->
            frame instanceof GradientPartition gradient && gradient.id().partition() == 2
                ? Optional.of(refusal(frame, Reason.NOT_FINITE, "element 3 is NaN"))
                : Optional.empty();
    serve(0);
    RecordingRound round = new RecordingRound();

    Ending ending = exchange(config(1 << 20, 1_000, 5_000), 0).run(round);

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(List.of(2), round.dropped);
    assertEquals(Outcome.PULLED, round.outcomeOf(2));
    assertEquals(Outcome.APPLIED, round.outcomeOf(3));
  }

  @Test
  void shouldFailWhenAnswersStayMalformed() {
    shard.script = frame -> Optional.of(new Malformed("magic", 0, "0", "VGRD"));
    serve(0);

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> exchange(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound()));

    assertTrue(
        failure.getMessage().contains("answered 3 times")
            && failure.getMessage().contains("magic at offset 0"),
        failure.getMessage());
  }

  @Test
  void shouldFollowServerWhenItMovesToANewIncarnation() {
    BusExchange exchange = exchange(config(1 << 20, 10_000, 5_000), 0);
    consume(
        0,
        message -> {
          shard.incarnation = 1;
          serve(1);
          exchange.membershipChanged(membership(2, 1));
        });

    Ending ending = exchange.run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
    assertArrayEquals(expectedAfterOneStep(), shard.parameters);
  }

  @Test
  void shouldPullWhenRestartedServerNeverReachedTheVersion() {
    BusExchange exchange = exchange(config(1 << 20, 1_000, 5_000), 1);
    shard.incarnation = 1;
    shard.script =
        frame ->
            frame instanceof GradientPartition
                ? Optional.of(refusal(frame, Reason.PROTOCOL, "version 9 is from the future"))
                : Optional.empty();
    serve(1);
    RecordingRound round = new RecordingRound();

    Ending ending = exchange.run(round);

    assertEquals(Ending.COMPLETE, ending);
    assertTrue(round.answers.stream().allMatch(answer -> answer.outcome() == Outcome.PULLED));
  }

  @Test
  void shouldStopWaitingWhenRoundIsAbandoned() {
    RecordingRound round = new RecordingRound();
    BusExchange exchange = exchange(config(1 << 20, 10_000, 15_000), 0);
    consume(
        0,
        message -> {
          round.abandoned = true;
          exchange.wake();
        });
    long start = System.nanoTime();

    Ending ending = exchange.run(round);

    assertEquals(Ending.ABANDONED, ending);
    assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(5));
  }

  @Test
  void shouldWaitForPullWhenVersionIsNotReachedYet() {
    consume(
        0,
        message ->
            vertx.setTimer(50, timer -> message.reply(shard.answer(message.body()))));
    QuadraticModel model = new QuadraticModel(LENGTH, 0);
    ParameterReader reader =
        new ParameterReader(
            exchange(config(1 << 20, 1_000, 5_000), 0),
            PLAN,
            Identity.reader(ADDRESSES.jobHash()),
            model,
            new ModelPartitions(model, DataType.FLOAT32));
    shard.parameters[42] = 42;

    ParameterSnapshot snapshot = reader.pull(3, () -> false).orElseThrow();

    assertEquals(42, model.parameters[42]);
    assertTrue(snapshot.consistent());
    assertEquals(ParameterHash.of(model), snapshot.hash());
    assertEquals(3, ((PullRequest) shard.received.get(0)).minimumVersion());
  }

  private void serve(int incarnation) {
    consume(incarnation, message -> message.reply(shard.answer(message.body())));
  }

  private void consume(int incarnation, io.vertx.core.Handler<Message<Frame>> handler) {
    MessageConsumer<Frame> consumer =
        vertx.eventBus().consumer(ADDRESSES.shard(0, incarnation), handler);
    assertTrue(consumer.isRegistered());
  }

  private BusExchange exchange(ExchangeConfig config, int server) {
    BusExchange exchange =
        new BusExchange(vertx.eventBus(), ADDRESSES, config, PLAN.partitions().size());
    exchange.membershipChanged(membership(1, server));
    return exchange;
  }

  private static Membership membership(int epoch, int server) {
    return new Membership(epoch, List.of(), List.of(new Membership.Member(0, server, 0)));
  }

  private static ExchangeConfig config(int windowBytes, long retryMillis, long deadlineMillis) {
    return new ExchangeConfig(
        DataType.FLOAT32, ELEMENTS, windowBytes, retryMillis, deadlineMillis, 3_000, 10_000);
  }

  private static Refusal refusal(Frame frame, Reason reason, String message) {
    return new Refusal(((GradientPartition) frame).id(), reason, message);
  }

  /** Gradient element i is i; the learning rate is 1. */
  private static float[] expectedAfterOneStep() {
    float[] expected = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      expected[i] -= i;
    }
    return expected;
  }

  /** Offers the gradient {@code 0, 1, 2, ...} and keeps what comes back. */
  private static final class RecordingRound implements Round {

    private final List<ParameterPartition> answers = new ArrayList<>();
    private final List<Integer> dropped = new ArrayList<>();
    private volatile boolean abandoned;

    Outcome outcomeOf(int partition) {
      return answers.stream()
          .filter(answer -> answer.id().partition() == partition)
          .findFirst()
          .orElseThrow()
          .outcome();
    }

    @Override
    public List<Partition> order() {
      return PLAN.partitions();
    }

    @Override
    public Frame request(Partition partition) {
      float[] gradient = new float[partition.length()];
      for (int i = 0; i < gradient.length; i++) {
        gradient[i] = partition.first() + i;
      }
      ExchangeId id = new ExchangeId(ADDRESSES.jobHash(), 1, 4, 1, 7, partition.index());
      return new GradientPartition(
          id, PLAN.layout(), 0, 2, partition.first(), Tensor.ofFloats(gradient));
    }

    @Override
    public void answered(Partition partition, ParameterPartition answer) {
      answers.add(answer);
    }

    @Override
    public void dropped(Partition partition, Refusal why) {
      dropped.add(partition.index());
    }

    @Override
    public boolean abandoned() {
      return abandoned;
    }
  }
}
