package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NormalisationTest {

  private static final List<Normalisation> CHANNELS = Normalisation.CIFAR10;
  private static final int PLANE = 32 * 32;

  @ParameterizedTest
  @ValueSource(strings = {"digits", "shapes"})
  void shouldUseTheDataSetsNormalisationWhenNoneOrStandardIsConfigured(String name) {
    float[] silent = sample(name, Map.of());

    assertArrayEquals(silent, sample(name, Map.of("normalization", "standard")), 0);
  }

  @Test
  void shouldMatchToTensorWhenNormalisationIsUnit() {
    float[] table = one("unit").get(2).table();

    assertEquals(0, table[0], 0);
    assertEquals(84 / 255f, table[84], 0);
    assertEquals(1, table[255], 0);
  }

  @Test
  void shouldReturnBytesAsNumbersWhenNormalisationIsRaw() {
    for (Normalisation channel : one("raw")) {
      float[] table = channel.table();
      for (int value = 0; value < table.length; value++) {
        assertEquals(value, table[value], 0);
      }
    }
  }

  @Test
  void shouldEqualTheStandardNormalisationWhenItsNumbersAreGiven() {
    JsonObject given =
        new JsonObject()
            .put("mean", new JsonArray(List.of(0.4914, 0.4822, 0.4465)))
            .put("deviation", new JsonArray(List.of(0.2023, 0.1994, 0.2010)));

    assertEquals(CHANNELS, one(given));
    assertArrayEquals(
        sample("shapes", Map.of()), sample("shapes", Map.of("normalization", given)), 0);
  }

  @Test
  void shouldUseOneNumberForAllChannelsWhenItIsNoList() {
    JsonObject given = new JsonObject().put("mean", 0.5).put("deviation", List.of(0.25));
    float[] unit = sample("shapes", Map.of("normalization", "unit"));
    float[] found = sample("shapes", Map.of("normalization", given));

    for (int i = 0; i < unit.length; i++) {
      assertEquals((unit[i] - 0.5f) / 0.25f, found[i], 0);
    }
  }

  @Test
  void shouldPadWithNormalisedBlackForAnyNormalisation() {
    JsonObject given = new JsonObject().put("mean", List.of(0.5, 0, 0.1)).put("deviation", 0.25);

    assertArrayEquals(new float[] {0, 0, 0}, corners("unit"), 0);
    assertArrayEquals(new float[] {0, 0, 0}, corners("raw"), 0);
    assertArrayEquals(new float[] {-2, 0, -0.1f / 0.25f}, corners(given), 0);
  }

  @Test
  void shouldReportTheExpectedValuesWhenANormalisationIsUnknown() {
    String where = "data set 'shapes': normalization";

    assertEquals(where + " is \"unti\", expected one of standard, unit, raw", refusal("unti"));
    assertEquals(where + " is 3, expected a string", refusal(3));
    assertEquals(
        where + ".deviation is missing, expected a number or a list of numbers",
        refusal(new JsonObject().put("mean", 0.5)));
    assertEquals(
        where + ".mean has 2 numbers, expected one for all channels or 3, one for each",
        refusal(new JsonObject().put("mean", List.of(1, 2)).put("deviation", 1)));
    assertEquals(
        where + ".deviation has 0.0, expected numbers above 0",
        refusal(new JsonObject().put("mean", 0).put("deviation", List.of(1, 0, 1))));
    assertEquals(
        where + ".mean[1] is a, expected a number",
        refusal(new JsonObject().put("mean", List.of(1, "a", 1)).put("deviation", 1))
            .replace("\"", ""));
    assertEquals(
        where + ".std is not a known key, expected one of deviation, mean",
        refusal(new JsonObject().put("mean", 0).put("deviation", 1).put("std", 1)));
  }

  /** Returns the padding of each channel, read from the upper left corner of a shifted image. */
  private static float[] corners(Object normalization) {
    DataConfig config =
        config("shapes", Map.of("normalization", normalization, "augmentation", "pad-crop-flip"));
    Dataset shapes = open(config);
    float[] image = Fingerprint.sample(shapes, 0);
    Augmentations.of(config, shapes).apply(image, 0, shapes.shape(), shiftedDownAndRight());
    return new float[] {image[0], image[PLANE], image[2 * PLANE]};
  }

  /** Returns a generator whose first crop shows padding in the upper left corner, not mirrored. */
  private static SplitMix64 shiftedDownAndRight() {
    for (int seed = 0; ; seed++) {
      SplitMix64 tried = new SplitMix64(seed);
      if (tried.below(9) < 4 && tried.below(9) < 4 && tried.below(2) == 0) {
        return new SplitMix64(seed);
      }
    }
  }

  private static List<Normalisation> one(Object normalization) {
    return Normalisation.of(
        config("shapes", Map.of("normalization", normalization)).settings(), CHANNELS);
  }

  private static String refusal(Object normalization) {
    return assertThrows(
            SettingsException.class, () -> sample("shapes", Map.of("normalization", normalization)))
        .getMessage();
  }

  private static float[] sample(String name, Map<String, Object> options) {
    return Fingerprint.sample(open(config(name, options)), 0);
  }

  private static Dataset open(DataConfig config) {
    return DatasetProvider.open(config, Split.TEST, NormalisationTest.class.getClassLoader());
  }

  private static DataConfig config(String name, Map<String, Object> options) {
    Map<String, Object> all = new java.util.TreeMap<>(options);
    all.put("test", 1);
    return new DataConfig(name, Optional.empty(), Optional.empty(), all);
  }
}
