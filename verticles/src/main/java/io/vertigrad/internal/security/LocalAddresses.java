package io.vertigrad.internal.security;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The addresses at which this process takes frames, and the word by which it knows frames that came
 * from itself. Any thread.
 */
final class LocalAddresses {

  private static final int WORD_BYTES = 16;

  private final String word = "here-" + HexFormat.of().formatHex(RandomBytes.of(WORD_BYTES));
  private final byte[] expected = word.getBytes(StandardCharsets.US_ASCII);
  private final Set<String> addresses = ConcurrentHashMap.newKeySet();

  void listens(String address, boolean now) {
    if (now) {
      addresses.add(address);
    } else {
      addresses.remove(address);
    }
  }

  boolean isHere(String address) {
    return addresses.contains(address);
  }

  /** Goes along with a frame that stays here. */
  String word() {
    return word;
  }

  boolean isWord(String found) {
    return MessageDigest.isEqual(expected, found.getBytes(StandardCharsets.US_ASCII));
  }
}
