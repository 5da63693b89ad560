package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.job.JobConfig;
import io.vertigrad.serving.Prediction;
import io.vertigrad.serving.Predictions;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BusEndpointTest {

  private static final int INPUTS = 1_000;
  private static final Addresses ADDRESSES = new Addresses("fake");

  private final Vertx vertx = Vertx.vertx();
  private final RequestMemory memory = new RequestMemory(16_000_000);
  private final AtomicBoolean onEventLoop = new AtomicBoolean(true);
  private Predictor predictor;

  /** Turns one word into a thousand inputs. */
  private final class Words implements FieldReader {

    @Override
    public List<Field> fields() {
      return List.of(new Field("word", true));
    }

    @Override
    public void read(Map<String, ?> sample, float[] features, int offset) {
      onEventLoop.set(Context.isOnEventLoopThread());
    }
  }

  private ServedModel model() {
    SampleFormat words =
        new SampleFormat(
            "words",
            List.of(INPUTS),
            Targets.values(1),
            0,
            List.of("price"),
            Optional.empty(),
            Optional.of(new Words()),
            List.of(),
            Treatment.ON_BLACK);
    return new ZeroModel(words, new CountDownLatch(0));
  }

  @BeforeEach
  void open() throws Exception {
    predictor =
        Predictor.holding(
            JobConfig.read("test", new JsonObject()).serving(),
            "fake",
            "a1",
            event -> {},
            this::model);
    predictor.ready().join();
    get(new BusEndpoint(vertx, ADDRESSES, "a1", memory, predictor).open());
  }

  @AfterEach
  void close() throws Exception {
    predictor.close();
    get(vertx.close());
  }

  @Test
  void shouldDecodeOutsideOfEventLoops() throws Exception {
    JsonObject answer = ask(1);

    assertEquals(1, answer.getJsonArray("outputs").size());
    assertEquals(JsonArray.of("price"), answer.getJsonArray("names"));
    assertFalse(onEventLoop.get());
    Awaitility.await().until(() -> memory.held() == 0);
  }

  @Test
  void shouldNameTheValuesOfAnswersInBothForms() throws Exception {
    Predictions predictions = Predictions.of(vertx, "fake");

    Prediction byName = get(predictions.predict(JsonObject.of("word", "a")));
    Prediction binary = get(predictions.predict(new float[INPUTS], new float[INPUTS]));

    assertEquals(List.of("price"), byName.names());
    assertEquals(byName.outputs().get(0)[0], byName.output(0, "price"));
    assertEquals(List.of("price"), binary.names());
    assertEquals(binary.outputs().get(1)[0], binary.output(1, "price"));
    assertEquals(
        "\"prize\": the model has no such output, expected one of [price]",
        assertThrows(IllegalArgumentException.class, () -> binary.output(0, "prize")).getMessage());
  }

  @Test
  void shouldRefuseSamplesThatTakeTooMuchMemoryBeforeTheyAreDecoded() {
    ExecutionException refused = assertThrows(ExecutionException.class, () -> ask(1_000));

    ReplyException why = (ReplyException) refused.getCause();
    assertEquals(413, why.failureCode());
    assertEquals(
        "1000 samples: takes 5 MB of memory, expected at most 3 MB (a share of the heap: -Xmx)",
        why.getMessage());
    assertEquals(0, memory.held());
  }

  private JsonObject ask(int samples) throws Exception {
    JsonArray words = new JsonArray();
    for (int i = 0; i < samples; i++) {
      words.add(new JsonObject().put("word", "a"));
    }
    JsonObject request = new JsonObject().put("samples", words);
    return get(vertx.eventBus().<JsonObject>request(ADDRESSES.predict(), request)).body();
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
