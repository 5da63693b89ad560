package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.engine.testing.FileMutants;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests damaged TorchScript files: libtorch loads what is left of them, or Java reports an error.
 */
@Tag("slow")
class DamagedScriptTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);

  @TempDir private Path folder;
  private Path script;

  @BeforeEach
  void save() throws IOException {
    script = folder.resolve("model.pt");
    try (Model model = model("convnet")) {
      model.save(script);
    }
  }

  @Test
  @Timeout(value = 1200, unit = TimeUnit.SECONDS)
  void shouldReadOrRefuseWhenAFileIsDamaged() throws Exception {
    int refused =
        FileMutants.read(
            script, 1, "model " + script + ": ", mutant -> model(mutant.toString()).close());

    assertTrue(refused > FileMutants.count() / 2, refused + " were refused");
  }

  @Test
  void shouldReportAFolderInPlaceOfAFile() throws IOException {
    Path loop = folder.resolve("loop.pt");
    Files.createSymbolicLink(loop, loop);
    Path directory = Files.createDirectory(folder.resolve("directory.pt"));

    for (Path none : List.of(loop, directory)) {
      String found =
          assertThrows(IllegalArgumentException.class, () -> model(none.toString())).getMessage();
      assertTrue(
          found.startsWith("model " + none + ": no such file, expected a TorchScript module;"),
          found);
    }
  }

  private static Model model(String name) {
    return Engine.named("pytorch").model(new ModelConfig(name, Map.of(), DIGIT, 10, 1, 1));
  }
}
