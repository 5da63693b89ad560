package io.vertigrad.dashboard;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/** The token that a page must have to change something. */
final class PageToken {

  private final byte[] token;

  PageToken(String token) {
    this.token = token.getBytes(StandardCharsets.UTF_8);
  }

  /** Compares the token in a time that does not depend on where the tokens differ. */
  boolean is(Object found) {
    return found instanceof String text
        && MessageDigest.isEqual(token, text.getBytes(StandardCharsets.UTF_8));
  }
}
