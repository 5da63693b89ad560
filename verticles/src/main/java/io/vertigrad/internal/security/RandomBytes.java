package io.vertigrad.internal.security;

import java.security.SecureRandom;

/** Creates unpredictable random bytes. */
public final class RandomBytes {

  private static final SecureRandom RANDOM = new SecureRandom();

  private RandomBytes() {}

  /** Returns this many random bytes. */
  public static byte[] of(int count) {
    byte[] bytes = new byte[count];
    RANDOM.nextBytes(bytes);
    return bytes;
  }
}
