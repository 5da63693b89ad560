package io.vertigrad.internal.worker;

import static io.vertigrad.internal.worker.TrainingLoopFixture.RATE;
import static io.vertigrad.internal.worker.TrainingLoopFixture.TARGET;
import static io.vertigrad.internal.worker.TrainingLoopFixture.refusal;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Membership.Member;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(20)
class TrainingLoopFailureTest {

  private final TrainingLoopFixture fixture = new TrainingLoopFixture();

  @Test
  void shouldJoinAndPullAgainWhenItsIncarnationIsStale() {
    fixture.shard.script =
        frame ->
            frame instanceof GradientPartition gradient
                    && gradient.id().incarnation() == 0
                    && gradient.id().step() == 2
                ? Optional.of(refusal(frame, Reason.STALE_INCARNATION))
                : Optional.empty();

    boolean finished = fixture.loop(fixture.plan(6, 0, false), fixture::join).run();

    assertTrue(finished);
    assertEquals(List.of(new Member(1, 0, 0), new Member(1, 1, 0)), fixture.joined);
    GradientPartition last =
        (GradientPartition) fixture.shard.received.get(fixture.shard.received.size() - 1);
    assertEquals(1, last.id().incarnation());
    assertEquals(3, last.id().step());
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, 6)));
    assertEquals(expected, fixture.model.parameters[0], 1e-5f);
  }

  @Test
  void shouldGiveUpWhenEveryIncarnationIsStale() {
    fixture.shard.script =
        frame ->
            frame instanceof GradientPartition
                ? Optional.of(refusal(frame, Reason.STALE_INCARNATION))
                : Optional.empty();

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> fixture.loop(fixture.plan(6, 0, false), fixture::join).run());

    assertEquals(
        "worker 1 joined 6 times in a row and was refused before a step was answered, last as"
            + " incarnation 5; do servers and coordinator belong to the same job?",
        failure.getMessage());
    assertTrue(fixture.batches.closed);
  }

  @Test
  void shouldJoinAgainWhenItWasEvicted() {
    TrainingLoop[] loop = new TrainingLoop[1];
    loop[0] =
        fixture.loop(
            fixture.plan(6, 0, false),
            fixture::join,
            served -> {
              if (served == 3) {
                loop[0].evicted(1, 0);
              }
            });

    assertTrue(loop[0].run());
    assertEquals(2, fixture.joined.size());
  }

  @Test
  void shouldNotJoinAgainWhenAFormerIncarnationWasEvicted() {
    TrainingLoop[] loop = new TrainingLoop[1];
    loop[0] =
        fixture.loop(fixture.plan(6, 0, false), fixture::join, served -> loop[0].evicted(1, 7));

    assertTrue(loop[0].run());
    assertEquals(1, fixture.joined.size());
  }

  @Test
  void shouldStopAfterTheStepOnRequest() {
    TrainingLoop[] loop = new TrainingLoop[1];
    loop[0] =
        fixture.loop(
            fixture.plan(1_000_000, 0, false),
            fixture::join,
            served -> {
              if (served == 3) {
                loop[0].stop();
              }
            });

    boolean finished = loop[0].run();

    assertFalse(finished);
    assertEquals(3, fixture.batches.served);
    assertTrue(fixture.batches.closed);
    assertEquals(2, loop[0].progress().step());
  }

  @Test
  void shouldContinueAndCountWhenAGradientIsRefusedAsNotFinite() {
    fixture.shard.script =
        frame ->
            frame instanceof GradientPartition gradient && gradient.id().step() == 1
                ? Optional.of(refusal(frame, Reason.NOT_FINITE))
                : Optional.empty();
    TrainingLoop loop = fixture.loop(fixture.plan(4, 0, false), fixture::join);

    assertTrue(loop.run());

    assertEquals(5, fixture.batches.served);
    assertEquals(1, loop.progress().refused());
    assertEquals(Map.of(0, 4L), loop.progress().staleness());
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, 4)));
    assertEquals(expected, fixture.model.parameters[0], 1e-5f);
  }

  @ParameterizedTest
  @CsvSource({"true, 3", "false, 6"})
  void shouldPullAgainOnlyWhenOthersDoNotWaitForItsNextBatch(boolean lockstep, int pulls) {
    fixture.batches.broken = 1;

    assertTrue(fixture.loop(fixture.plan(4, 0, lockstep), fixture::join).run());

    List<Frame> received = fixture.shard.received;
    assertEquals(pulls, received.stream().filter(PullRequest.class::isInstance).count());
    assertEquals(pulls + 1 + 3 * 4, received.size());
    float expected = (float) (TARGET * (1 - Math.pow(1 - RATE, 4)));
    assertEquals(expected, fixture.model.parameters[0], 1e-5f);
  }

  @Test
  void shouldFailWhenEveryGradientIsNotFinite() {
    fixture.shard.script =
        frame ->
            frame instanceof GradientPartition
                ? Optional.of(refusal(frame, Reason.NOT_FINITE))
                : Optional.empty();

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> fixture.loop(fixture.plan(400, 0, false), fixture::join).run());

    assertTrue(failure.failsJob());
    assertTrue(
        failure.getMessage().startsWith("training diverged at step 19: "), failure.getMessage());
  }

  @Test
  void shouldBlameThisWorkerWhenGradientsOfOthersAreApplied() {
    fixture.batches.broken = 0;
    fixture.shard.script =
        frame -> {
          if (frame instanceof GradientPartition) {
            for (int i = 0; i < fixture.shard.versions.length; i++) {
              fixture.shard.versions[i]++;
            }
            return Optional.of(refusal(frame, Reason.NOT_FINITE));
          }
          return Optional.empty();
        };

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () ->
                fixture
                    .loop(
                        fixture.plan(400, 0, false),
                        fixture::join,
                        served -> fixture.batches.broken = served)
                    .run());

    assertFalse(failure.failsJob());
    assertTrue(
        failure
            .getMessage()
            .startsWith(
                "20 gradients in sequence were refused, while those of others are applied: "),
        failure.getMessage());
  }

  @Test
  void shouldReportTheLargestStalenessWhenPartitionsDiffer() {
    fixture.shard.script =
        frame -> {
          if (frame instanceof GradientPartition gradient) {
            fixture.shard.versions[gradient.id().partition()]++;
            ParameterPartition answer =
                fixture.shard.parameters(gradient.id(), ParameterPartition.Outcome.APPLIED);
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
    TrainingLoop loop = fixture.loop(fixture.plan(2, 0, false), fixture::join);

    loop.run();

    int largest = fixture.partitions.partitions().size() - 1;
    assertEquals(Map.of(largest, 2L), loop.progress().staleness());
  }
}
