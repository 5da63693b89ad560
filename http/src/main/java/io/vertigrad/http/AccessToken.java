package io.vertigrad.http;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * The token that a request must have to change something.
 *
 * @param text the token as it is shown to those who may have it
 */
public record AccessToken(String text) {

  private static final int BYTES = 16;

  /**
   * Returns a new token that nobody can guess.
   *
   * @return 32 hexadecimal digits
   */
  public static AccessToken fresh() {
    byte[] bytes = new byte[BYTES];
    new SecureRandom().nextBytes(bytes);
    return new AccessToken(HexFormat.of().formatHex(bytes));
  }

  /**
   * Compares the token in a time that does not depend on where the tokens differ.
   *
   * @param found what a request has as its token, or null
   * @return whether it is this token
   */
  public boolean is(Object found) {
    return found instanceof String other && MessageDigest.isEqual(bytes(text), bytes(other));
  }

  /** Returns no secret: a token is not to be logged by accident. */
  @Override
  public String toString() {
    return "AccessToken";
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
