package io.vertigrad.benchmarks.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class CasesTest {

  private static final List<String> CASES = List.of("2,000 x 1", "2,000 x 2", "270,000 x 1");

  @Test
  void shouldChooseTheCasesWhoseNameContainsTheText() {
    assertEquals(List.of("2,000 x 1", "270,000 x 1"), named("x 1"));
    assertEquals(CASES, named(""));
  }

  @Test
  void shouldListTheCasesWhenTheTextFitsNone() {
    assertEquals(
        "--only \"270000\" fits no case, expected part of one of: 2,000 x 1; 2,000 x 2; 270,000 x 1",
        assertThrows(UnknownCaseException.class, () -> named("270000")).getMessage());
  }

  private static List<String> named(String text) {
    return Cases.named(text, CASES, Function.identity());
  }
}
