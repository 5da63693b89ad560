package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the command {@code check} with modules of PyTorch and what PyTorch computed with them
 * ({@code checked.py} and {@code graph/exported.py}), each in a separate process.
 */
class CheckCommandTest {

  private static final Path RESOURCES =
      Path.of("src/test/resources/io/vertigrad/engine/pytorch").toAbsolutePath();

  @TempDir private Path folder;

  @ParameterizedTest
  @Tag("slow")
  @CsvSource(
      delimiter = '|',
      value = {
        "image.pt | 5 samples of [1, 8, 8], 3 classes, crossEntropy | after.1.num_batches_tracked: whole",
        "tagger.pt | 3 samples of [4], 11 classes, crossEntropy | after.out.weight: another name of after.w",
        "values.pt | 7 samples of [4], 2 real values, meanSquaredError | after.2.bias ",
        "graph/transformer.pt2 | 4 samples of [12], 32 classes, crossEntropy | after.e.weight ",
        "graph/regression.pt2 | 6 samples of [5], 1 real values, meanSquaredError | after.k "
      })
  void shouldAgreeWithPyTorchWhenItsModuleIsChecked(String model, String batch, String said)
      throws Exception {
    String found = check(0, model, model.replaceFirst("[.].*", ".safetensors"));

    assertTrue(found.contains(batch + "; 5 steps of sgd at 0.1; engine pytorch"), found);
    assertTrue(found.contains(said), found);
    assertTrue(found.contains("it computes the same: "), found);
  }

  @Test
  @Tag("slow")
  void shouldDifferWhenTheToleranceIsNone() throws Exception {
    String found = check(1, "values.pt", "values.safetensors", "--tolerance", "0");

    assertTrue(found.contains("it does not compute the same: "), found);
  }

  @Test
  @Tag("slow")
  void shouldRefuseTheFileWhenItIsOfAnotherModel() throws Exception {
    String found = check(2, "values.pt", "image.safetensors");

    assertTrue(found.startsWith("vertigrad: model "), found);
    assertEquals(1, found.lines().count(), found);
  }

  @Test
  void shouldShowTheProgramOfTheFilesWhenTheGuideIsRead() throws IOException {
    String program = Files.readString(RESOURCES.resolve("checked.py"));
    String begin = "# The guide begins here.\n";
    String function =
        program.substring(
            program.indexOf(begin) + begin.length(), program.indexOf("# The guide ends here."));

    String guide = Files.readString(Path.of("../../docs/guide/pytorch.md"));

    assertTrue(guide.contains("```python\n" + function), function);
  }

  private String check(int exit, String model, String reference, String... options)
      throws Exception {
    List<String> arguments = new ArrayList<>();
    arguments.add("check");
    arguments.add(RESOURCES.resolve(model).toString());
    arguments.add("--with");
    arguments.add(RESOURCES.resolve(reference).toString());
    arguments.addAll(List.of(options));
    return CommandProcess.run(folder, exit, arguments.toArray(String[]::new));
  }
}
