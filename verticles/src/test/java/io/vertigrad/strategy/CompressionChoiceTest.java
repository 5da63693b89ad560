package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CompressionChoiceTest {

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "ssp", "allreduce", "diloco", "local", "dpsgd"})
  void shouldRefuseCompressionWhereNoGradientsTravel(String strategy) {
    JobConfig job = job(strategy, "int8");

    StrategyProviders.configure(job, getClass().getClassLoader());

    assertEquals(new Compression(Kind.INT8, 0.01), job.exchange().compression());
    assertEquals("int8", job.exchange().encoding());
  }

  @ParameterizedTest
  @CsvSource({"gossip, topk", "gossip, int8"})
  void shouldNameTheKeyWhereParametersAreSwapped(String strategy, String compression) {
    JobConfig job = job(strategy, compression);

    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () -> StrategyProviders.configure(job, getClass().getClassLoader()));

    assertEquals(
        ("job.json: exchange.compression is \"%s\", expected \"none\" with strategy %s: its workers"
                + " exchange parameters, and only gradients are compressed; set exchange.type to"
                + " float16 or bfloat16")
            .formatted(compression, strategy),
        refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "diloco | none | strategy.name is \"diloco\" with a pipeline, expected \"allreduce\" or \"local\"",
        "local | int8 | exchange.compression is \"int8\" with strategy local in a pipeline, expected"
            + " \"none\""
      })
  void shouldRefuseAPipelineWhoseStagesWouldLoseState(
      String strategy, String compression, String expected) {
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject()
                .put("strategy", new JsonObject().put("name", strategy))
                .put("workers", new JsonObject().put("count", 2))
                .put("pipeline", new JsonObject().put("stages", 2))
                .put("exchange", new JsonObject().put("compression", compression)));

    assertEquals(
        "job.json: " + expected,
        assertThrows(
                SettingsException.class,
                () -> StrategyProviders.configure(job, getClass().getClassLoader()))
            .getMessage());
  }

  @Test
  void shouldNameTheKeyWhenTheShareSavesNothing() {
    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () ->
                JobConfig.read(
                    "job.json",
                    new JsonObject().put("exchange", new JsonObject().put("topShare", 0.6))));

    assertEquals(true, refused.getMessage().contains("exchange.topShare"), refused.getMessage());
  }

  private static JobConfig job(String strategy, String compression) {
    return JobConfig.read(
        "job.json",
        new JsonObject()
            .put("strategy", new JsonObject().put("name", strategy))
            .put("exchange", new JsonObject().put("compression", compression)));
  }
}
