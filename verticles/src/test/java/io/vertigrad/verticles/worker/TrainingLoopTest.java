package io.vertigrad.verticles.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.verticles.exchange.ExchangeException;
import io.vertigrad.verticles.fixture.ConstantBatches;
import io.vertigrad.verticles.fixture.FakeShard;
import io.vertigrad.verticles.fixture.MemoryExchange;
import io.vertigrad.verticles.fixture.QuadraticModel;
import io.vertigrad.verticles.job.PartitionPlan;
import io.vertigrad.verticles.strategy.Membership.Member;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class TrainingLoopTest {

  private static final int TRAINABLE = 6;
  private static final int STATISTICS = 2;
  private static final float RATE = 0.25f;
  private static final float TARGET = 8;
  private static final long JOB = 77;

  private final PartitionPlan partitions =
      PartitionPlan.of(QuadraticModel.layout(TRAINABLE, STATISTICS), 4, 1);
  private final FakeShard shard = new FakeShard(partitions, TRAINABLE + STATISTICS, RATE);
  private final QuadraticModel model = new QuadraticModel(TRAINABLE, STATISTICS);
  private final ConstantBatches batches = new ConstantBatches(TRAINABLE, TARGET);
  private final List<Member> joined = new ArrayList<>();
  private final AtomicLong clock = new AtomicLong();

  @Test
  void shouldEqualPlainDescentWhenItIsTheOnlyWorker() {
    int steps = 9;

    boolean finished = loop(plan(steps, 0, false), this::joinOnce).run();

    assertTrue(finished);
    assertEquals(steps, batches.served);
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, steps)));
    for (int i = 0; i < TRAINABLE; i++) {
      assertEquals(expected, model.parameters[i], 1e-5f);
    }
    for (int i = TRAINABLE; i < TRAINABLE + STATISTICS; i++) {
      assertEquals(-RATE * steps, model.parameters[i], 1e-5f);
    }
    assertArrayEquals(shard.parameters, model.parameters);
  }

  @Test
  void shouldStampStepVersionAndSamplesWhenItSendsAGradient() {
    loop(plan(3, 0, false), this::joinOnce).run();

    GradientPartition last = (GradientPartition) shard.received.get(shard.received.size() - 1);
    assertEquals(2, last.id().step());
    assertEquals(2, last.version());
    assertEquals(2, last.samples());
    assertEquals(partitions.partitions().size() - 1, last.id().partition());
    assertEquals(JOB, last.id().job());
  }

  @Test
  void shouldPullItsFirstRoundWhenWorkersMoveInRounds() {
    loop(plan(30, 0, true), () -> Optional.of(new Member(1, 0, 20))).run();

    assertEquals(20, ((PullRequest) shard.received.get(0)).minimumVersion());
  }

  @Test
  void shouldTrainNothingWhenTheJobIsOver() {
    Arrays.fill(shard.versions, 5);

    boolean finished = loop(plan(5, 0, false), this::joinOnce).run();

    assertTrue(finished);
    assertEquals(0, batches.served);
  }

  @Test
  void shouldClipTrainableElementsOnlyWhenTheirNormIsTooLong() {
    double clipNorm = 0.5;

    loop(plan(1, clipNorm, false), this::joinOnce).run();

    double sum = 0;
    for (int i = 0; i < TRAINABLE; i++) {
      double sent = shard.parameters[i] / -RATE;
      sum += sent * sent;
      assertEquals(-clipNorm / Math.sqrt(TRAINABLE), sent, 1e-6);
    }
    assertEquals(clipNorm, Math.sqrt(sum), 1e-6);
    assertEquals(-RATE, shard.parameters[TRAINABLE], 0);
  }

  @Test
  void shouldJoinAndPullAgainWhenItsIncarnationIsStale() {
    shard.script =
        frame ->
            frame instanceof GradientPartition gradient
                    && gradient.id().incarnation() == 0
                    && gradient.id().step() == 2
                ? Optional.of(refusal(frame, Reason.STALE_INCARNATION))
                : Optional.empty();

    boolean finished = loop(plan(6, 0, false), this::joinOnce).run();

    assertTrue(finished);
    assertEquals(List.of(new Member(1, 0, 0), new Member(1, 1, 0)), joined);
    GradientPartition last = (GradientPartition) shard.received.get(shard.received.size() - 1);
    assertEquals(1, last.id().incarnation());
    assertEquals(3, last.id().step());
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, 6)));
    assertEquals(expected, model.parameters[0], 1e-5f);
  }

  @Test
  void shouldGiveUpWhenEveryIncarnationIsStale() {
    shard.script =
        frame ->
            frame instanceof GradientPartition
                ? Optional.of(refusal(frame, Reason.STALE_INCARNATION))
                : Optional.empty();

    ExchangeException failure =
        assertThrows(
            ExchangeException.class, () -> loop(plan(6, 0, false), this::joinOnce).run());

    assertEquals(
        "worker 1 joined 6 times in a row and was refused before a step was answered, last as"
            + " incarnation 5; do servers and coordinator belong to the same job?",
        failure.getMessage());
    assertTrue(batches.closed);
  }

  @Test
  void shouldJoinAgainWhenItWasEvicted() {
    TrainingLoop[] loop = new TrainingLoop[1];
    loop[0] =
        loop(
            plan(6, 0, false),
            this::joinOnce,
            served -> {
              if (served == 3) {
                loop[0].evicted();
              }
            });

    assertTrue(loop[0].run());
    assertEquals(2, joined.size());
  }

  @Test
  void shouldStopAfterTheStepWhenItIsTold() {
    TrainingLoop[] loop = new TrainingLoop[1];
    loop[0] =
        loop(
            plan(1_000_000, 0, false),
            this::joinOnce,
            served -> {
              if (served == 3) {
                loop[0].stop();
              }
            });

    boolean finished = loop[0].run();

    assertFalse(finished);
    assertEquals(3, batches.served);
    assertTrue(batches.closed);
    assertEquals(2, loop[0].progress().step());
  }

  @Test
  void shouldGoOnAndCountWhenAGradientIsRefusedAsNotFinite() {
    shard.script =
        frame ->
            frame instanceof GradientPartition gradient && gradient.id().step() == 1
                ? Optional.of(refusal(frame, Reason.NOT_FINITE))
                : Optional.empty();
    TrainingLoop loop = loop(plan(4, 0, false), this::joinOnce);

    assertTrue(loop.run());

    assertEquals(5, batches.served);
    assertEquals(1, loop.progress().refused());
    assertEquals(Map.of(0, 4L), loop.progress().staleness());
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, 4)));
    assertEquals(expected, model.parameters[0], 1e-5f);
  }

  @Test
  void shouldFailWhenEveryGradientIsNotFinite() {
    shard.script =
        frame ->
            frame instanceof GradientPartition
                ? Optional.of(refusal(frame, Reason.NOT_FINITE))
                : Optional.empty();

    ExchangeException failure =
        assertThrows(
            ExchangeException.class, () -> loop(plan(400, 0, false), this::joinOnce).run());

    assertTrue(
        failure.getMessage().startsWith("worker 1: training diverged: 20 gradients in a row"),
        failure.getMessage());
    assertTrue(failure.getMessage().contains("optimizer.learningRate"), failure.getMessage());
  }

  @Test
  void shouldSendTheLaggingPartitionFirstWhenVersionsDiffer() {
    shard.versions[0] = 2;
    shard.versions[1] = 1;
    shard.versions[2] = 2;

    loop(plan(3, 0, false), this::joinOnce).run();

    List<Integer> sent =
        shard.received.stream()
            .filter(GradientPartition.class::isInstance)
            .map(frame -> ((GradientPartition) frame).id().partition())
            .limit(3)
            .toList();
    assertEquals(List.of(1, 0, 2), sent);
  }

  @Test
  void shouldReportWhatItDidWhenItHasEnded() {
    TrainingLoop loop =
        loop(plan(12, 0, false), this::joinOnce, served -> clock.addAndGet(1_000_000_000));

    loop.run();

    LoopProgress progress = loop.progress();
    assertEquals(1, progress.rank());
    assertEquals(12, progress.step());
    assertEquals(12, progress.version());
    assertEquals(24, progress.samples());
    assertEquals(1, progress.epoch());
    assertEquals(12, progress.secondsWaitingForData(), 1e-9);
    assertEquals(0, progress.secondsComputing(), 1e-9);
    assertEquals(12L * (TRAINABLE + STATISTICS) * Float.BYTES, progress.bytesSent());
    assertEquals(progress.bytesSent(), progress.bytesReceived());
    assertEquals(Map.of(0, 12L), progress.staleness());
    double firstLoss = 0.5 * TARGET * TARGET * TRAINABLE;
    double decay = (1 - RATE) * (1 - RATE);
    double meanLoss = firstLoss * (1 - Math.pow(decay, 12)) / (1 - decay) / 12;
    assertEquals(meanLoss, progress.lossSince(LoopProgress.NONE), 1e-3);
  }

  @Test
  void shouldRoundGradientsWhenTheyTravelAsBfloat16() {
    TrainingPlan plan =
        new TrainingPlan(JOB, partitions, DataType.BFLOAT16, 0, 1, false);
    shard.script =
        frame -> {
          if (frame instanceof GradientPartition gradient) {
            assertEquals(DataType.BFLOAT16, gradient.gradient().type());
          }
          return Optional.empty();
        };

    assertTrue(loop(plan, this::joinOnce, served -> {}).run());
    assertEquals(TARGET * RATE, model.parameters[0], 0);
  }

  @Test
  void shouldReportTheLargestStalenessWhenPartitionsDiffer() {
    shard.script =
        frame -> {
          if (frame instanceof GradientPartition gradient) {
            shard.versions[gradient.id().partition()]++;
            ParameterPartition answer =
                shard.parameters(gradient.id(), ParameterPartition.Outcome.APPLIED);
            return Optional.of(
                new ParameterPartition(
                    answer.id(),
                    answer.layout(),
                    answer.server(),
                    answer.version(),
                    gradient.id().partition(),
                    answer.outcome(),
                    answer.firstElement(),
                    answer.parameters()));
          }
          return Optional.empty();
        };
    TrainingLoop loop = loop(plan(2, 0, false), this::joinOnce);

    loop.run();

    int largest = partitions.partitions().size() - 1;
    assertEquals(Map.of(largest, 2L), loop.progress().staleness());
  }

  private Optional<Member> joinOnce() {
    Member member = new Member(1, joined.size(), 0);
    joined.add(member);
    return Optional.of(member);
  }

  private TrainingPlan plan(long lastVersion, double clipNorm, boolean lockstep) {
    return new TrainingPlan(
        JOB, partitions, DataType.FLOAT32, clipNorm, lastVersion, lockstep);
  }

  private TrainingLoop loop(TrainingPlan plan, Enrolment enrolment) {
    return loop(plan, enrolment, served -> {});
  }

  private TrainingLoop loop(
      TrainingPlan plan, Enrolment enrolment, IntConsumer onBatch) {
    return new TrainingLoop(
        model,
        plan,
        new MemoryExchange(shard),
        enrolment,
        rank -> watched(onBatch),
        clock::get);
  }

  private BatchSource watched(IntConsumer onBatch) {
    return new BatchSource() {
      @Override
      public Batch next() {
        Batch batch = batches.next();
        onBatch.accept(batches.served);
        return batch;
      }

      @Override
      public void close() {
        batches.close();
      }
    };
  }

  private static Refusal refusal(Frame frame, Reason reason) {
    return new Refusal(((GradientPartition) frame).id(), reason, "element 0 is NaN");
  }
}
