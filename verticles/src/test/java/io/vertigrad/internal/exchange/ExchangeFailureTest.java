package io.vertigrad.internal.exchange;

import static io.vertigrad.internal.exchange.BusFixture.config;
import static io.vertigrad.internal.exchange.BusFixture.refusal;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.fixture.FakeShard;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertx.core.Vertx;
import io.vertx.junit5.VertxExtension;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(VertxExtension.class)
@Timeout(20)
class ExchangeFailureTest {

  private BusFixture fixture;
  private FakeShard shard;

  @BeforeEach
  void setUp(Vertx vertx) {
    fixture = new BusFixture(vertx);
    shard = fixture.shard();
  }

  @Test
  void shouldNameShardPartitionStepAndTimeWhenNobodyAnswers() {
    fixture.consume(0, message -> {});

    UnansweredException failure =
        assertThrows(
            UnansweredException.class,
            () -> fixture.client(config(1 << 20, 50, 300), 0).run(new RecordingRound()));

    assertTrue(
        failure
            .getMessage()
            .matches(
                "worker 1 \\(incarnation 4\\), step 7, gradient of partition 0: no answer from"
                    + " shard 0 for (0\\.[3-9]|[1-9]\\d*\\.\\d) s \\(\\d+ attempts, address"
                    + " vertigrad\\.exchange-test\\.shard\\.0\\.0\\); last heard .* ago: nothing\\."
                    + " Look at that server's log, or raise exchange\\.deadlineMillis"),
        failure.getMessage());
  }

  @Test
  void shouldSayThatNoServerListensWhenThereIsNone() {
    UnansweredException failure =
        assertThrows(
            UnansweredException.class,
            () -> fixture.client(config(1 << 20, 50, 200), 0).run(new RecordingRound()));

    assertTrue(failure.getMessage().contains("no server listens there"), failure.getMessage());
  }

  @Test
  void shouldTryAgainWhenServerIsUnavailable() {
    AtomicInteger refusals = new AtomicInteger();
    shard.script =
        frame ->
            refusals.incrementAndGet() <= 3
                ? Optional.of(refusal(frame, Reason.UNAVAILABLE, "starting"))
                : Optional.empty();
    fixture.serve(0);

    Ending ending = fixture.client(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.COMPLETE, ending);
  }

  @Test
  void shouldAskToRejoinWhenIncarnationIsStale() {
    shard.script = frame -> Optional.of(refusal(frame, Reason.STALE_INCARNATION, "readmitted"));
    fixture.serve(0);

    Ending ending = fixture.client(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound());

    assertEquals(Ending.REJOIN, ending);
  }

  @Test
  void shouldFailWithServersWordsWhenLayoutIsWrong() {
    shard.script = frame -> Optional.of(refusal(frame, Reason.WRONG_LAYOUT, "conv1.W differs"));
    fixture.serve(0);

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> fixture.client(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound()));

    assertEquals(
        "worker 1 (incarnation 4), step 7, gradient of partition 0 refused by shard 0 after 0.0 s:"
            + " conv1.W differs (WRONG_LAYOUT)",
        failure.getMessage());
  }

  @Test
  void shouldDropOnePartitionWhenItsGradientIsNotFinite() {
    shard.script =
        frame ->
            frame instanceof GradientPartition gradient && gradient.id().partition() == 2
                ? Optional.of(refusal(frame, Reason.NOT_FINITE, "element 3 is NaN"))
                : Optional.empty();
    fixture.serve(0);
    RecordingRound round = new RecordingRound();

    Ending ending = fixture.client(config(1 << 20, 1_000, 5_000), 0).run(round);

    assertEquals(Ending.COMPLETE, ending);
    assertEquals(List.of(2), round.dropped);
    assertTrue(round.answers.stream().noneMatch(answer -> answer.id().partition() == 2));
    assertEquals(Outcome.APPLIED, round.outcomeOf(3));
  }

  @Test
  void shouldFailWhenAnswersStayMalformed() {
    shard.script = frame -> Optional.of(new Malformed("magic", 0, "0", "VGRD"));
    fixture.serve(0);

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> fixture.client(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound()));

    assertTrue(
        failure.getMessage().contains("3 frames to or from shard 0")
            && failure.getMessage().contains("magic at offset 0"),
        failure.getMessage());
  }

  @Test
  void shouldFailWithServersWordsWhenTheVersionIsUnknown() {
    shard.script = frame -> Optional.of(refusal(frame, Reason.PROTOCOL, "version 9 never was"));
    fixture.serve(0);

    ExchangeException failure =
        assertThrows(
            ExchangeException.class,
            () -> fixture.client(config(1 << 20, 1_000, 5_000), 0).run(new RecordingRound()));

    assertTrue(
        failure.getMessage().endsWith("version 9 never was (PROTOCOL)"), failure.getMessage());
  }
}
