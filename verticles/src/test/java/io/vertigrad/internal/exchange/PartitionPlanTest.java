package io.vertigrad.internal.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PartitionPlanTest {

  @ParameterizedTest
  @CsvSource({
    "2000, 114432, 1",
    "28608, 114432, 1",
    "28609, 114432, 2",
    "114432, 114432, 4",
    "270000, 114432, 4",
    "407050, 114432, 4",
    "270000, 20000, 14",
    "915456, 114432, 8",
    "2500000, 114432, 22"
  })
  void shouldCutIntoAtLeastFourPartitionsUnlessTheyWouldBeSmall(
      int elements, int most, int expected) {
    List<Partition> cut =
        PartitionPlan.of(QuadraticModel.layout(elements, 0), most, 1).partitions();

    assertEquals(expected, cut.size());
    assertEquals(elements, cut.stream().mapToInt(Partition::length).sum());
  }

  @ParameterizedTest
  @CsvSource({
    "14304, 114432, 1",
    "100000, 114432, 7",
    "272000, 114432, 16",
    "272000, 10000, 28",
    "25000000, 114432, 219"
  })
  void shouldCutSmallerPartitionsWhenGradientsOverlap(int elements, int most, int expected) {
    JsonObject exchange = new JsonObject().put("partitionElements", most).put("overlap", true);
    JobConfig job = JobConfig.read("test", new JsonObject().put("exchange", exchange));

    List<Partition> cut = PartitionPlan.of(job, QuadraticModel.layout(elements, 0)).partitions();

    assertEquals(expected, cut.size());
    assertEquals(elements, cut.stream().mapToInt(Partition::length).sum());
  }

  @Test
  void shouldSeparateStatisticsFromParameters() {
    List<Partition> cut =
        PartitionPlan.of(QuadraticModel.layout(300_000, 9), 114_432, 1).partitions();

    assertEquals(9, cut.get(cut.size() - 1).length());
    assertEquals(300_000, cut.get(cut.size() - 1).first());
  }
}
