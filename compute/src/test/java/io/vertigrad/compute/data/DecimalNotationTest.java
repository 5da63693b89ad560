package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DecimalNotationTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "-0, -0.0",
    "+5, 5",
    "007, 7",
    ".5, 0.5",
    "5., 5",
    "-1.25e-3, -0.00125",
    "1E+2, 100",
    "1790000050, 1790000050",
    "16777217, 16777217",
    "'  3.01\t', 3.01",
    "1e-400, 0",
    "0.1234567890123456789012345, 0.12345678901234568",
    "1.7976931348623157e308, 1.7976931348623157e308"
  })
  void shouldReadDecimalNumbers(String text, double expected) {
    assertEquals(expected, DecimalNotation.POINT.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        ".",
        "+",
        "-",
        "e5",
        "1e",
        "1e+",
        "--1",
        "+-1",
        "1.2.3",
        "7d",
        "7D",
        "3f",
        "3F",
        "3L",
        "0x1p3",
        "0x10",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "1_000",
        "1,234",
        "3,14",
        "1 234",
        "1\u00a0234",
        "\u00a05",
        "12%",
        "$5",
        "1/2",
        "true",
        "٣",
        "１２",
        "−5",
        "1e5.0",
        "-.",
        "..",
        "1..",
        "-1.2.",
        "1e 5",
        "5\n",
        "\u00005",
        "12:30"
      })
  void shouldRefuseEverythingElseAsANumber(String text) {
    assertTrue(Double.isNaN(DecimalNotation.POINT.parse(text)));
    assertFalse(DecimalNotation.POINT.matches(text));
  }

  @Test
  void shouldRoundShortNumbersAsLongOnes() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 100_000; i++) {
      String digits = Long.toString(random.nextLong(1_000_000_000_000_000L));
      int point = random.nextInt(digits.length() + 1);
      String text =
          (random.nextBoolean() ? "-" : "")
              + digits.substring(0, point)
              + '.'
              + digits.substring(point);
      assertEquals(Double.parseDouble(text), DecimalNotation.POINT.parse(text), text);
    }
  }

  @Test
  void shouldReturnNaNForNumbersBeyondTheRangeOfDoubles() {
    assertTrue(Double.isNaN(DecimalNotation.POINT.parse("1e400")));
    assertTrue(Double.isNaN(DecimalNotation.POINT.parse("-1e309")));
    assertTrue(DecimalNotation.POINT.matches("1e400"));
  }

  @Test
  void shouldReadACommaAsDecimalMarkOnlyWhenConfigured() {
    assertEquals(3.14, DecimalNotation.COMMA.parse("3,14"));
    assertEquals(-0.5e-2, DecimalNotation.COMMA.parse("-,5e-2"));
    assertEquals(12, DecimalNotation.COMMA.parse("12"));
    assertTrue(Double.isNaN(DecimalNotation.COMMA.parse("3.14")), "a point groups digits there");
    assertTrue(Double.isNaN(DecimalNotation.COMMA.parse("1.234,5")));
    assertTrue(Double.isNaN(DecimalNotation.COMMA.parse("1,234,5")));
  }

  @Test
  void shouldReadTheOption() {
    assertEquals(DecimalNotation.POINT, of(new JsonObject()));
    assertEquals(DecimalNotation.COMMA, of(new JsonObject().put("decimal", ",")));
    assertEquals(
        "job.json: data.decimal is \";\", expected the decimal mark, \".\" or \",\"",
        assertThrows(SettingsException.class, () -> of(new JsonObject().put("decimal", ";")))
            .getMessage());
  }

  private static DecimalNotation of(JsonObject options) {
    return DecimalNotation.of(Settings.at("job.json", "data", options));
  }
}
