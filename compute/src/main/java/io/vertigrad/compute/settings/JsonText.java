package io.vertigrad.compute.settings;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;

/**
 * Reads settings written as JSON and refuses what a lenient reader would accept: a key that is
 * given twice, text after the end, characters that are not allowed in settings, and values that are
 * nested too deeply. Use it for every file and every text that a person wrote.
 */
public final class JsonText {

  /** Largest depth of nested objects and lists. */
  public static final int MOST_LEVELS = 64;

  /** Largest size of a file of settings in bytes. */
  public static final int MOST_BYTES = 16 << 20;

  private static final int SHOWN_CHARACTERS = 200;
  private static final char BYTE_ORDER_MARK = '\uFEFF';

  private static final JsonFactory FACTORY = factory(false);
  private static final JsonFactory PYTHON = factory(true);

  private static JsonFactory factory(boolean python) {
    return JsonFactory.builder()
        .configure(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS, python)
        .streamReadConstraints(
            StreamReadConstraints.builder()
                .maxNestingDepth(MOST_LEVELS)
                .maxStringLength(MOST_BYTES)
                .maxNameLength(MOST_BYTES)
                .build())
        .build();
  }

  private final String origin;
  private final JsonParser parser;
  private final int most;
  private int count;

  private JsonText(String origin, JsonParser parser, int most) {
    this.origin = origin;
    this.parser = parser;
    this.most = most;
  }

  /**
   * Reads a text that holds one object.
   *
   * @param origin name of the text in errors
   * @param text the whole text
   * @return the object
   * @throws SettingsException naming line and column, what was found and what was expected
   */
  public static JsonObject object(String origin, String text) {
    if (value(origin, text) instanceof JsonObject object) {
      return object;
    }
    throw new SettingsException(
        origin + ": expected one object, { \"key\": value, ... }, found another value");
  }

  /**
   * Reads a text that holds one value of any kind.
   *
   * @param origin name of the text in errors
   * @param text the whole text
   * @return a {@link JsonObject}, {@link JsonArray}, text, number, truth value or null
   * @throws SettingsException naming line and column, what was found and what was expected
   */
  public static Object value(String origin, String text) {
    return value(FACTORY, origin, text, Integer.MAX_VALUE);
  }

  /**
   * Reads a text that Python wrote, in which {@code NaN}, {@code Infinity} and {@code -Infinity}
   * are numbers too. It is as strict as {@link #value} otherwise.
   *
   * @param origin name of the text in errors
   * @param text the whole text
   * @param most values that it may have; each takes about a hundred bytes of memory
   * @return as {@link #value} does; those three are a {@code Double}
   * @throws SettingsException naming line and column, what was found and what was expected
   */
  public static Object valueOfPython(String origin, String text, int most) {
    return value(PYTHON, origin, text, most);
  }

  private static Object value(JsonFactory factory, String origin, String text, int most) {
    try (JsonParser parser = factory.createParser(text)) {
      JsonText reader = new JsonText(origin, parser, most);
      if (parser.nextToken() == null) {
        throw new SettingsException(
            origin + ": is empty, expected one object, { \"key\": value, ... }");
      }
      Object value = reader.read("");
      if (parser.nextToken() != null) {
        throw reader.refuse("found more behind the end, expected one value");
      }
      return value;
    } catch (JsonProcessingException e) {
      JsonLocation at = e.getLocation();
      throw new SettingsException(
          "%s: line %s, column %s: not valid JSON: %s"
              .formatted(
                  origin,
                  at == null ? 1 : at.getLineNr(),
                  at == null ? 1 : at.getColumnNr(),
                  firstLine(e.getOriginalMessage())),
          e);
    } catch (IOException e) {
      throw new SettingsException("%s: cannot be read: %s".formatted(origin, e.getMessage()), e);
    }
  }

  /**
   * Reads the text of a small file that a program wrote, as {@link #bytes} does.
   *
   * @param file the file; a link to one is followed
   * @return the text
   * @throws IOException naming the file and what is wrong with it
   */
  public static String read(Path file) throws IOException {
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes(file))).toString();
  }

  /**
   * Reads a small file, such as a certificate: a regular file of at most {@link #MOST_BYTES}. So it
   * does not wait for the writer of a pipe, and does not read a device without end.
   *
   * @param file the file; a link to one is followed
   * @return its bytes
   * @throws IOException naming the file and what is wrong with it
   */
  public static byte[] bytes(Path file) throws IOException {
    BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class);
    if (!found.isRegularFile() || found.size() > MOST_BYTES) {
      String what =
          found.isRegularFile()
              ? "has %s bytes, expected at most %s".formatted(found.size(), MOST_BYTES)
              : "is no regular file";
      throw new IOException(file + " " + what);
    }
    try (InputStream in = Files.newInputStream(file)) {
      return in.readNBytes(MOST_BYTES);
    }
  }

  /**
   * Decodes the bytes of a file, which must be UTF-8; removes a byte order mark.
   *
   * @param origin name of the file in errors
   * @param bytes all of its bytes
   * @return the text
   * @throws SettingsException naming the line of the first byte that is not UTF-8
   */
  public static String decode(String origin, byte[] bytes) {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CharBuffer out = CharBuffer.allocate(bytes.length);
    try {
      CoderResult result = decoder.decode(in, out, true);
      if (result.isError()) {
        result.throwException();
      }
    } catch (CharacterCodingException e) {
      long line = 1 + out.flip().chars().filter(c -> c == '\n').count();
      throw new SettingsException(
          "%s: line %s: found the byte 0x%02x, which is not UTF-8; save the file as UTF-8"
              .formatted(origin, line, bytes[in.position()]),
          e);
    }
    String text = out.flip().toString();
    return !text.isEmpty() && text.charAt(0) == BYTE_ORDER_MARK ? text.substring(1) : text;
  }

  /**
   * Finds a character that is not allowed in settings: half of a surrogate pair, or U+0000.
   *
   * @param text a key or a value
   * @return its index, or empty when there is none
   */
  public static OptionalInt unusableCharacter(String text) {
    for (int i = 0; i < text.length(); i++) {
      char found = text.charAt(i);
      if (Character.isHighSurrogate(found)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (found == 0 || Character.isSurrogate(found)) {
        return OptionalInt.of(i);
      }
    }
    return OptionalInt.empty();
  }

  /**
   * Describes a character that is not allowed in settings.
   *
   * @param text a key or a value
   * @param at index of the character
   * @return the rest of a sentence that begins with the place
   */
  public static String unusable(String text, int at) {
    return "holds the character U+%04X, which is %s; expected text"
        .formatted(
            (int) text.charAt(at), text.charAt(at) == 0 ? "no text" : "half of a surrogate pair");
  }

  /**
   * Shortens a text for a message: one line, without control characters.
   *
   * @param text as it was found
   * @return at most about eighty characters
   */
  public static String shown(String text) {
    return Settings.escaped(text);
  }

  private Object read(String path) throws IOException {
    if (++count > most) {
      throw refuse("found more than %s values".formatted(most));
    }
    return switch (parser.currentToken()) {
      case START_OBJECT -> object(path);
      case START_ARRAY -> array(path);
      case VALUE_STRING -> text(parser.getText(), path);
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getNumberValue();
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_NULL -> null;
      default -> throw refuse("found %s, expected a value".formatted(parser.currentToken()));
    };
  }

  private JsonObject object(String path) throws IOException {
    JsonObject object = new JsonObject();
    Map<String, Integer> lines = new HashMap<>();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String key = text(parser.currentName(), path);
      String below = path.isEmpty() ? key : path + "." + key;
      Integer first = lines.putIfAbsent(key, parser.currentTokenLocation().getLineNr());
      if (first != null) {
        throw refuse(
            "%s is given twice, first on line %s, expected each key once: remove one"
                .formatted(Settings.escaped(below), first));
      }
      parser.nextToken();
      object.put(key, read(below));
    }
    return object;
  }

  private JsonArray array(String path) throws IOException {
    JsonArray array = new JsonArray();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      array.add(read(path + "[" + array.size() + "]"));
    }
    return array;
  }

  private String text(String text, String path) {
    OptionalInt at = unusableCharacter(text);
    if (at.isPresent()) {
      String place = path.isEmpty() ? "a key" : Settings.escaped(path);
      throw refuse(place + " " + unusable(text, at.getAsInt()));
    }
    return text;
  }

  private SettingsException refuse(String message) {
    JsonLocation at = parser.currentTokenLocation();
    return new SettingsException(
        "%s: line %s, column %s: %s".formatted(origin, at.getLineNr(), at.getColumnNr(), message));
  }

  private static String firstLine(String text) {
    String line = text == null ? "no detail" : text.lines().findFirst().orElse("").strip();
    return line.length() > SHOWN_CHARACTERS ? line.substring(0, SHOWN_CHARACTERS) + "..." : line;
  }
}
