package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class LineFormatTest {

  private static final LineFormat CSV =
      LineFormat.csv(List.of("a", "b", "c"), List.of("c", "a"), ',');
  private static final LineFormat JSON = LineFormat.json(List.of("c", "a"));

  @Test
  void shouldReadTheChosenColumnsOfALine() {
    assertArrayEquals(new Object[] {"x,\"y\"", "1"}, read(CSV, "1,2,\"x,\"\"y\"\"\""));
    assertArrayEquals(new Object[] {"z", null}, read(CSV, ", 2 , z "));
  }

  @Test
  void shouldReportTheNumberOfValuesOfALine() {
    assertTrue(error(CSV, "1,2").contains("has 2 values, expected 3: a, b, c"));
    assertTrue(error(CSV, "1,2,3,4").contains("has 4 values"));
    assertTrue(error(CSV, "1,\"2,3").contains("a quote that does not end on its line"));
  }

  @Test
  void shouldReadTheChosenFieldsOfAnObject() {
    assertArrayEquals(
        new Object[] {"x", 1.5}, read(JSON, "{\"a\":1.5,\"b\":{\"c\":2},\"c\":\"x\"}"));
    assertArrayEquals(new Object[] {true, null}, read(JSON, "{\"a\":null,\"c\":true}"));
  }

  @Test
  void shouldReportAValueThatIsNoObject() {
    assertTrue(error(JSON, "[1]").contains("is no JSON object"));
    assertTrue(error(JSON, "{\"a\": nul}").contains("is no valid JSON"));
    assertTrue(error(JSON, "{\"a\": [1]}").contains("field \"a\" holds an object or array"));
    assertTrue(error(JSON, "{} {}").contains("goes on after its JSON object"));
  }

  @Test
  void shouldNameAMissingColumn() {
    DataException missing =
        assertThrows(
            DataException.class, () -> LineFormat.csv(List.of("a"), List.of("price"), ','));
    assertEquals("has no column \"price\", expected one; its columns are a", missing.getMessage());
  }

  @Test
  void shouldRefuseANameThatStandsTwice() {
    DataException twice =
        assertThrows(
            DataException.class,
            () -> LineFormat.csv(List.of("a", "b", "a", "b"), List.of("b"), ','));

    assertEquals(
        "has more than one column \"b\", expected one; its columns are a, b, a, b",
        twice.getMessage());
    assertEquals("field \"a\" stands twice, expected it once", error(JSON, "{\"a\": 1, \"a\": 2}"));
  }

  private static Object[] read(LineFormat format, String line) {
    byte[] bytes = ("--" + line + "--").getBytes(StandardCharsets.UTF_8);
    return format.read(bytes, 2, bytes.length - 2);
  }

  private static String error(LineFormat format, String line) {
    return assertThrows(DataException.class, () -> read(format, line)).getMessage();
  }
}
