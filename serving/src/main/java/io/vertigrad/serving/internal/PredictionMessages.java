package io.vertigrad.serving.internal;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.codecs.StageTensor;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertx.core.MultiMap;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The messages between clients and predictors on the event bus: JSON both ways, or frames both
 * ways. An answer in a frame has its version, its age, and its classes or names in headers.
 */
public final class PredictionMessages {

  private static final long TIMEOUT_MILLIS = 30_000;
  private static final String VERSION = "version";
  private static final String HIGHEST = "highestVersion";
  private static final String AGE = "ageMillis";
  private static final String CLASSES = "classes";
  private static final String NAMES = "names";
  private static final String OUTPUTS = "outputs";

  private PredictionMessages() {}

  /** Makes a client's value of an answer. */
  @FunctionalInterface
  public interface Maker<T> {
    T of(
        List<float[]> outputs,
        List<String> classes,
        List<String> names,
        long version,
        long ageMillis);
  }

  /** Returns the options of a request in JSON. */
  public static DeliveryOptions json() {
    return new DeliveryOptions().setSendTimeout(TIMEOUT_MILLIS);
  }

  /** Returns the options of a request in a frame. */
  public static DeliveryOptions binary() {
    return json();
  }

  /**
   * Returns a request.
   *
   * @throws IllegalArgumentException if there are no samples, they have different lengths, or do
   *     not fit into one frame
   */
  public static StageTensor frame(Addresses addresses, float[]... samples) {
    if (samples.length == 0
        || Arrays.stream(samples).anyMatch(sample -> sample.length != samples[0].length)) {
      throw new IllegalArgumentException(
          "%s samples: expected at least one, and all of the same length"
              .formatted(samples.length));
    }
    long elements = (long) samples.length * samples[0].length;
    if (elements > FrameLimits.MAX_ELEMENTS) {
      throw new IllegalArgumentException(
          "%s samples of %s numbers: expected at most %s numbers in one message; send fewer samples"
              .formatted(samples.length, samples[0].length, FrameLimits.MAX_ELEMENTS));
    }
    FloatBuffer all = FloatBuffer.allocate((int) elements);
    Arrays.stream(samples).forEach(all::put);
    return tensor(addresses.jobHash(), 0, all.flip());
  }

  private static StageTensor tensor(long job, long version, FloatBuffer values) {
    return new StageTensor(
        new ExchangeId(job, -1, 0, 0, version, 0),
        0,
        Direction.FORWARD,
        0,
        0,
        Tensor.copyOf(DataType.FLOAT32, values));
  }

  /** Returns the inputs in a request, which must be whole samples. */
  static float[] inputs(StageTensor request, SampleFormat format) {
    int found = request.tensor().length();
    int size = format.inputs();
    if (found == 0 || found % size != 0) {
      throw Refusal.invalid(
          "tensor: has %d elements, expected a multiple of %d, the inputs of one sample",
          found, size);
    }
    if (request.phase() > 0 || request.firstElement() > 0) {
      throw Refusal.invalid(
          "tensor: is micro-batch %d, %s, from element %d on, expected 0, FORWARD and 0: one frame has all samples",
          request.microBatch(), request.direction(), request.firstElement());
    }
    float[] inputs = new float[found];
    request.tensor().copyTo(inputs, 0);
    for (int i = 0; i < found; i++) {
      if (!Float.isFinite(inputs[i])) {
        throw Refusal.invalid(
            "tensor, sample %d: input %d is %s, expected a finite number",
            i / size, i % size, inputs[i]);
      }
    }
    format.checkTokens(inputs, sample -> "tensor, sample %s".formatted(sample));
    return inputs;
  }

  /** Returns the answer to a request in JSON. */
  static JsonObject json(PredictionAnswer answer, SampleFormat format) {
    JsonArray outputs = new JsonArray();
    int each = format.outputs();
    for (int first = 0; first < answer.outputs().length; first += each) {
      JsonArray sample = new JsonArray();
      for (int i = first; i < first + each; i++) {
        sample.add(answer.outputs()[i]);
      }
      outputs.add(sample);
    }
    JsonObject json =
        new JsonObject()
            .put(VERSION, answer.version())
            .put(AGE, answer.ageMillis())
            .put(OUTPUTS, outputs);
    List<String> classes = format.classes(answer.outputs());
    if (!classes.isEmpty()) {
      json.put(CLASSES, new JsonArray(classes));
    }
    if (!format.columns().isEmpty()) {
      json.put(NAMES, new JsonArray(format.columns()));
    }
    return answer.highestVersion() > answer.version()
        ? json.put(HIGHEST, answer.highestVersion())
        : json;
  }

  /** Returns the answer to a request in a frame. */
  static StageTensor frame(long job, PredictionAnswer answer) {
    return tensor(job, answer.version(), FloatBuffer.wrap(answer.outputs()));
  }

  /** Returns the options with which such an answer is sent. */
  static DeliveryOptions headers(PredictionAnswer answer, SampleFormat format) {
    DeliveryOptions options =
        new DeliveryOptions()
            .addHeader(VERSION, Long.toString(answer.version()))
            .addHeader(AGE, Long.toString(answer.ageMillis()));
    List<String> classes = format.classes(answer.outputs());
    if (!classes.isEmpty()) {
      options.addHeader(CLASSES, new JsonArray(classes).encode());
    }
    if (!format.columns().isEmpty()) {
      options.addHeader(NAMES, new JsonArray(format.columns()).encode());
    }
    return answer.highestVersion() > answer.version()
        ? options.addHeader(HIGHEST, Long.toString(answer.highestVersion()))
        : options;
  }

  /** Reads an answer in JSON. */
  public static <T> T ofJson(JsonObject json, Maker<T> maker) {
    List<float[]> outputs = new ArrayList<>();
    JsonArray all = json.getJsonArray(OUTPUTS);
    for (int i = 0; i < all.size(); i++) {
      JsonArray sample = all.getJsonArray(i);
      float[] values = new float[sample.size()];
      for (int k = 0; k < values.length; k++) {
        values[k] = sample.getFloat(k);
      }
      outputs.add(values);
    }
    return maker.of(
        outputs,
        texts(json.getJsonArray(CLASSES, new JsonArray())),
        texts(json.getJsonArray(NAMES, new JsonArray())),
        json.getLong(VERSION),
        json.getLong(AGE));
  }

  /** Reads an answer in a frame. */
  public static <T> T ofFrame(Object body, MultiMap headers, int samples, Maker<T> maker) {
    if (!(body instanceof StageTensor answer)) {
      throw new IllegalStateException("the predictor answered " + body);
    }
    float[] all = new float[answer.tensor().length()];
    answer.tensor().copyTo(all, 0);
    int each = all.length / samples;
    List<float[]> outputs = new ArrayList<>();
    for (int i = 0; i < samples; i++) {
      outputs.add(Arrays.copyOfRange(all, i * each, (i + 1) * each));
    }
    return maker.of(
        outputs,
        texts(headers, CLASSES),
        texts(headers, NAMES),
        Long.parseLong(headers.get(VERSION)),
        Long.parseLong(headers.get(AGE)));
  }

  private static List<String> texts(MultiMap headers, String name) {
    return texts(new JsonArray(headers.contains(name) ? headers.get(name) : "[]"));
  }

  private static List<String> texts(JsonArray array) {
    return array.stream().map(String::valueOf).toList();
  }
}
