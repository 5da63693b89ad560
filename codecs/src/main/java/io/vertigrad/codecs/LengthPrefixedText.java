package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Text in a payload: its length in bytes as an unsigned 16-bit number, then UTF-8.
 *
 * <p>Records cut their texts when they are created, so local and remote receivers see the same
 * text.
 */
final class LengthPrefixedText {

  /** Size of the length prefix in bytes. */
  static final int PREFIX_BYTES = Short.BYTES;

  private LengthPrefixedText() {}

  /**
   * Returns the longest beginning of the text that takes at most {@code limit} bytes and splits no
   * character.
   */
  static String cut(String text, int limit) {
    byte[] utf8 = String.valueOf(text).getBytes(StandardCharsets.UTF_8);
    int end = Math.min(limit, utf8.length);
    while (end < utf8.length && (utf8[end] & 0xc0) == 0x80) {
      end--;
    }
    return new String(utf8, 0, end, StandardCharsets.UTF_8);
  }

  /** Returns the texts in sequence, each preceded by its length. */
  static ByteBuffer payload(String... texts) {
    byte[][] all = new byte[texts.length][];
    int size = 0;
    for (int i = 0; i < texts.length; i++) {
      all[i] = texts[i].getBytes(StandardCharsets.UTF_8);
      size += PREFIX_BYTES + all[i].length;
    }
    ByteBuffer payload = ByteBuffer.allocate(size);
    for (byte[] utf8 : all) {
      payload.putShort(Short.reverseBytes((short) utf8.length)).put(utf8);
    }
    return payload.flip();
  }

  /** Decodes UTF-8; returns null if the bytes are not UTF-8. */
  static String decode(ByteBuffer utf8) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(utf8).toString();
    } catch (CharacterCodingException notUtf8) {
      return null;
    }
  }
}
