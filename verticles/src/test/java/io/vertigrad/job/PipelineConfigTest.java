package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

class PipelineConfigTest {

  @Test
  void shouldCountMembersWhenStagesHaveReplicas() {
    JobConfig job = read("{'pipeline': {'cuts': ['a', 'b'], 'replicas': 2}}");
    PipelineConfig pipeline = job.pipeline().orElseThrow();

    assertEquals(3, pipeline.stages());
    assertEquals(6, job.workers().count());
    assertEquals(6, job.workers().minimum());
    assertEquals("allreduce", job.strategy().name());
    assertEquals(1, pipeline.stageOf(4));
    assertEquals(1, pipeline.replicaOf(4));
    assertEquals(4, pipeline.rank(1, 1));
    assertEquals("stage 1 of replica 1", pipeline.name(4));
  }

  @Test
  void shouldReadTheSameAgainWhenItWasResolved() {
    JobConfig job = read("{'pipeline': {'stages': 3}}");

    assertEquals(job.json(), JobConfig.read("again", job.json()).json());
    assertTrue(read("{}").pipeline().isEmpty());
    assertTrue(JobConfig.read("again", read("{}").json()).pipeline().isEmpty());
  }

  @Test
  void shouldReportContradictorySettings() {
    assertRefused("{'pipeline': {'stages': 2, 'cuts': ['a', 'b']}}", "pipeline.stages is 2");
    assertRefused("{'pipeline': {'stages': 2}, 'workers': {'count': 3}}", "workers.count is 3");
    assertRefused(
        "{'pipeline': {'stages': 2}, 'optimizer': {'clipNorm': 1}}", "optimizer.clipNorm cannot");
    assertRefused("{'pipeline': {'stages': 2, 'schedule': 'x'}}", "expected one of 1f1b, gpipe");
  }

  @Test
  void shouldKeepStagesApartWhenPartitionsAreCut() {
    ParameterLayout first = layout("a", 5, 2);
    ParameterLayout second = layout("b", 3, 0);
    ParameterLayout whole =
        new ParameterLayout(
            List.of(first.blocks().get(0), second.blocks().get(0), first.blocks().get(1)));

    List<Partition> partitions =
        PartitionPlan.ofStages(whole, List.of(first, second), 4).partitions();

    assertEquals(
        List.of("0+4 of 0", "4+1 of 0", "5+3 of 1", "8+2 of 0"),
        partitions.stream()
            .map(p -> "%d+%d of %d".formatted(p.first(), p.length(), p.shard()))
            .toList());
  }

  private static ParameterLayout layout(String name, int trainable, int statistics) {
    Block weights = new Block(name + ".W", List.of(trainable), Block.Kind.TRAINABLE);
    return statistics == 0
        ? new ParameterLayout(List.of(weights))
        : new ParameterLayout(
            List.of(weights, new Block(name + ".mean", List.of(statistics), Block.Kind.STATISTIC)));
  }

  private static void assertRefused(String json, String part) {
    SettingsException refused = assertThrows(SettingsException.class, () -> read(json));
    assertTrue(refused.getMessage().contains(part), refused.getMessage());
  }

  private static JobConfig read(String json) {
    return JobConfig.read("test", new JsonObject(json.replace('\'', '"')));
  }
}
