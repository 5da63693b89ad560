package io.vertigrad.benchmarks.owndata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Map;
import org.junit.jupiter.api.Test;

class OwnDataOptionsTest {

  @Test
  void shouldTakeTheBenchmarksNumbersWhenNoOptionIsGiven() {
    assertEquals(new OwnDataOptions("", "", 50, 10, 0, 3), read(Map.of()));
  }

  @Test
  void shouldTakeTheOptionsWhenTheyAreGiven() {
    Map<String, String> options =
        Map.of(
            "only", "iid", "data", "/mnist", "rounds", "8", "epochs", "2", "seed", "4", "seeds",
            "1");

    assertEquals(new OwnDataOptions("iid", "/mnist", 8, 2, 4, 1), read(options));
  }

  @Test
  void shouldNameTheOptionWhenItIsNoNumber() {
    assertEquals(
        "--epochs 0: expected a whole number from 1",
        assertThrows(IllegalArgumentException.class, () -> read(Map.of("epochs", "0")))
            .getMessage());
    assertEquals(
        "--seeds many: expected a whole number from 1",
        assertThrows(IllegalArgumentException.class, () -> read(Map.of("seeds", "many")))
            .getMessage());
  }

  @Test
  void shouldTrainOnTheFilesWhenAFolderIsGiven() {
    assertEquals(
        "{\"name\":\"mnist\",\"directory\":\"/mnist\"}",
        read(Map.of("data", "/mnist")).data().encode());
    assertEquals("{\"name\":\"digits\"}", read(Map.of()).data().encode());
  }

  static OwnDataOptions read(Map<String, String> options) {
    return OwnDataOptions.read(
        name -> options.get(name.replace("vertigrad.benchmarks.", "")), 50, 10, 3);
  }
}
