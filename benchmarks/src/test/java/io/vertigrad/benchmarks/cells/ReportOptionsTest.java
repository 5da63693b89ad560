package io.vertigrad.benchmarks.cells;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReportOptionsTest {

  @Test
  void shouldTakeThreeTurnsOfAllCellsWhenNothingIsSet() {
    ReportOptions options = read(Map.of("data", ""));

    assertEquals(3, options.turns());
    assertEquals(5_000, options.rounds());
    assertEquals(0, options.minutes());
    assertEquals("", options.cells().pattern());
    assertEquals("", options.data());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "turns; 0; --turns: found '0', expected a whole number from 1",
        "turns; 3x; --turns: found '3x', expected a whole number from 1",
        "minutes; 0; --minutes: found '0', expected a whole number from 1",
        "rounds; 1.5; --rounds: found '1.5', expected a whole number from 1",
        "cells; mlp(; --cells: found 'mlp(', expected a regular expression: Unclosed group"
      })
  void shouldNameTheOptionThatIsNotAsExpected(String name, String value, String message) {
    assertEquals(
        message,
        assertThrows(IllegalArgumentException.class, () -> read(Map.of(name, value))).getMessage());
  }

  @Test
  void shouldContinueWithTheEarlierOptionsUnlessSet() {
    ReportOptions begun =
        read(Map.of("cells", "mlp", "turns", "5", "minutes", "25", "rounds", "30"));
    ReportOptions before = ReportOptions.fromJson(begun.toJson());

    ReportOptions after = resume(Map.of("turns", "7"), false, before);

    assertEquals("mlp", after.cells().pattern());
    assertEquals(7, after.turns());
    assertEquals(25, after.minutes());
    assertEquals(30, after.rounds());
  }

  @Test
  void shouldContinueWithEachPythonAndItsVersion() {
    String lines = "2.14.0 /opt/a b/python\n1.13.1 python3\n";
    ReportOptions before =
        ReportOptions.fromJson(read(Map.of("pythons", lines, "threads", "true")).toJson());

    ReportOptions after = resume(Map.of(), false, before);

    assertEquals(
        List.of(Map.entry("2.14.0", "/opt/a b/python"), Map.entry("1.13.1", "python3")),
        List.copyOf(after.pythons().entrySet()));
    assertTrue(after.threads());
    assertEquals(Map.of("2.0", "x"), resume(Map.of("pythons", "2.0 x"), false, before).pythons());
  }

  @Test
  void shouldRefuseTwoPythonsOfOneVersion() {
    assertEquals(
        "--python b: found PyTorch 2.0 as of a, expected another version",
        assertThrows(IllegalArgumentException.class, () -> read(Map.of("pythons", "2.0 a\n2.0 b")))
            .getMessage());
  }

  @Test
  void shouldNotContinueWithRoundsOfAnotherLength() {
    ReportOptions before = read(Map.of());

    assertEquals(
        "--rounds 30: expected 5000, as the report was begun",
        assertThrows(
                IllegalArgumentException.class, () -> resume(Map.of("rounds", "30"), false, before))
            .getMessage());
    assertEquals(
        "--quick: expected none, as the report was begun",
        assertThrows(IllegalArgumentException.class, () -> resume(Map.of(), true, before))
            .getMessage());
  }

  private static ReportOptions read(Map<String, String> set) {
    return ReportOptions.read(name -> set.get(unprefixed(name)), false);
  }

  private static ReportOptions resume(
      Map<String, String> set, boolean quick, ReportOptions before) {
    return ReportOptions.resume(name -> set.get(unprefixed(name)), quick, before);
  }

  private static String unprefixed(String property) {
    return property.substring("vertigrad.benchmarks.".length());
  }
}
