package io.vertigrad.examples.ownmodel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SpiralsTest {

  private static final String JOB = "own-model-and-data/spirals.json";

  @Test
  void shouldPlacePointsOnTheirArmWithoutNoise() {
    Spirals spirals = Spirals.draw(100, 3, 1, 0, new SplitMix64(5));
    float[] point = new float[2];

    for (int i = 0; i < spirals.size(); i++) {
      spirals.read(i, point, 0);
      double turn = Math.atan2(point[1], point[0]) / (2 * Math.PI);
      double arm = 3 * (turn - Math.hypot(point[0], point[1]));
      assertEquals(spirals.label(i), Math.floorMod(Math.round(arm), 3));
    }
  }

  @Test
  void shouldBuildTheNetworkThatTheJobFileNames() throws Exception {
    JobConfig job = JobConfig.read(JOB, new JsonObject(Files.readString(Path.of(JOB))));
    Dataset test = DatasetProvider.open(job.data(), Split.TEST, getClass().getClassLoader());

    try (Model model = Engine.named("dl4j").model(job.modelOn(test))) {
      int expected = (2 * 32 + 32) + (32 * 32 + 32) + (32 * 3 + 3);
      assertEquals(expected, model.layout().length());
    }
  }

  @Test
  void shouldRefuseAnOptionItDoesNotKnow() {
    DataConfig config =
        new DataConfig("spirals", Optional.empty(), Optional.empty(), Map.of("arm", 4));

    SettingsException refused =
        assertThrows(
            SettingsException.class, () -> new SpiralsProvider().open(config, Split.TRAIN));

    assertEquals(
        "data set 'spirals': arm is not a known key, did you mean \"arms\"?", refused.getMessage());
  }
}
