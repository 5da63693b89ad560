package io.vertigrad.benchmarks.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class BenchmarkTableTest {

  private static final BenchmarkRow RAW =
      BenchmarkRow.of("raw", "MB/s", new Repetitions(new double[] {4000, 2000, 3000}));

  @Test
  void shouldAlignColumnsWhenNamesDifferInLength() {
    BenchmarkRow ours =
        BenchmarkRow.of("a longer name", "MB/s", new Repetitions(new double[] {1500})).over(RAW);

    String[] lines =
        new BenchmarkTable(List.of(RAW, ours)).toString().split(System.lineSeparator());

    assertEquals("what           unit  median    min    max  n  ratio  over  aim", lines[0]);
    assertEquals("raw            MB/s   3,000  2,000  4,000  3", lines[1]);
    assertEquals("a longer name  MB/s   1,500  1,500  1,500  1  0.500  raw", lines[2]);
  }

  @Test
  void shouldKeepThreeDigitsWhenFiguresAreSmall() {
    assertEquals("0.0421", BenchmarkTable.number(0.04213));
    assertEquals("1.23", BenchmarkTable.number(1.2345));
    assertEquals("12.3", BenchmarkTable.number(12.345));
    assertEquals("123,457", BenchmarkTable.number(123456.7));
  }

  @Test
  void shouldCarryEveryFigureWhenWrittenAsJson() {
    var json = RAW.withAim("more").toJson();

    assertEquals(3, json.getInteger("repetitions"));
    assertEquals(3000, json.getDouble("median"));
    assertEquals(2000, json.getDouble("min"));
    assertEquals(4000, json.getDouble("max"));
    assertEquals("more", json.getString("aim"));
    assertTrue(!json.containsKey("ratio"));
  }
}
