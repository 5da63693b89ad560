package io.vertigrad.streams.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads the values of chosen fields from one line or message. Immutable; any thread. */
interface LineFormat {

  /**
   * Reads one event.
   *
   * @param bytes holds the line
   * @param from index of its first byte
   * @param to index after its last byte
   * @return a value for each field: text, a number, a boolean, or null
   * @throws DataException what was found and what was expected, without the place
   */
  Object[] read(byte[] bytes, int from, int to);

  /**
   * Returns the format of lines of values.
   *
   * @param columns names of the columns, in the order of a line
   * @param fields names of the fields to read
   * @param separator between two values
   */
  static LineFormat csv(List<String> columns, List<String> fields, char separator) {
    int[] column = new int[fields.size()];
    for (int i = 0; i < column.length; i++) {
      column[i] = columns.indexOf(fields.get(i));
      if (column[i] < 0) {
        throw new DataException(
            "has no column \"%s\", expected one; its columns are %s"
                .formatted(fields.get(i), String.join(", ", columns)));
      }
      if (column[i] != columns.lastIndexOf(fields.get(i))) {
        throw new DataException(
            "has more than one column \"%s\", expected one; its columns are %s"
                .formatted(fields.get(i), String.join(", ", columns)));
      }
    }
    return new Csv(columns, column, (byte) separator);
  }

  /** Returns the format of JSON objects. */
  static LineFormat json(List<String> fields) {
    Map<String, Integer> index = new HashMap<>();
    for (int i = 0; i < fields.size(); i++) {
      index.put(fields.get(i), i);
    }
    return new Json(index);
  }

  /** Splits a line of values; values may be in quotes, a quote in them is doubled. */
  static List<String> split(byte[] bytes, int from, int to, byte separator) {
    List<String> values = new ArrayList<>();
    int at = from;
    while (true) {
      int end = Csv.end(bytes, at, to, separator);
      values.add(Csv.value(bytes, at, end));
      if (end >= to) {
        return values;
      }
      at = end + 1;
    }
  }

  /** Lines of values. */
  record Csv(List<String> columns, int[] column, byte separator) implements LineFormat {

    private static final char REPLACEMENT = '\uFFFD';
    private static final ThreadLocal<int[]> BOUNDS = ThreadLocal.withInitial(() -> new int[64]);

    @Override
    public Object[] read(byte[] bytes, int from, int to) {
      int[] bounds = BOUNDS.get();
      if (bounds.length < columns.size() + 2) {
        bounds = new int[columns.size() + 2];
        BOUNDS.set(bounds);
      }
      int found = 0;
      int at = from;
      while (true) {
        int end = end(bytes, at, to, separator);
        if (found <= columns.size()) {
          bounds[found] = at;
          bounds[found + 1] = end + 1;
        }
        found++;
        if (end >= to) {
          break;
        }
        at = end + 1;
      }
      if (found != columns.size()) {
        throw new DataException(
            "has %s values, expected %s: %s"
                .formatted(found, columns.size(), String.join(", ", columns)));
      }
      Object[] values = new Object[column.length];
      for (int i = 0; i < values.length; i++) {
        String text = value(bytes, bounds[column[i]], bounds[column[i] + 1] - 1);
        values[i] = text.isEmpty() ? null : text;
      }
      return values;
    }

    /** Returns the index after the value that begins at an index. */
    private static int end(byte[] bytes, int from, int to, byte separator) {
      int at = from;
      if (at < to && bytes[at] == '"') {
        for (at++; at < to; at++) {
          if (bytes[at] == '"') {
            if (at + 1 < to && bytes[at + 1] == '"') {
              at++;
            } else {
              break;
            }
          }
        }
        if (at >= to) {
          throw new DataException(
              "has a quote that does not end on its line, expected one that does");
        }
      }
      while (at < to && bytes[at] != separator) {
        at++;
      }
      return at;
    }

    private static String value(byte[] bytes, int from, int to) {
      int first = from;
      int last = to;
      while (first < last && bytes[first] == ' ') {
        first++;
      }
      while (last > first && bytes[last - 1] <= ' ' && bytes[last - 1] >= 0) {
        last--;
      }
      if (last - first >= 2 && bytes[first] == '"' && bytes[last - 1] == '"') {
        return text(bytes, first + 1, last - first - 2).replace("\"\"", "\"");
      }
      return text(bytes, first, last - first);
    }

    private static String text(byte[] bytes, int first, int length) {
      String text = new String(bytes, first, length, StandardCharsets.UTF_8);
      // Bytes that are no UTF-8 have become U+FFFD, which has three bytes of its own.
      if (text.indexOf(REPLACEMENT) >= 0
          && !Arrays.equals(
              text.getBytes(StandardCharsets.UTF_8),
              Arrays.copyOfRange(bytes, first, first + length))) {
        throw new DataException(
            "has bytes that are no UTF-8 in \"%s\", expected UTF-8".formatted(text));
      }
      return text;
    }
  }

  /** JSON objects. */
  record Json(Map<String, Integer> index) implements LineFormat {

    private static final JsonFactory PARSERS = new JsonFactory();

    @Override
    public Object[] read(byte[] bytes, int from, int to) {
      Object[] values = new Object[index.size()];
      try (JsonParser parser = PARSERS.createParser(bytes, from, to - from)) {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
          throw new DataException("is no JSON object, expected { \"field\": value, ... }");
        }
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          Integer field = index.get(parser.currentName());
          JsonToken token = parser.nextToken();
          if (token.isStructStart()) {
            if (field != null) {
              throw new DataException(
                  "field \"%s\" holds an object or array, expected a single value"
                      .formatted(parser.currentName()));
            }
            parser.skipChildren();
          } else if (field != null) {
            if (values[field] != null) {
              throw new DataException(
                  "field \"%s\" stands twice, expected it once".formatted(parser.currentName()));
            }
            values[field] = value(parser, token);
          }
        }
        if (parser.currentToken() != JsonToken.END_OBJECT) {
          throw new DataException("is cut off, expected a complete JSON object");
        }
        if (parser.nextToken() != null) {
          throw new DataException("goes on after its JSON object, expected one object");
        }
        return values;
      } catch (JsonProcessingException e) {
        throw new DataException(
            "is no valid JSON: %s; expected an object".formatted(e.getOriginalMessage()), e);
      } catch (IOException e) {
        // The bytes look like those of another encoding.
        throw new DataException(
            "is no valid JSON in UTF-8: %s; expected an object".formatted(e.getMessage()), e);
      }
    }

    private static Object value(JsonParser parser, JsonToken token) throws IOException {
      return switch (token) {
        case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> parser.getNumberValue();
        case VALUE_TRUE -> true;
        case VALUE_FALSE -> false;
        case VALUE_NULL -> null;
        default -> parser.getText();
      };
    }
  }
}
