package io.vertigrad.launcher.tracking;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads TensorBoard's event files by their published format, with its own checksum and its own
 * reader of protocol buffers.
 */
public final class EventFileParser {

  /** Polynomial of CRC-32C, lowest bit first. */
  private static final int POLYNOMIAL = 0x82F63B78;

  /** One event; the version is null when the event is a summary. */
  public record Event(double wallTime, long step, String version, Map<String, Float> values) {}

  private EventFileParser() {}

  public static List<Event> parse(Path file) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    List<Event> events = new ArrayList<>();
    while (bytes.hasRemaining()) {
      byte[] length = new byte[8];
      bytes.get(length);
      assertEquals(masked(length), bytes.getInt(), "checksum of a length");
      long count = ByteBuffer.wrap(length).order(ByteOrder.LITTLE_ENDIAN).getLong();
      assertTrue(count >= 0 && count <= bytes.remaining(), count + " bytes");
      byte[] message = new byte[(int) count];
      bytes.get(message);
      assertEquals(masked(message), bytes.getInt(), "checksum of a message");
      events.add(event(ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN)));
    }
    return events;
  }

  static int crc32c(byte[] bytes) {
    int sum = -1;
    for (byte next : bytes) {
      sum ^= next & 0xFF;
      for (int bit = 0; bit < 8; bit++) {
        sum = (sum & 1) != 0 ? sum >>> 1 ^ POLYNOMIAL : sum >>> 1;
      }
    }
    return ~sum;
  }

  private static int masked(byte[] bytes) {
    int sum = crc32c(bytes);
    return (sum >>> 15 | sum << 17) + 0xa282ead8;
  }

  private static Event event(ByteBuffer message) {
    double wallTime = Double.NaN;
    long step = 0;
    String version = null;
    Map<String, Float> values = new LinkedHashMap<>();
    while (message.hasRemaining()) {
      long key = varint(message);
      switch ((int) key) {
        case 1 << 3 | 1 -> wallTime = message.getDouble();
        case 2 << 3 -> step = varint(message);
        case 3 << 3 | 2 -> version = text(message);
        case 5 << 3 | 2 -> summary(part(message), values);
        default -> throw new AssertionError("unknown field " + key + " of Event");
      }
    }
    return new Event(wallTime, step, version, values);
  }

  private static void summary(ByteBuffer message, Map<String, Float> values) {
    while (message.hasRemaining()) {
      assertEquals(1 << 3 | 2, varint(message), "Summary.value");
      ByteBuffer value = part(message);
      assertEquals(1 << 3 | 2, varint(value), "Value.tag");
      String tag = text(value);
      assertEquals(2 << 3 | 5, varint(value), "Value.simple_value");
      values.put(tag, value.getFloat());
      assertEquals(0, value.remaining());
    }
  }

  private static ByteBuffer part(ByteBuffer message) {
    int length = (int) varint(message);
    ByteBuffer part = message.slice(message.position(), length).order(ByteOrder.LITTLE_ENDIAN);
    message.position(message.position() + length);
    return part;
  }

  private static String text(ByteBuffer message) {
    ByteBuffer part = part(message);
    byte[] bytes = new byte[part.remaining()];
    part.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static long varint(ByteBuffer message) {
    long value = 0;
    for (int shift = 0; ; shift += 7) {
      byte next = message.get();
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        return value;
      }
    }
  }
}
