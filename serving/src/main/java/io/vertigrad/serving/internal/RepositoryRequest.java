package io.vertigrad.serving.internal;

import com.fasterxml.jackson.core.JsonToken;

/**
 * The body of a call of the model repository, which may be empty.
 *
 * @param ready whether only models that answer are to be listed
 */
record RepositoryRequest(boolean ready) {

  private static final int MOST_BYTES = 1 << 16;
  private static final String READY = "ready";
  private static final String DEPENDENTS = "unload_dependents";

  /**
   * Reads a body.
   *
   * @param index whether it is a request for the index, otherwise one to load or unload
   * @throws Refusal saying what is wrong; parameters that would load other files or settings than
   *     those of the server are refused
   */
  static RepositoryRequest read(byte[] body, boolean index) {
    if (body.length == 0) {
      return new RepositoryRequest(false);
    }
    if (body.length > MOST_BYTES) {
      throw Refusal.invalid(
          "body: has %d bytes, expected at most %d for this call", body.length, MOST_BYTES);
    }
    boolean ready = false;
    try (RequestJson json = RequestJson.of(body, 0, body.length)) {
      if (json.next() != JsonToken.START_OBJECT) {
        throw Refusal.invalid("body: expected a JSON object, or nothing");
      }
      while (json.nextKey()) {
        if (index && json.key().equals(READY)) {
          ready = flag(json);
        } else if (!index && json.key().equals("parameters")) {
          readParameters(json);
        } else {
          json.skip();
        }
      }
      if (json.next() != null) {
        throw Refusal.invalid(
            "body: has %s behind its JSON object, expected its end", json.shown());
      }
    }
    return new RepositoryRequest(ready);
  }

  private static boolean flag(RequestJson json) {
    if (json.token() != JsonToken.VALUE_TRUE && json.token() != JsonToken.VALUE_FALSE) {
      throw Refusal.invalid("%s: is %s, expected true or false", READY, json.shown());
    }
    return json.token() == JsonToken.VALUE_TRUE;
  }

  private static void readParameters(RequestJson json) {
    if (json.token() == JsonToken.VALUE_NULL) {
      return;
    }
    if (json.token() != JsonToken.START_OBJECT) {
      throw Refusal.invalid("parameters: is %s, expected an object", json.shown());
    }
    while (json.nextKey()) {
      if (!json.key().equals(DEPENDENTS)) {
        throw Refusal.invalid(
            "parameters.%s: is not known here, expected only %s: a model is loaded from what the"
                + " server was started with",
            SampleFormat.cut(json.key(), 200), DEPENDENTS);
      }
      json.skip();
    }
  }
}
