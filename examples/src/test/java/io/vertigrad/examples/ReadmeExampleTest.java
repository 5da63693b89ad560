package io.vertigrad.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs the commands of the READMEs and compares their output with the output shown there. Every
 * digit must match when the processor has the kernels that made the figures.
 */
final class ReadmeExampleTest {

  /** Lines that the READMEs leave out: the page's address, and progress lines. */
  private static final String LEFT_OUT = "dashboard: .*|port \\d+ is taken.*|step [\\d,]+ of .*";

  /** The first and the last evaluation. */
  private static final String KEPT = "version +0 .*|.* all of them\\)";

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource("own-strategy, examples/run own-strategy")
  @Tag("slow")
  void shouldPrintTheOutputOfTheReadme(String readme, String command) throws Exception {
    ReadmeExample example = ReadmeExample.of(readme, command);

    compare(example, example.run(folder));
  }

  @ParameterizedTest
  @CsvSource({
    "own-strategy, examples/run train examples/own-strategy/job.json, own-strategy",
    "own-model-and-data, examples/run train examples/own-model-and-data/spirals.json, spirals"
  })
  @Tag("slow")
  void shouldTrainAsTheReadmeShows(String readme, String command, String job) throws Exception {
    ReadmeExample example = ReadmeExample.of(readme, command);
    String run = folder.resolve("runs/20000101-000000-" + job).toString();

    List<String> printed =
        example.run(folder, "--run-dir", run, "--set", "dashboard.port=0").stream()
            .filter(line -> !line.matches(LEFT_OUT))
            .filter(line -> !line.startsWith("version ") || line.matches(KEPT))
            .map(line -> line.replace(" --set dashboard.port=0", ""))
            .map(line -> line.replace(folder + "/", ""))
            .toList();

    compare(example, printed);
  }

  @Test
  @Tag("slow")
  void shouldPrintEventsAsTheReadmeShows() throws Exception {
    ReadmeExample example = ReadmeExample.of("run-events", "examples/run run-events");

    List<String> printed = example.run(folder);

    assertEquals(forms(example.output()), forms(printed), () -> String.join("\n", printed));
    String whole = only(example.output(), "whole test set");
    Optional<String> difference =
        ReadmeLine.difference(whole, only(printed, "whole test set"), false);
    assertTrue(difference.isEmpty(), difference::toString);
  }

  private static void compare(ReadmeExample example, List<String> printed) throws Exception {
    boolean exact = ReadmeExample.sameKernels();
    assertEquals(
        example.output().size(), printed.size(), () -> "printed:\n" + String.join("\n", printed));
    List<String> differences = new ArrayList<>();
    for (int line = 0; line < printed.size(); line++) {
      ReadmeLine.difference(example.output().get(line), printed.get(line), exact)
          .ifPresent(differences::add);
    }
    assertEquals(List.of(), differences, example::command);
  }

  private static TreeSet<String> forms(List<String> lines) {
    return lines.stream()
        .map(line -> ReadmeLine.form(line).replaceAll(" +", " "))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String only(List<String> lines, String part) {
    List<String> found = lines.stream().filter(line -> line.contains(part)).toList();
    assertEquals(1, found.size(), () -> "one line with '" + part + "' in " + lines);
    return found.get(0);
  }
}
