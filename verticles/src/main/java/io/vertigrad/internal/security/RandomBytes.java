package io.vertigrad.internal.security;

import java.security.SecureRandom;

/** Bytes that nobody can foretell. */
public final class RandomBytes {

  private static final SecureRandom RANDOM = new SecureRandom();

  private RandomBytes() {}

  /** Returns this many. */
  public static byte[] of(int count) {
    byte[] bytes = new byte[count];
    RANDOM.nextBytes(bytes);
    return bytes;
  }
}
