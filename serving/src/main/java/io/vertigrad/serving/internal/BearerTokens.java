package io.vertigrad.serving.internal;

import io.vertigrad.http.AccessToken;
import io.vertigrad.serving.internal.Refusal.Code;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The tokens that requests to a server must have. Without any, every request may ask, and none may
 * load models. Any thread may use it.
 */
public final class BearerTokens {

  /** A server without tokens. */
  static final BearerTokens NONE = new BearerTokens(List.of());

  private static final String ADMIN = "admin ";
  private static final String SCHEME = "Bearer ";
  private static final int LEAST = 16;
  private static final int MOST = 256;
  private static final int MOST_TOKENS = 1_000;

  private final List<Entry> entries;

  private record Entry(AccessToken token, boolean admin) {}

  private BearerTokens(List<Entry> entries) {
    this.entries = entries;
  }

  /**
   * Reads tokens, one a line. Those behind {@code admin} may also load and unload models. Empty
   * lines, and lines that begin with {@code #}, are left out.
   *
   * @param where names the text in messages, such as a file
   * @throws IllegalArgumentException naming the line, never the token
   */
  public static BearerTokens read(String where, String text) {
    List<Entry> entries = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    int number = 0;
    for (String line : text.lines().map(String::strip).toList()) {
      number++;
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      boolean admin = line.startsWith(ADMIN);
      String token = admin ? line.substring(ADMIN.length()).strip() : line;
      String problem = problem(token);
      if (problem == null && !seen.add(token)) {
        problem = "has the token of an earlier line, expected each once";
      }
      if (problem == null && entries.size() == MOST_TOKENS) {
        problem = "is one token more than the %s that are possible".formatted(MOST_TOKENS);
      }
      if (problem != null) {
        throw new IllegalArgumentException("%s: line %s %s".formatted(where, number, problem));
      }
      entries.add(new Entry(new AccessToken(token), admin));
    }
    if (entries.isEmpty()) {
      throw new IllegalArgumentException(
          "%s: has no token, expected one a line, such as openssl rand -hex 16 prints"
              .formatted(where));
    }
    return new BearerTokens(List.copyOf(entries));
  }

  private static String problem(String token) {
    if (!token.chars().allMatch(letter -> letter > ' ' && letter < 0x7F)) {
      return "has a space or a letter beyond ASCII, expected TOKEN or admin TOKEN";
    }
    return token.length() < LEAST || token.length() > MOST
        ? "has a token of %s characters, expected %s to %s, such as openssl rand -hex 16 prints"
            .formatted(token.length(), LEAST, MOST)
        : null;
  }

  /**
   * Checks that a request may ask.
   *
   * @param authorization its header {@code Authorization}; null if it has none
   * @throws Refusal if there are tokens, and the request has none of them
   */
  public void require(String authorization) {
    if (!entries.isEmpty()) {
      find(authorization);
    }
  }

  /**
   * Checks that a request may load and unload models.
   *
   * @param authorization its header {@code Authorization}; null if it has none
   * @throws Refusal if the request has no token that may
   */
  public void requireAdmin(String authorization) {
    if (entries.isEmpty()) {
      throw new Refusal(
          Code.FORBIDDEN,
          "this server has no tokens, and only a token may do this: start it with --token-file");
    }
    if (!find(authorization).admin()) {
      throw new Refusal(
          Code.FORBIDDEN,
          "this token may not load or unload models, expected one whose line in the token file is"
              + " admin TOKEN");
    }
  }

  /** Finds a request's token in a time that does not depend on which one it is. */
  private Entry find(String authorization) {
    boolean bearer =
        authorization != null
            && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
            && authorization.length() <= SCHEME.length() + MOST;
    String given = bearer ? authorization.substring(SCHEME.length()).strip() : "";
    Entry found = null;
    for (Entry entry : entries) {
      if (entry.token().is(given)) {
        found = entry;
      }
    }
    if (found == null) {
      throw new Refusal(
          Code.UNAUTHENTICATED,
          authorization == null
              ? "Authorization: is missing, expected Bearer and a token of this server"
              : "Authorization: has no token of this server, expected Bearer and one of its"
                  + " tokens");
    }
    return found;
  }

  /** Returns whether requests need a token. */
  public boolean present() {
    return !entries.isEmpty();
  }
}
