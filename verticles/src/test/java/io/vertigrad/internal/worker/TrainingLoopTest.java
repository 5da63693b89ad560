package io.vertigrad.internal.worker;

import static io.vertigrad.internal.worker.TrainingLoopFixture.JOB;
import static io.vertigrad.internal.worker.TrainingLoopFixture.RATE;
import static io.vertigrad.internal.worker.TrainingLoopFixture.STATISTICS;
import static io.vertigrad.internal.worker.TrainingLoopFixture.TARGET;
import static io.vertigrad.internal.worker.TrainingLoopFixture.TRAINABLE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.internal.worker.WorkerCounters.LoopProgress;
import io.vertigrad.strategy.Membership.Member;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(20)
class TrainingLoopTest {

  private final TrainingLoopFixture fixture = new TrainingLoopFixture();

  @Test
  void shouldEqualPlainDescentWhenItIsTheOnlyWorker() {
    int steps = 9;

    boolean finished = fixture.loop(fixture.plan(steps, 0, false), fixture::join).run();

    assertTrue(finished);
    assertEquals(steps, fixture.batches.served);
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, steps)));
    for (int i = 0; i < TRAINABLE; i++) {
      assertEquals(expected, fixture.model.parameters[i], 1e-5f);
    }
    for (int i = TRAINABLE; i < TRAINABLE + STATISTICS; i++) {
      assertEquals(-RATE * steps, fixture.model.parameters[i], 1e-5f);
    }
    assertArrayEquals(fixture.shard.parameters, fixture.model.parameters);
  }

  @Test
  void shouldWriteStepVersionAndSamplesIntoTheGradient() {
    fixture.loop(fixture.plan(3, 0, false), fixture::join).run();

    GradientPartition last =
        (GradientPartition) fixture.shard.received.get(fixture.shard.received.size() - 1);
    assertEquals(2, last.id().step());
    assertEquals(2, last.version());
    assertEquals(2, last.samples());
    assertEquals(fixture.partitions.partitions().size() - 1, last.id().partition());
    assertEquals(JOB, last.id().job());
  }

  @Test
  void shouldPullItsFirstRoundWhenWorkersMoveInRounds() {
    fixture.loop(fixture.plan(30, 0, true), () -> Optional.of(new Member(1, 0, 20))).run();

    assertEquals(20, ((PullRequest) fixture.shard.received.get(0)).minimumVersion());
  }

  @Test
  void shouldTrainNothingWhenTheJobIsOver() {
    Arrays.fill(fixture.shard.versions, 5);

    boolean finished = fixture.loop(fixture.plan(5, 0, false), fixture::join).run();

    assertTrue(finished);
    assertEquals(0, fixture.batches.served);
  }

  @Test
  void shouldClipTrainableElementsOnlyWhenTheirNormIsTooLong() {
    double clipNorm = 0.5;

    fixture.loop(fixture.plan(1, clipNorm, false), fixture::join).run();

    double sum = 0;
    for (int i = 0; i < TRAINABLE; i++) {
      double sent = fixture.shard.parameters[i] / -RATE;
      sum += sent * sent;
      assertEquals(-clipNorm / Math.sqrt(TRAINABLE), sent, 1e-6);
    }
    assertEquals(clipNorm, Math.sqrt(sum), 1e-6);
    assertEquals(-RATE, fixture.shard.parameters[TRAINABLE], 0);
  }

  @Test
  void shouldSendTheLaggingPartitionFirstWhenVersionsDiffer() {
    fixture.shard.versions[0] = 2;
    fixture.shard.versions[1] = 1;
    fixture.shard.versions[2] = 2;

    fixture.loop(fixture.plan(3, 0, false), fixture::join).run();

    List<Integer> sent =
        fixture.shard.received.stream()
            .filter(GradientPartition.class::isInstance)
            .map(frame -> ((GradientPartition) frame).id().partition())
            .limit(3)
            .toList();
    assertEquals(List.of(1, 0, 2), sent);
  }

  @Test
  void shouldReportItsCountersWhenItHasEnded() {
    TrainingLoop loop =
        fixture.loop(
            fixture.plan(12, 0, false),
            fixture::join,
            served -> fixture.clock.addAndGet(1_000_000_000));

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
    assertEquals(Map.of(0, progress.bytesSent()), progress.sentTo());
    assertEquals(Map.of(0, progress.bytesSent()), progress.receivedFrom());
    assertEquals(Map.of(0, 12L), progress.staleness());
    double firstLoss = 0.5 * TARGET * TARGET * TRAINABLE;
    double decay = (1 - RATE) * (1 - RATE);
    double meanLoss = firstLoss * (1 - Math.pow(decay, 12)) / (1 - decay) / 12;
    assertEquals(meanLoss, progress.lossSince(LoopProgress.NONE), 1e-3);
  }

  @ParameterizedTest
  @EnumSource(names = {"LATE", "TOO_STALE", "FINISHED"})
  void shouldCountNoSamplesWhenAGradientWasNotApplied(Outcome outcome) {
    fixture.shard.script =
        frame ->
            frame instanceof GradientPartition gradient && gradient.id().step() == 1
                ? Optional.of(fixture.shard.parameters(gradient.id(), outcome))
                : Optional.empty();
    TrainingLoop loop = fixture.loop(fixture.plan(4, 0, false), fixture::join);

    loop.run();

    assertEquals(5, loop.progress().step());
    assertEquals(4 * 2, loop.progress().samples());
  }

  @Test
  void shouldCountNeitherSamplesNorLossWhenABatchIsNotFinite() {
    fixture.batches.broken = 0;
    TrainingLoop loop = fixture.loop(fixture.plan(1, 0, true), fixture::join);

    loop.run();

    LoopProgress progress = loop.progress();
    assertEquals(2, progress.samples());
    double loss = 0.5 * TARGET * TARGET * TRAINABLE;
    assertEquals(loss, progress.lossSince(LoopProgress.NONE), 1e-6);
    assertEquals(loss, progress.lossSince(progress), 1e-6);
  }

  @Test
  void shouldRoundGradientsWhenTheyTravelAsBfloat16() {
    TrainingPlan plan =
        TrainingPlans.of(JOB, fixture.partitions, DataType.BFLOAT16, Compression.NONE, 0, 1, false);
    fixture.shard.script =
        frame -> {
          if (frame instanceof GradientPartition gradient) {
            assertEquals(DataType.BFLOAT16, gradient.gradient().type());
          }
          return Optional.empty();
        };

    assertTrue(fixture.loop(plan, fixture::join, served -> {}).run());
    assertEquals(TARGET * RATE, fixture.model.parameters[0], 0);
  }
}
