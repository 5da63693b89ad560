package io.vertigrad.serving.internal;

import com.fasterxml.jackson.core.JsonToken;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.TokenSampler;
import io.vertigrad.compute.data.TokenSampler.Sampling;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A request to continue a text, in the form of Triton's generate extension. Parameters may stand in
 * {@code parameters} or beside it.
 *
 * @param sampler begins behind the text
 * @param tokens how many tokens are written
 */
record GenerateRequest(TokenSampler sampler, int tokens) {

  /** Most tokens that one request may ask for. */
  static final int MOST_TOKENS = 4_096;

  private static final int TOKENS = 200;
  private static final String TEXT = "text_input";
  private static final String MAX_TOKENS = "max_tokens";
  private static final String TEMPERATURE = "temperature";
  private static final String TOP_K = "top_k";
  private static final String SEED = "seed";

  /** Parameters of the specification that would change the text, and that are not known here. */
  private static final List<String> OTHERS =
      List.of("top_p", "best_of", "stop", "frequency_penalty");

  /**
   * Reads a request.
   *
   * @param body JSON in UTF-8
   * @param format of a model with a tokenizer
   * @throws Refusal saying where, what was found and what was expected
   */
  static GenerateRequest read(byte[] body, SampleFormat format) {
    Reader reader = new Reader();
    reader.read(body);
    if (reader.text == null) {
      throw Refusal.invalid("%s: is null, expected a text", TEXT);
    }
    try {
      TokenSampler sampler =
          new TokenSampler(
              format.tokenizer().orElseThrow().tokens(TEXT, reader.text),
              format.inputs(),
              format.targets().positions(),
              new Sampling(reader.temperature, reader.topK, reader.seed));
      return new GenerateRequest(sampler, reader.tokens);
    } catch (DataException wrong) {
      String message = wrong.getMessage();
      throw Refusal.invalid("%s", message.startsWith(TEXT) ? message : TEXT + ": " + message);
    }
  }

  /** Reads one body. */
  private static final class Reader {

    private String text;
    private int tokens = TOKENS;
    private double temperature = 1;
    private int topK = Integer.MAX_VALUE;
    private long seed = ThreadLocalRandom.current().nextLong();

    void read(byte[] body) {
      try (RequestJson json = RequestJson.of(body, 0, body.length)) {
        if (json.next() != JsonToken.START_OBJECT) {
          throw Refusal.invalid(
              "body: is not a JSON object: %s",
              json.token() == null ? "is empty" : "is " + json.shown());
        }
        while (json.nextKey()) {
          String key = json.key();
          switch (key) {
            case TEXT -> {
              text = json.text();
              if (text == null) {
                throw Refusal.invalid("%s: is %s, expected a text", TEXT, json.shown());
              }
            }
            case "parameters" -> readParameters(json);
            default -> readParameter(json, key, key);
          }
        }
        if (json.next() != null) {
          throw Refusal.invalid(
              "body: has %s behind its JSON object, expected its end", json.shown());
        }
      }
    }

    private void readParameters(RequestJson json) {
      if (json.token() == JsonToken.VALUE_NULL) {
        return;
      }
      if (json.token() != JsonToken.START_OBJECT) {
        throw Refusal.invalid("parameters: is %s, expected an object", json.shown());
      }
      while (json.nextKey()) {
        String key = json.key();
        readParameter(json, key, "parameters." + key);
      }
    }

    private void readParameter(RequestJson json, String key, String where) {
      boolean isSet = json.token() != JsonToken.VALUE_NULL;
      if (isSet && OTHERS.contains(key)) {
        throw Refusal.invalid(
            "%s: is not known here, expected only %s, %s, %s and %s",
            where, MAX_TOKENS, TEMPERATURE, TOP_K, SEED);
      }
      if (isSet && key.equals(MAX_TOKENS)) {
        tokens = (int) whole(json, where, 1, MOST_TOKENS);
      } else if (isSet && key.equals(TOP_K)) {
        topK = (int) whole(json, where, 1, Integer.MAX_VALUE);
      } else if (isSet && key.equals(SEED)) {
        seed = whole(json, where, Long.MIN_VALUE, Long.MAX_VALUE);
      } else if (isSet && key.equals(TEMPERATURE)) {
        temperature = temperature(json, where);
      } else {
        json.skip();
      }
    }

    private static long whole(RequestJson json, String where, long least, long most) {
      if (json.isLong() && json.longValue() >= least && json.longValue() <= most) {
        return json.longValue();
      }
      throw Refusal.invalid(
          "%s: is %s, expected a whole number from %d to %d", where, json.shown(), least, most);
    }

    private static double temperature(RequestJson json, String where) {
      boolean isNumber = json.isInteger() || json.token() == JsonToken.VALUE_NUMBER_FLOAT;
      if (isNumber && json.number() >= 0 && json.number() < Double.POSITIVE_INFINITY) {
        return json.number();
      }
      throw Refusal.invalid("%s: is %s, expected a number of at least 0", where, json.shown());
    }
  }
}
