package io.vertigrad.compute;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MetricTest {

  @Test
  void shouldReportTheMetricOfTheLoss() {
    assertEquals("accuracy 95.10 %", Metric.ACCURACY.text(0.2, 95.1, ""));
    assertEquals("accuracy 95.10 % (top 3 99)", Metric.ACCURACY.text(0.2, 95.1, " (top 3 99)"));
    assertEquals("label accuracy 97.25 %", Metric.LABEL_ACCURACY.text(0.1, 97.25, ""));
    assertEquals("RMSE 0.5000", Metric.RMSE.text(0.25, Double.NaN, ""));
    assertEquals("RMSE 1.000e-05", Metric.RMSE.text(1e-10, Double.NaN, ""));
    assertEquals(
        "accuracy 51.20 % (top 3 70), perplexity 4.712",
        Metric.PERPLEXITY.text(Math.log(4.712), 51.2, " (top 3 70)"));
  }

  @Test
  void shouldDependOnLossAndData() {
    assertEquals(Metric.ACCURACY, Metric.of(Loss.CROSS_ENTROPY, false));
    assertEquals(Metric.PERPLEXITY, Metric.of(Loss.CROSS_ENTROPY, true));
    assertEquals(Metric.LABEL_ACCURACY, Metric.of(Loss.BINARY_CROSS_ENTROPY, false));
    assertEquals(Metric.RMSE, Metric.of(Loss.MEAN_SQUARED_ERROR, false));
    for (Metric metric : Metric.values()) {
      assertEquals(metric, Metric.of(metric.key()));
    }
  }

  @Test
  void shouldSumScoresOfOneMetric() {
    Score labels = new Score(2, 1, 3, 0, 6, Metric.LABEL_ACCURACY);

    Score sum = Score.NONE.plus(labels).plus(labels);

    assertEquals(new Score(4, 2, 6, 0, 12, Metric.LABEL_ACCURACY), sum);
    assertEquals(50, sum.accuracy());
    assertEquals(0.5, sum.loss());
    Score values = Score.NONE.plus(new Score(2, 8, 0, 0, 0, Metric.RMSE));
    assertEquals(2, values.metricValue());
    assertTrue(Double.isNaN(values.accuracy()));
    assertEquals(0, values.topAccuracy(), "as in events without a count of the k most probable");
    assertEquals(75, new Score(4, 1, 3).accuracy());
    assertEquals(0, Score.NONE.accuracy());
  }
}
