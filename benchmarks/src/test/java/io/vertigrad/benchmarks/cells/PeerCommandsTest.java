package io.vertigrad.benchmarks.cells;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PeerCommandsTest {

  private static final String SYNC = "marginal, mlp b64, 2 workers, sync";
  private static final List<String> CELLS = List.of(SYNC + ", one JVM", SYNC + ", processes");
  private static final List<Figure> FIGURES =
      List.of(Figure.SAMPLES_PER_SECOND, Figure.CPU_MILLIS_PER_ROUND);

  @TempDir Path folder;
  private Path file;

  @BeforeEach
  void nameFile() {
    file = folder.resolve("peers.json");
  }

  @Test
  void shouldFindTheLongestKeyThatNamesACell() throws Exception {
    PeerCommands peers =
        read("{\"%s\": \"all\", \"%s, processes\": \"one\"}".formatted(SYNC, SYNC));

    assertEquals(Optional.of(SYNC), peers.keyOf(SYNC + ", one JVM"));
    assertEquals(Optional.of(SYNC + ", processes"), peers.keyOf(SYNC + ", processes"));
    assertEquals(Optional.empty(), peers.keyOf("marginal, mlp b64, 2 workers, async, processes"));
  }

  @Test
  void shouldReadTheOutputOfACommandInTheFolderOfTheFile() throws Exception {
    Files.writeString(
        folder.resolve("out"), "{\"samplesPerSecond\": 250,\n\"cpuMillisPerRound\": 4.5}");

    assertEquals(
        Map.of(Figure.SAMPLES_PER_SECOND, 250.0, Figure.CPU_MILLIS_PER_ROUND, 4.5),
        measure("cat out"));
  }

  @Test
  void shouldPassTheNumberOfRoundsToACommand() throws Exception {
    assertEquals(
        Map.of(Figure.SAMPLES_PER_SECOND, 150.0),
        measure("echo \"{\\\"samplesPerSecond\\\": $ROUNDS}\""));
  }

  @Test
  void shouldPassThePythonToACommand() throws Exception {
    PeerCommands peers =
        new PeerCommands(file, Map.of("marginal", "echo \"{\\\"samplesPerSecond\\\": $PYTHON}\""));

    assertEquals(
        Map.of(Figure.SAMPLES_PER_SECOND, 7.0), peers.measure("marginal", FIGURES, 150, "7"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "{\"mlp\": \"x\"}; found \"mlp\", expected a cell's name or its beginning up to a comma: ",
        "{\"marginal, mlp\": \"x\"}; found \"marginal, mlp\", expected a cell's name or its",
        "{\"marginal\": 3}; \"marginal\": found 3, expected a shell command",
        "{\"marginal\": \" \"}; \"marginal\": found  , expected a shell command",
        "[1]; expected a JSON object: ",
        "{\"marginal\"; expected a JSON object: "
      })
  void shouldNameTheUnexpectedValueOfAFile(String text, String message) {
    String found = assertThrows(IllegalArgumentException.class, () -> read(text)).getMessage();

    assertEquals(
        file + ": " + message, found.substring(0, file.toString().length() + 2 + message.length()));
  }

  @Test
  void shouldNameAFileThatIsNotThere() {
    assertEquals(
        "--peer %s: found no such file".formatted(file),
        assertThrows(IllegalArgumentException.class, () -> PeerCommands.read(file, CELLS))
            .getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '`',
      value = {
        "ready", "{}", "{\"samplesPerSecond\": \"5\"}", "{\"samplesPerSecond\": 0}",
        "{\"seconds\": 5}", "{\"speed\": 5}", "[5]", "``"
      })
  void shouldReportTheOutputOfACommandThatPrintsNoFigures(String printed) {
    String found =
        assertThrows(IllegalStateException.class, () -> measure("printf %s '" + printed + "'"))
            .getMessage();

    assertEquals(
        ("%s: \"marginal\": printed '%s', expected a JSON object of one or more of"
                + " samplesPerSecond, cpuMillisPerRound, each above 0")
            .formatted(file, printed),
        found);
  }

  @Test
  void shouldReportTheExitCodeOfACommandThatFails() {
    assertEquals(
        file + ": \"marginal\": found exit code 3, expected 0",
        assertThrows(IllegalStateException.class, () -> measure("exit 3")).getMessage());
  }

  private Map<Figure, Double> measure(String command) throws Exception {
    return new PeerCommands(file, Map.of("marginal", command))
        .measure("marginal", FIGURES, 150, "");
  }

  private PeerCommands read(String text) throws IOException {
    Files.writeString(file, text);
    return PeerCommands.read(file, CELLS);
  }
}
