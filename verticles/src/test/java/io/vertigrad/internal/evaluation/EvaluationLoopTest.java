package io.vertigrad.internal.evaluation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.fixture.FakeShard;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.ParameterReader;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.EvaluationResult;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class EvaluationLoopTest {

  private static final int TEST_SAMPLES = 300;
  private static final int PART = 10;

  private final PartitionPlan partitions = PartitionPlan.of(QuadraticModel.layout(4, 0), 2, 1);
  private final FakeShard shard = new FakeShard(partitions, 4, 1);
  private final QuadraticModel model = new QuadraticModel(4, 0);
  private final List<Evaluated> events = new ArrayList<>();
  private final List<Future<EvaluationResult>> answers = new ArrayList<>();

  @Test
  void shouldTestEveryTenthVersionWhenServersAnswerAtThatVersion() throws InterruptedException {
    EvaluationLoop loop = loop(new EvaluationPlan(10, 25));
    reachWhateverIsAskedFor();
    stopAt(loop, 25);

    loop.run();

    assertEquals(List.of(10L, 20L, 25L), events.stream().map(Evaluated::version).toList());
    assertTrue(events.stream().noneMatch(Evaluated::wholeTestSet));
    assertTrue(events.stream().allMatch(event -> event.samples() == PART));
  }

  @Test
  void shouldRetryWhileThereIsNobodyToReadFrom() throws InterruptedException {
    EvaluationLoop loop = loop(new EvaluationPlan(10, 10));
    reachWhateverIsAskedFor();
    var reached = shard.script;
    AtomicInteger asked = new AtomicInteger();
    shard.script =
        frame -> {
          if (asked.incrementAndGet() < 3) {
            throw new UnansweredException("nobody is left");
          }
          return reached.apply(frame);
        };
    stopAt(loop, 10);

    loop.run();

    assertEquals(List.of(10L), events.stream().map(Evaluated::version).toList());
    assertTrue(asked.get() >= 3);
  }

  @Test
  void shouldSkipToTheNewestWhenItFellBehind() throws InterruptedException {
    EvaluationLoop loop = loop(new EvaluationPlan(10, 100));
    Arrays.fill(shard.versions, 37);
    stopAt(loop, 37);

    loop.run();

    PullRequest last = (PullRequest) shard.received.get(shard.received.size() - 1);
    assertEquals(37, events.get(0).version());
    assertEquals(1, events.size());
    assertEquals(10, last.minimumVersion());
    assertEquals(40, new EvaluationPlan(10, 100).next(37));
  }

  @Test
  void shouldScoreTheWholeTestSetWhenAsked() throws InterruptedException {
    EvaluationLoop loop = loop(new EvaluationPlan(10, 20));
    Arrays.fill(shard.versions, 20);
    shard.parameters[0] = 3;
    answers.add(loop.testWhole());
    stopAt(loop, 20);

    loop.run();

    EvaluationResult answer = answers.get(0).result();
    assertEquals(TEST_SAMPLES, answer.samples());
    assertEquals(20, answer.version());
    assertEquals(3, answer.loss());
    assertEquals(25, answer.accuracy());
    assertEquals(ParameterHash.of(model), answer.parametersHash());
    assertTrue(events.get(0).wholeTestSet());
    assertEquals(answer.parametersHash(), events.get(0).parametersHash());
  }

  @Test
  void shouldReportTheLowestVersionWhenPartitionsDiffer() throws InterruptedException {
    EvaluationLoop loop = loop(new EvaluationPlan(10, 20));
    shard.versions[0] = 12;
    shard.versions[1] = 11;
    answers.add(loop.testWhole());
    stopAt(loop, 11);

    loop.run();

    assertEquals(11, answers.get(0).result().version());
    assertEquals(12, answers.get(0).result().highestVersion());
  }

  @Test
  void shouldRefuseCommandsWhenItStops() throws InterruptedException {
    EvaluationLoop loop = loop(new EvaluationPlan(10, 20));
    Future<EvaluationResult> before = loop.testWhole();
    loop.stop();

    loop.run();
    Future<EvaluationResult> after = loop.testWhole();

    assertTrue(before.failed());
    assertTrue(after.failed());
    assertTrue(events.isEmpty());
  }

  @Test
  void shouldHashTheSameWhenParametersAreTheSame() {
    QuadraticModel other = new QuadraticModel(4, 0);
    String zeros = ParameterHash.of(model);

    model.parameters[2] = 1;

    assertEquals(zeros, ParameterHash.of(other));
    assertFalse(zeros.equals(ParameterHash.of(model)));
    assertTrue(zeros.matches("[0-9a-f]{16}"), zeros);
  }

  private void reachWhateverIsAskedFor() {
    shard.script =
        frame -> {
          Arrays.fill(shard.versions, ((PullRequest) frame).minimumVersion());
          return Optional.empty();
        };
  }

  /** Stops the loop as soon as it has published this version. */
  private void stopAt(EvaluationLoop loop, long version) {
    onEvent =
        event -> {
          if (event.version() >= version) {
            loop.stop();
          }
        };
  }

  private java.util.function.Consumer<Evaluated> onEvent = event -> {};

  private EvaluationLoop loop(EvaluationPlan plan) {
    PartitionClient client = shard.client();
    ParameterReader reader =
        new ParameterReader.ServerReader(
            client,
            partitions,
            SenderIdentity.reader(1),
            model,
            new ModelPartitions(model, DataType.FLOAT32));
    return new EvaluationLoop(
        reader,
        new Evaluation(
            model,
            "quadratic",
            new QuarterOnes(),
            PART,
            0,
            0,
            false,
            count -> {},
            SpanRecorder.OFF),
        plan,
        version -> {},
        version -> {},
        event -> {
          events.add(event);
          onEvent.accept(event);
        },
        client::wake);
  }

  /** A data set in which every fourth sample has label 1, which the quadratic model predicts. */
  private static final class QuarterOnes implements Dataset {

    @Override
    public int size() {
      return TEST_SAMPLES;
    }

    @Override
    public List<Integer> shape() {
      return List.of(4);
    }

    @Override
    public int classes() {
      return 2;
    }

    @Override
    public void read(int index, float[] features, int offset) {
      Arrays.fill(features, offset, offset + 4, index);
    }

    @Override
    public int label(int index) {
      return index % 4 == 0 ? 1 : 0;
    }
  }
}
