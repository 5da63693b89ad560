package io.vertigrad.serving.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.math.BigInteger;

/**
 * Reads the JSON of a request token by token and builds nothing of it. Refuses a key that is given
 * twice, many unknown keys, values that are nested deeply, and more behind the end.
 */
final class RequestJson implements AutoCloseable {

  /** Most levels of objects and arrays. */
  private static final int MOST_LEVELS = 32;

  /** Most keys of one object, and most keys in all values that are skipped. */
  private static final int MOST_KEYS = 100;

  private static final int MOST_KEY_CHARACTERS = 1_000;
  private static final int MOST_MESSAGE = 200;

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MOST_LEVELS)
                  .maxNameLength(MOST_KEY_CHARACTERS)
                  .maxStringLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private final JsonParser parser;
  private int skippedKeys;

  private RequestJson(JsonParser parser) {
    this.parser = parser;
  }

  /**
   * Starts reading.
   *
   * @param bytes hold the JSON in UTF-8
   * @param from index of its first byte
   * @param to index behind its last byte
   */
  static RequestJson of(byte[] bytes, int from, int to) {
    boolean wide = to - from > 1 && (bytes[from] == 0 || bytes[from + 1] == 0);
    if (wide || to - from > 1 && (bytes[from] & bytes[from + 1] & 0xFE) == 0xFE) {
      throw Refusal.invalid("body: is UTF-16 or UTF-32, expected JSON in UTF-8");
    }
    try {
      return new RequestJson(FACTORY.createParser(bytes, from, to - from));
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Advances to the next token; null at the end. */
  JsonToken next() {
    try {
      return parser.nextToken();
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Advances to the next key of an object, or to its end. */
  boolean nextKey() {
    if (next() != JsonToken.FIELD_NAME) {
      return false;
    }
    if (parser.getParsingContext().getCurrentIndex() >= MOST_KEYS) {
      throw Refusal.invalid(
          "body: an object has more than %d keys, expected at most so many", MOST_KEYS);
    }
    return true;
  }

  /** Returns the key that {@link #nextKey} found, and advances to its value. */
  String key() {
    try {
      String key = parser.currentName();
      parser.nextToken();
      return key;
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Returns the kind of the current value. */
  JsonToken token() {
    return parser.currentToken();
  }

  /** Returns the index of the byte behind the current token, from the first one on. */
  int offset() {
    return (int) parser.currentLocation().getByteOffset();
  }

  /** Skips the current value, of which only its keys are checked. */
  void skip() {
    int level = 0;
    do {
      JsonToken token = level == 0 ? token() : next();
      if (token.isStructStart()) {
        level++;
      } else if (token.isStructEnd()) {
        level--;
      } else if (token == JsonToken.FIELD_NAME && ++skippedKeys > MOST_KEYS) {
        throw Refusal.invalid("body: has more than %d unknown keys, expected none", MOST_KEYS);
      }
    } while (level > 0);
  }

  /** Returns the current value as a text; null if it is no text. */
  String text() {
    try {
      return token() == JsonToken.VALUE_STRING ? parser.getText() : null;
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Returns whether the current value is a number that is written without point and exponent. */
  boolean isInteger() {
    return token() == JsonToken.VALUE_NUMBER_INT;
  }

  /** Returns whether the current value is an integer between those of {@code long}. */
  boolean isLong() {
    try {
      return isInteger() && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
    } catch (IOException e) {
      throw broken(e);
    }
  }

  long longValue() {
    try {
      return parser.getLongValue();
    } catch (IOException e) {
      throw broken(e);
    }
  }

  BigInteger bigInteger() {
    try {
      return parser.getBigIntegerValue();
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Returns the current number; infinite if it is beyond those of {@code double}. */
  double number() {
    try {
      return parser.getDoubleValue();
    } catch (IOException e) {
      throw broken(e);
    }
  }

  /** Returns the current value for a message. */
  String shown() {
    try {
      return switch (token()) {
        case START_OBJECT -> "an object";
        case START_ARRAY -> "an array";
        case VALUE_STRING -> SampleFormat.shown(parser.getText());
        default -> SampleFormat.cut(parser.getText(), MOST_MESSAGE);
      };
    } catch (IOException e) {
      throw broken(e);
    }
  }

  private static Refusal broken(IOException why) {
    String message = String.valueOf(why.getMessage());
    String place = "";
    if (why instanceof JsonProcessingException json) {
      message = String.valueOf(json.getOriginalMessage());
      place =
          json.getLocation() == null
              ? ""
              : "byte %s: ".formatted(json.getLocation().getByteOffset());
    }
    // Jackson names its own options, which a sender does not have.
    message = message.split("\n|: enable `")[0].replaceAll(", from `[^`]*`", "");
    return Refusal.invalid(
        "body: is not a JSON object: %s%s", place, SampleFormat.cut(message, MOST_MESSAGE));
  }

  @Override
  public void close() {
    try {
      parser.close();
    } catch (IOException e) {
      throw broken(e);
    }
  }
}
