package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.VersionRefused;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.ServingConfig;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PredictorTest {

  private static final int MANY = 1 << 30;

  private final AtomicLong versions = new AtomicLong();
  private final Semaphore passes = new Semaphore(MANY);
  private final List<TrainingEvent> events = new CopyOnWriteArrayList<>();
  private Predictor predictor;

  @AfterEach
  void close() {
    predictor.close();
  }

  @Test
  @Tag("slow")
  void shouldLoseNothingAndMixNothingWhenParametersAreSwappedAThousandTimes() throws Exception {
    start("{\"refreshMillis\": 1, \"maxBatch\": 4}");
    int swaps = 1_000;
    List<Client> clients = IntStream.range(0, 8).mapToObj(Client::new).toList();
    clients.forEach(Thread::start);

    while (predictor.progress().swaps() < swaps) {
      versions.incrementAndGet();
      long now = versions.get();
      Awaitility.await()
          .pollDelay(0, TimeUnit.MILLISECONDS)
          .pollInterval(1, TimeUnit.MILLISECONDS)
          .until(() -> predictor.version() == now);
    }
    for (Client client : clients) {
      client.end();
    }

    List<String> wrong = clients.stream().flatMap(client -> client.wrong.stream()).toList();
    assertEquals(List.of(), wrong.subList(0, Math.min(5, wrong.size())));
    assertTrue(clients.stream().allMatch(client -> client.answers > 0));
    assertEquals(
        clients.stream().mapToLong(client -> client.answers).sum(),
        predictor.progress().requests());
  }

  /** Asks one question after the other, and checks each answer. */
  private final class Client extends Thread {

    private final List<String> wrong = new ArrayList<>();
    private final int number;
    private volatile boolean ending;
    private long answers;

    Client(int number) {
      this.number = number;
    }

    @Override
    public void run() {
      long last = 0;
      for (int i = 0; !ending; i++) {
        float[] inputs = {number * 1_000 + i % 1_000, number};
        try {
          PredictionAnswer answer = ask(inputs, OptionalLong.empty()).get(20, TimeUnit.SECONDS);
          answers++;
          float version = answer.version();
          float[] expected = {version, inputs[0], version, inputs[1]};
          if (!Arrays.equals(expected, answer.outputs()) || answer.version() < last) {
            wrong.add(answer.version() + " after " + last);
          }
          last = answer.version();
        } catch (Exception e) {
          wrong.add(String.valueOf(e));
        }
      }
    }

    void end() throws InterruptedException {
      ending = true;
      join();
    }
  }

  @Test
  void shouldComputeWaitingRequestsTogetherWhenAPassHasEnded() throws Exception {
    start("{\"maxBatch\": 4}");
    passes.drainPermits();
    List<CompletableFuture<PredictionAnswer>> answers = new ArrayList<>();
    answers.add(predict(0));
    Awaitility.await().until(() -> predictor.progress().waiting() == 0);
    IntStream.rangeClosed(1, 6).forEach(i -> answers.add(predict(i)));

    passes.release(MANY);
    for (int i = 0; i < answers.size(); i++) {
      assertArrayEquals(new float[] {1, i}, answers.get(i).get().outputs());
    }

    assertEquals(3, predictor.progress().passes(), "1, then 4 of 6, then 2");
  }

  @Test
  void shouldRefuseAndKeepAnsweringWhenMoreAreAskedThanItCanAnswer() throws Exception {
    start("{\"queue\": 16, \"maxBatch\": 4}");
    passes.drainPermits();
    List<CompletableFuture<PredictionAnswer>> asked = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      asked.add(predict(i % 100));
      assertTrue(predictor.progress().waiting() <= 16);
    }

    passes.release(MANY);
    int answered = 0;
    int refused = 0;
    for (CompletableFuture<PredictionAnswer> one : asked) {
      try {
        one.get(20, TimeUnit.SECONDS);
        answered++;
      } catch (ExecutionException e) {
        assertEquals(Code.OVERLOADED, assertInstanceOf(Refusal.class, e.getCause()).code());
        refused++;
      }
    }

    assertEquals(10_000, answered + refused);
    assertTrue(answered >= 16 && answered <= 20, answered + " answered");
    assertEquals(refused, predictor.progress().overloaded());
    assertArrayEquals(new float[] {1, 7}, predict(7).get().outputs());
  }

  @Test
  void shouldAnswerALargeRequestWithOneVersionWhenItTakesSeveralPasses() throws Exception {
    start("{\"queue\": 8, \"maxBatch\": 4}");

    PredictionAnswer answer = ask(new float[10], OptionalLong.empty()).get();

    assertEquals(20, answer.outputs().length);
    assertEquals(3, predictor.progress().passes());
  }

  @Test
  void shouldAnswerSmallRequestsBetweenThePassesOfALargeRequest() throws Exception {
    start("{\"queue\": 4, \"maxBatch\": 4}");
    passes.drainPermits();
    CompletableFuture<PredictionAnswer> large = ask(new float[400], OptionalLong.empty());
    Awaitility.await().until(() -> predictor.progress().waiting() == 0);
    CompletableFuture<PredictionAnswer> small = predict(7);

    passes.release(2);

    assertArrayEquals(new float[] {1, 7}, small.get(20, TimeUnit.SECONDS).outputs());
    assertFalse(large.isDone());
    passes.release(MANY);
    assertEquals(800, large.get().outputs().length);
  }

  @Test
  void shouldAcceptSmallRequestsWhileALargeOneWaits() throws Exception {
    start("{\"queue\": 4, \"maxBatch\": 4}");
    passes.drainPermits();
    CompletableFuture<PredictionAnswer> computed = predict(1);
    Awaitility.await().until(() -> predictor.progress().waiting() == 0);

    CompletableFuture<PredictionAnswer> large = ask(new float[10], OptionalLong.empty());
    CompletableFuture<PredictionAnswer> small = ask(new float[4], OptionalLong.empty());

    assertThrows(Refusal.class, predictor::requireRoom);
    assertEquals(14, predictor.progress().waiting());
    String full = "4 samples wait already (serving.queue); try again later";
    assertRefused(Code.OVERLOADED, full, ask(new float[11], OptionalLong.empty()));
    assertRefused(Code.OVERLOADED, full, predict(2));
    passes.release(MANY);
    computed.get();
    assertEquals(20, large.get().outputs().length);
    assertEquals(8, small.get().outputs().length);
  }

  @Test
  void shouldRefuseAnotherVersionThanRequested() throws Exception {
    start("{}");

    assertEquals(1, ask(new float[1], OptionalLong.of(1)).get().version());
    assertRefused(
        Code.UNKNOWN,
        "model \"fake\": version 7 is not served, expected 1, or none",
        ask(new float[1], OptionalLong.of(7)));
  }

  @Test
  void shouldNotServeAVersionWhoseTestIsWorseThanTheGuardAllows() {
    start("{\"guard\": 2, \"refreshMillis\": 1}");
    predictor.onTest(test(90));
    predictor.onTest(test(87));
    versions.set(2);
    Awaitility.await().until(() -> !events.isEmpty());

    assertEquals(1, predictor.version());
    VersionRefused refused = (VersionRefused) events.get(0);
    assertEquals(2, refused.version());
    assertEquals(1, refused.served());
    assertEquals("accuracy", refused.metric());
    assertEquals(87, refused.value());
    assertEquals(90, refused.best());

    predictor.onTest(test(88));
    Awaitility.await().until(() -> predictor.version() == 2);
    assertEquals(1, events.size(), "one event for each test");
  }

  @Test
  void shouldNotServeAVersionWhenTheModelHasDiverged() {
    start("{\"guard\": 2, \"refreshMillis\": 1}");
    predictor.onTest(test(90));
    predictor.onTest(test(Double.NaN));
    versions.set(2);

    Awaitility.await().until(() -> !events.isEmpty());

    assertEquals(1, predictor.version());
  }

  @Test
  void shouldFailOnlyTheRequestsOfAFailedPass() throws Exception {
    start("{}");

    ExecutionException failed =
        assertThrows(ExecutionException.class, () -> predict(-1).get(20, TimeUnit.SECONDS));

    assertEquals(Code.FAILED, assertInstanceOf(Refusal.class, failed.getCause()).code());
    assertArrayEquals(new float[] {1, 7}, predict(7).get().outputs());
  }

  @Test
  void shouldFailOnlyTheRequestWhoseOutputsAreNotFinite() throws Exception {
    start("{}");
    passes.drainPermits();
    CompletableFuture<PredictionAnswer> first = predict(0);
    Awaitility.await().until(() -> predictor.progress().waiting() == 0);
    CompletableFuture<PredictionAnswer> infinite =
        ask(new float[] {5, Float.POSITIVE_INFINITY}, OptionalLong.empty());
    CompletableFuture<PredictionAnswer> finite = predict(7);

    passes.release(MANY);

    assertRefused(
        Code.FAILED,
        "output: sample 1 has Infinity at 1, expected finite numbers: version 1 of model \"fake\" has diverged, or the sample's inputs are too large",
        infinite);
    assertArrayEquals(new float[] {1, 7}, finite.get().outputs());
    assertArrayEquals(new float[] {1, 0}, first.get().outputs());
  }

  @Test
  void shouldRefuseWaitingRequestsWhenClosed() {
    start("{}");
    passes.drainPermits();
    predict(0);
    Awaitility.await().until(() -> predictor.progress().waiting() == 0);
    CompletableFuture<PredictionAnswer> waiting = predict(1);

    predictor.close();

    assertRefused(Code.NOT_READY, "the predictor is being stopped", waiting);
    assertRefused(Code.NOT_READY, "the predictor is being stopped", predict(2));
    assertFalse(predictor.isReady());
  }

  private void start(String serving) {
    JsonObject json = new JsonObject().put("serving", new JsonObject(serving));
    ServingConfig config = JobConfig.read("test", json).serving();
    versions.set(1);
    predictor =
        Predictor.following(
            config, "fake", "a1", events::add, () -> new FakeModel(versions, passes));
    predictor.ready().join();
  }

  private CompletableFuture<PredictionAnswer> predict(float input) {
    return ask(new float[] {input}, OptionalLong.empty());
  }

  private CompletableFuture<PredictionAnswer> ask(float[] inputs, OptionalLong version) {
    CompletableFuture<PredictionAnswer> found = new CompletableFuture<>();
    predictor.predict(
        inputs,
        version,
        false,
        (answer, why) -> {
          boolean first = why == null ? found.complete(answer) : found.completeExceptionally(why);
          assertTrue(first, "called once");
        });
    return found;
  }

  private static Evaluated test(double accuracy) {
    return new Evaluated(1, 1, 100, 0.5, accuracy, false, "");
  }

  private static void assertRefused(
      Code code, String message, CompletableFuture<PredictionAnswer> answer) {
    ExecutionException failed =
        assertThrows(ExecutionException.class, () -> answer.get(20, TimeUnit.SECONDS));
    Refusal refusal = assertInstanceOf(Refusal.class, failed.getCause());
    assertEquals(code, refusal.code());
    assertEquals(message, refusal.getMessage());
  }
}
