package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.serving.internal.Refusal.Code;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BearerTokensTest {

  private static final String READER = "reader-0123456789abcdef";
  private static final String ADMIN = "admin-0123456789abcdef";

  private final BearerTokens tokens =
      BearerTokens.read("file", "# of the team\n\n%s\nadmin %s\n".formatted(READER, ADMIN));

  @ParameterizedTest
  @ValueSource(strings = {"Bearer ", "bearer ", "BEARER   "})
  void shouldAllowARequestWhenItHasOneOfTheTokens(String scheme) {
    assertDoesNotThrow(() -> tokens.require(scheme + READER));
    assertDoesNotThrow(() -> tokens.require(scheme + ADMIN));
    assertDoesNotThrow(() -> tokens.requireAdmin(scheme + ADMIN));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "Bearer",
        "Bearer ",
        "Bearer reader-0123456789abcde",
        "Bearer reader-0123456789abcdeff",
        "Bearer admin admin-0123456789abcdef",
        "Basic reader-0123456789abcdef",
        "reader-0123456789abcdef"
      })
  void shouldRefuseARequestWhenItHasAnotherToken(String header) {
    Refusal refused = assertThrows(Refusal.class, () -> tokens.require(header));

    assertEquals(Code.UNAUTHENTICATED, refused.code());
    assertFalse(refused.getMessage().contains(READER), refused.getMessage());
  }

  @Test
  void shouldRefuseARequestWhenItHasNoTokenAndTheServerHas() {
    Refusal refused = assertThrows(Refusal.class, () -> tokens.require(null));

    assertEquals(
        "Authorization: is missing, expected Bearer and a token of this server",
        refused.getMessage());
  }

  @Test
  void shouldRefuseToLoadWhenTheTokenIsNoAdmins() {
    Refusal refused = assertThrows(Refusal.class, () -> tokens.requireAdmin("Bearer " + READER));

    assertEquals(Code.FORBIDDEN, refused.code());
  }

  @Test
  void shouldLetAllAskAndNoneLoadWhenThereAreNoTokens() {
    assertDoesNotThrow(() -> BearerTokens.NONE.require(null));
    assertFalse(BearerTokens.NONE.present());

    Refusal refused = assertThrows(Refusal.class, () -> BearerTokens.NONE.requireAdmin(null));
    assertEquals(Code.FORBIDDEN, refused.code());
    assertTrue(refused.getMessage().contains("--token-file"), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "short|file: line 1 has a token of 5 characters, expected 16 to 256",
        "two words of a token|file: line 1 has a space",
        "admin short|file: line 1 has a token of 5 characters",
        "äöüäöüäöüäöüäöüäöü|file: line 1 has a space or a letter beyond ASCII",
        "# nothing|file: has no token, expected one a line"
      })
  void shouldNameTheLineWhenATokenCannotBeUsed(String text, String message) {
    IllegalArgumentException wrong =
        assertThrows(IllegalArgumentException.class, () -> BearerTokens.read("file", text));

    assertTrue(wrong.getMessage().startsWith(message), wrong.getMessage());
  }

  @Test
  void shouldNameTheLineAndNotTheTokenWhenItIsGivenTwice() {
    IllegalArgumentException wrong =
        assertThrows(
            IllegalArgumentException.class,
            () -> BearerTokens.read("file", READER + "\nadmin " + READER));

    assertEquals(
        "file: line 2 has the token of an earlier line, expected each once", wrong.getMessage());
  }
}
