package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.Future;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests a worker's replica whose gradients come from another process, without a network. */
@Timeout(20)
class ReceivedGradientsTest {

  private static final int LENGTH = 40_000;

  private final QuadraticModel model = new QuadraticModel(LENGTH, 0);
  private final PartitionPlan plan = PartitionPlan.of(model.layout(), 30_000, 1);
  private final ReceivedGradients received =
      new ReceivedGradients(
          model,
          new QuadraticEngine(),
          TrainingPlans.of(1, plan, DataType.FLOAT32, Compression.NONE, 0, 10, true),
          100);
  private volatile boolean stopped;
  private GradientSource source;

  @BeforeEach
  void begin() {
    source =
        received.source(
            new Incarnation(new SenderIdentity(1, 3, 2), 0, 0, new StepGate(), () -> stopped));
  }

  @AfterEach
  void end() {
    stopped = true;
  }

  @Test
  void shouldAnswerAGradientWithTheNextParameters() throws Exception {
    Future<Frame> first = received.handle(pull(0));
    assertFalse(first.isComplete(), "no gradient is wanted yet");

    final CompletableFuture<Computed> one = compute(7, 0.5f);
    assertAnswer(first, 1, 7, 0.5f);
    assertAnswer(received.handle(pull(1)), 1, 7, 0.5f);
    final Future<Frame> next = send(1, 0, 2);
    send(1, 1, 3);
    assertFalse(one.isDone(), "nobody knows its loss yet");
    received.computed(GradientSender.write(1, facts(Double.NaN)));

    assertEquals(Double.NaN, one.get(10, TimeUnit.SECONDS).loss());
    float[] expected = new float[LENGTH];
    int cut = plan.partitions().get(1).first();
    Arrays.fill(expected, 0, cut, 2);
    Arrays.fill(expected, cut, LENGTH, 3);
    assertArrayEquals(expected, received.gradient());
    assertFalse(next.isComplete());
    compute(8, 0.25f);
    assertAnswer(next, 2, 8, 0.25f);
  }

  @Test
  void shouldTakeARepeatedPartitionOnceAndAnswerTheNewestRequest() throws Exception {
    CompletableFuture<Computed> one = compute(0, 0);
    awaitTurn();
    final Future<Frame> sent = send(1, 0, 2);
    Future<Frame> repeated = send(1, 0, 9);
    send(1, 1, 3);
    received.computed(GradientSender.write(1, facts(1)));
    one.get(10, TimeUnit.SECONDS);

    assertEquals(2, received.gradient()[0]);
    compute(1, 0.5f);
    assertAnswer(repeated, 2, 1, 0.5f);
    assertFalse(sent.isComplete(), "each answer is as large as a partition");
  }

  @Test
  void shouldEndWaitingRequestsWhenItClosesWithoutHavingListened() {
    Future<Frame> waiting = received.handle(pull(0));

    received.close();

    assertTrue(get(waiting) instanceof Refusal);
  }

  @Test
  void shouldAnswerAGradientOfAGivenUpTurnWithTheParametersOfTheNext() throws Exception {
    CompletableFuture<Computed> given = compute(4, 1);
    awaitTurn();
    stopped = true;
    Exception ended = assertThrows(ExecutionException.class, () -> given.get(10, TimeUnit.SECONDS));
    assertTrue(ended.getCause() instanceof GroupChangedException, ended::toString);
    stopped = false;

    final CompletableFuture<Computed> next = compute(2, 0.5f);
    assertAnswer(send(1, 0, 9), 2, 2, 0.5f);
    assertAnswer(send(1, 1, 9), 2, 2, 0.5f);
    received.computed(GradientSender.write(1, facts(1)));
    send(2, 0, 5);
    send(2, 1, 5);
    received.computed(GradientSender.write(2, facts(1)));

    next.get(10, TimeUnit.SECONDS);
    assertEquals(5, received.gradient()[LENGTH - 1]);
  }

  /** Computes a gradient at parameters that all have one value. */
  private CompletableFuture<Computed> compute(long version, float parameter) {
    float[] parameters = new float[LENGTH];
    Arrays.fill(parameters, parameter);
    received.load(parameters);
    return CompletableFuture.supplyAsync(() -> source.compute(version, version, Optional.empty()));
  }

  /** A pull is answered at once while a gradient is wanted. */
  private void awaitTurn() {
    get(received.handle(pull(0)));
  }

  private PullRequest pull(int partition) {
    return new PullRequest(new SenderIdentity(1, 0, 0).exchange(0, 0, partition), plan.layout(), 0);
  }

  private Future<Frame> send(long turn, int partition, float element) {
    Partition part = plan.partitions().get(partition);
    float[] elements = new float[part.length()];
    Arrays.fill(elements, element);
    return received.handle(
        new GradientPartition(
            new SenderIdentity(1, 0, 0).exchange(0, turn, partition),
            plan.layout(),
            0,
            4,
            part.first(),
            Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(elements))));
  }

  private static Computed facts(double loss) {
    return new Computed(0, 4, 4, loss, -1, 1, 2, 0);
  }

  private static void assertAnswer(Future<Frame> answer, long turn, long version, float element) {
    ParameterPartition found = (ParameterPartition) get(answer);
    assertEquals(turn, found.id().step());
    assertEquals(3, found.id().worker());
    assertEquals(version, found.version());
    float[] elements = new float[found.parameters().length()];
    found.parameters().copyTo(FloatBuffer.wrap(elements));
    assertEquals(element, elements[0]);
  }

  private static Frame get(Future<Frame> answer) {
    return answer.toCompletionStage().toCompletableFuture().orTimeout(10, TimeUnit.SECONDS).join();
  }
}
