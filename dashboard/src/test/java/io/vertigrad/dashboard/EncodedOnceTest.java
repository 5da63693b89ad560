package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EncodedOnceTest {

  private final EncodedOnce encoded = new EncodedOnce();

  @Test
  void shouldEncodeADeltaOnceForAllWhoHearIt() {
    assertSame(encoded.of(message("a", "delta", 7, 70)), encoded.of(message("a", "delta", 7, 70)));
  }

  @ParameterizedTest
  @CsvSource({"b, delta, 7, 70", "a, delta, 8, 70", "a, delta, 7, 71", "a, snapshot, 7, 70"})
  void shouldEncodeWhateverElseAnew(String address, String kind, long number, long timeMillis) {
    encoded.of(message("a", "delta", 7, 70));
    JsonObject other = message(address, kind, number, timeMillis);

    assertEquals(other, new JsonObject(encoded.of(other)));
  }

  @Test
  void shouldEncodeWhatIsNoDeltaEachTime() {
    JsonObject text = new JsonObject().put("address", "a").put("body", "delta");
    JsonObject none = new JsonObject().put("type", "err");

    assertEquals(text, new JsonObject(encoded.of(text)));
    assertNotSame(encoded.of(none), encoded.of(none));
  }

  private static JsonObject message(String address, String kind, long number, long timeMillis) {
    JsonObject body = new JsonObject().put("kind", kind).put("number", number);
    return new JsonObject()
        .put("type", "rec")
        .put("address", address)
        .put("body", body.put("timeMillis", timeMillis));
  }
}
