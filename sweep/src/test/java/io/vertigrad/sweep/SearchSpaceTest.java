package io.vertigrad.sweep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SearchSpaceTest {

  @Test
  void shouldTryEveryCombinationWithTheLastKeyFastestWhenThereAreLists() {
    SearchSpace space =
        SearchSpace.parse(List.of("optimizer.learningRate=0.1,0.03", "workers.batch=16,32", "a=x"));

    assertEquals(
        List.of(
            Map.of("optimizer.learningRate", 0.1, "workers.batch", 16, "a", "x"),
            Map.of("optimizer.learningRate", 0.1, "workers.batch", 32, "a", "x"),
            Map.of("optimizer.learningRate", 0.03, "workers.batch", 16, "a", "x"),
            Map.of("optimizer.learningRate", 0.03, "workers.batch", 32, "a", "x")),
        space.grid());
    assertEquals(List.of("optimizer.learningRate", "workers.batch"), space.keys());
  }

  @ParameterizedTest
  @CsvSource({
    "16..128, '[16,72,128]'",
    "16..160/2, '[16,160]'",
    "1..100, '[1,10,100]'",
    "0..1/5, '[0,1]'",
    "0.0..1, '[0.0,0.5,1.0]'",
    "0.001..0.1, '[0.001,0.01,0.1]'",
    "1e-4..1e-1/4, '[1.0E-4,0.001,0.01,0.1]'",
    "-1..1, '[-1,0,1]'",
    "0.03..0.1, '[0.03,0.065,0.1]'"
  })
  void shouldPlaceThePointsOfARangeEvenlyOnItsScaleWhenAGridIsAsked(String range, String points) {
    JsonArray found = new JsonArray();

    SearchSpace.parse(List.of("k=" + range)).grid().forEach(one -> found.add(one.get("k")));

    assertEquals(points, found.encode());
  }

  @Test
  void shouldKeepJsonListsAndTextsWholeWhenTheyHaveCommas() {
    List<Map<String, Object>> grid =
        SearchSpace.parse(List.of("layers=[32,16],[64]", "name=\"a,b\",c", "path=/a/../b")).grid();

    assertEquals(4, grid.size());
    assertEquals(new JsonArray().add(32).add(16), grid.get(0).get("layers"));
    assertEquals("a,b", grid.get(0).get("name"));
    assertEquals("c", grid.get(1).get("name"));
    assertEquals("/a/../b", grid.get(0).get("path"));
  }

  @Test
  void shouldDrawTheSameSettingsOfBothScalesWhenTheSeedIsTheSame() {
    SearchSpace space = SearchSpace.parse(List.of("rate=0.0001..1", "batch=16..128", "name=a,b"));

    List<Map<String, Object>> drawn = space.random(400, 7);

    assertEquals(drawn, space.random(400, 7));
    assertNotEquals(drawn, space.random(400, 8));
    assertEquals(400, new HashSet<>(drawn).size());
    // On a logarithmic scale half of the draws are below 0.01, the middle of four decades.
    long below = drawn.stream().filter(one -> (Double) one.get("rate") < 0.01).count();
    assertTrue(below > 160 && below < 240, "below the middle: " + below);
    double mean = drawn.stream().mapToLong(one -> (Long) one.get("batch")).average().orElseThrow();
    assertEquals(72, mean, 6);
    assertTrue(
        drawn.stream()
            .mapToLong(one -> (Long) one.get("batch"))
            .allMatch(batch -> batch >= 16 && batch <= 128));
  }

  @Test
  void shouldFindEveryCombinationWhenAsManyTrialsAreDrawn() {
    SearchSpace space = SearchSpace.parse(List.of("a=1,2,3,4", "b=1,2,3,4", "c=1,2,3,4"));

    assertEquals(new HashSet<>(space.grid()), new HashSet<>(space.random(64, 1)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a            | expected KEY=VALUE,VALUE... or KEY=LOW..HIGH",
        "=1,2         | expected KEY=VALUE,VALUE... or KEY=LOW..HIGH",
        "a=           | a value is missing",
        "a=1,,2       | a value is missing",
        "a=1,         | a value is missing",
        "a=1,1        | 1 is there twice",
        "a=x..y       | x is not a number",
        "a=1..y       | y is not a number",
        "a=5..2       | expected LOW..HIGH with LOW below HIGH",
        "a=2..2       | expected LOW..HIGH with LOW below HIGH",
        "a=1..2/1     | found 1 points",
        "a=1..2/x     | found x points",
        "a=[1,2       | starts like JSON but is not complete",
      })
  void shouldNameTheTextAndWhatIsExpectedWhenItIsWrong(String text, String error) {
    SettingsException thrown =
        assertThrows(SettingsException.class, () -> SearchSpace.parse(List.of(text)));

    assertTrue(thrown.getMessage().startsWith("--set " + text + ": "), thrown.getMessage());
    assertTrue(thrown.getMessage().contains(error), thrown.getMessage());
  }

  @Test
  void shouldRefuseAKeyTwiceAndMoreTrialsThanThereAre() {
    assertTrue(
        assertThrows(SettingsException.class, () -> SearchSpace.parse(List.of("a=1,2", "a=3")))
            .getMessage()
            .contains("a was given before"));
    SearchSpace few = SearchSpace.parse(List.of("a=1,2", "b=1,2"));
    assertTrue(
        assertThrows(SettingsException.class, () -> few.random(5, 1))
            .getMessage()
            .contains("there are only 4 combinations"));
    assertTrue(
        assertThrows(
                SettingsException.class, () -> SearchSpace.parse(List.of("a=1..3")).random(4, 1))
            .getMessage()
            .contains("only 3 different settings"));
    assertThrows(SettingsException.class, () -> few.random(0, 1));
    SearchSpace many = SearchSpace.parse(List.of("a=0..1000/1001", "b=0..1000/1001"));
    assertTrue(
        assertThrows(SettingsException.class, many::grid)
            .getMessage()
            .contains("1002001 combinations"));
  }
}
