package io.vertigrad.benchmarks.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ChaosFaultTest {

  @TempDir private Path folder;

  /** A fault that no longer changes a class would look like one that the checker fails to find. */
  @ParameterizedTest
  @EnumSource(names = {"NO_DEDUPLICATION", "LOST_UPDATE"})
  void shouldInstrumentAClassOfTheProduct(ChaosFault fault) throws Exception {
    String before = System.getProperty("java.class.path");

    String planted = fault.plant(Path.of(".."), folder, before);

    assertTrue(planted.startsWith(folder.toString()), planted);
    assertTrue(planted.endsWith(before), planted);
    try (Stream<Path> files = Files.walk(folder)) {
      assertTrue(files.anyMatch(file -> file.toString().endsWith(".class")));
    }
  }

  @Test
  void shouldNameTheKnownFaults() {
    assertEquals(ChaosFault.NO_DEDUPLICATION, ChaosFault.named("no-deduplication"));
    Exception unknown =
        assertThrows(IllegalArgumentException.class, () -> ChaosFault.named("no-luck"));
    assertTrue(unknown.getMessage().contains("lost-update"), unknown.getMessage());
  }
}
