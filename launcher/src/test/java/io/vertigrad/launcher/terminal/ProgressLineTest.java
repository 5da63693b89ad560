package io.vertigrad.launcher.terminal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.terminal.ProgressLine.Figure;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ProgressLineTest {

  private static final List<Figure> FIGURES =
      List.of(
          Figure.of("0:07 left"),
          Figure.of("epoch 3"),
          new Figure("mean 6,299 samples/s", "6,299/s"),
          Figure.of("loss 0.117"),
          new Figure("accuracy 95.4 %", "acc 95.4 %"),
          new Figure("staleness 0.0", "stale 0.0"));

  private final ProgressLine line = new ProgressLine(375, 600, FIGURES);

  @Test
  void shouldShowABarWhereThereIsRoom() {
    String drawn = line.fitted(120);

    assertTrue(drawn.startsWith(" 62 % |"), drawn);
    assertTrue(
        drawn.endsWith(
            "| 375/600, 0:07 left, epoch 3, mean 6,299 samples/s, loss 0.117, accuracy 95.4 %,"
                + " staleness 0.0"),
        drawn);
  }

  @Test
  void shouldKeepEveryFigureAtEightyColumns() {
    assertEquals(
        " 62 % 375/600, 0:07 left, epoch 3, 6,299/s, loss 0.117, acc 95.4 %, stale 0.0",
        line.fitted(80));
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 40, 60, 79, 80, 81, 100, 118, 119, 120, 121, 200})
  void shouldNeverBeLongerThanTheTerminalIsWide(int columns) {
    ProgressLine long1 = new ProgressLine(62_500, 62_500, FIGURES);

    assertTrue(line.fitted(columns).length() < columns, line.fitted(columns));
    assertTrue(long1.fitted(columns).length() < columns, long1.fitted(columns));
    assertTrue(line.fitted(columns).contains("375/600"), line.fitted(columns));
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "600, 100"})
  void shouldDrawAnEmptyBarAtTheStartAndAFullOneAtTheEnd(long step, int percent) {
    String drawn = new ProgressLine(step, 600, List.of(Figure.of("epoch 0"))).fitted(80);
    String bar = drawn.substring(drawn.indexOf('|') + 1, drawn.lastIndexOf('|'));

    assertEquals(percent, Integer.parseInt(drawn.substring(0, 3).strip()));
    assertEquals(1, bar.chars().distinct().count(), drawn);
    assertEquals(step == 0, bar.isBlank(), drawn);
  }
}
