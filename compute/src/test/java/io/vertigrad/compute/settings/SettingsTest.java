package io.vertigrad.compute.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class SettingsTest {

  private static final String JOB =
      """
      {
        "job": "mnist", "blank": " ", "workers": 2, "whole": 3.0, "half": 0.5, "big": 1e300,
        "dashboard": false, "nothing": null, "layers": [1, 2.5], "mixed": [1, "x"],
        "names": ["a", "b"], "numbered": ["a", 7], "holes": ["a", null],
        "server": {"learningRate": 0.01, "shards": 99}
      }
      """;

  private final Settings settings = Settings.of("job.json", new JsonObject(JOB));

  @Test
  void shouldReturnTheWrittenValueWhenTheTypeFits() {
    assertEquals("mnist", settings.string("job", "other"));
    assertEquals("mnist", settings.requiredString("job"));
    assertEquals(Optional.of("mnist"), settings.optionalString("job"));
    assertEquals("mnist", settings.choice("job", "cifar", "cifar", "mnist"));
    assertEquals(2, settings.integer("workers", 1, 1, 2));
    assertEquals(3, settings.longInteger("whole", 1, 1, 1L << 40));
    assertEquals(0.5, settings.number("half", 1, 0.5, 1));
    assertEquals(2.0, settings.number("workers", 1, 0, 9));
    assertFalse(settings.flag("dashboard", true));
    assertEquals(List.of(1.0, 2.5), settings.numbers("layers", List.of()));
    assertEquals(List.of("a", "b"), settings.textList("names", List.of()));
    assertEquals(0.01, settings.section("server").number("learningRate", 1, 0, 1));
    assertEquals(List.of(1.0, 2.5), settings.oneOrMoreNumbers("layers"));
    assertEquals(List.of(0.5), settings.oneOrMoreNumbers("half"));
    assertTrue(settings.has("job"));
    assertTrue(settings.isSection("server"));
    assertFalse(settings.isSection("job"));
    assertFalse(settings.isSection("nothing"));
  }

  @Test
  void shouldReturnTheDefaultWhenAbsentOrNull() {
    for (String key : List.of("absent", "nothing")) {
      assertEquals("other", settings.string(key, "other"));
      assertEquals(Optional.empty(), settings.optionalString(key));
      assertEquals("cifar", settings.choice(key, "cifar", "cifar", "mnist"));
      assertEquals(7, settings.integer(key, 7, 1, 9));
      assertEquals(-1, settings.longInteger(key, -1, 0, 9));
      assertEquals(0.25, settings.number(key, 0.25, 0, 1));
      assertTrue(settings.flag(key, true));
      assertEquals(List.of(4.0), settings.numbers(key, List.of(4.0)));
      assertEquals(List.of("z"), settings.textList(key, List.of("z")));
      assertEquals(new JsonObject(), settings.section(key).toJson());
      assertFalse(settings.has(key));
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource
  void shouldReportThePlaceAndTheValueOfARefusal(String expected, Consumer<Settings> reading) {
    SettingsException error = assertThrows(SettingsException.class, () -> reading.accept(settings));

    assertEquals("job.json: " + expected, error.getMessage());
  }

  static Stream<Arguments> shouldReportThePlaceAndTheValueOfARefusal() {
    return Stream.of(
        refused("workers is 2, expected a string", s -> s.string("workers", "")),
        refused("absent is missing, expected a string", s -> s.requiredString("absent")),
        refused(
            "blank is \" \", expected a string that is not blank", s -> s.requiredString("blank")),
        refused(
            "blank is \" \", expected a string that is not blank", s -> s.optionalString("blank")),
        refused("job is \"mnist\", expected one of a, b", s -> s.choice("job", "a", "a", "b")),
        refused("absent is missing, expected one of a", s -> s.choice("absent", null, "a")),
        refused(
            "workers is 2, expected a whole number from 3 to 9",
            s -> s.integer("workers", 3, 3, 9)),
        refused(
            "half is 0.5, expected a whole number from 0 to 9", s -> s.integer("half", 0, 0, 9)),
        refused(
            "big is 1.0E300, expected a whole number from 0 to 9223372036854775807",
            s -> s.longInteger("big", 0, 0, Long.MAX_VALUE)),
        refused(
            "job is \"mnist\", expected a whole number from 0 to 9",
            s -> s.integer("job", 0, 0, 9)),
        refused("half is 0.5, expected a number from 0.6 to 1.0", s -> s.number("half", 1, 0.6, 1)),
        refused(
            "job is \"mnist\", expected a number from 0.0 to 1.0", s -> s.number("job", 0, 0, 1)),
        refused("workers is 2, expected true or false", s -> s.flag("workers", true)),
        refused("job is \"mnist\", expected a list of numbers", s -> s.numbers("job", null)),
        refused("mixed[1] is \"x\", expected a number", s -> s.numbers("mixed", null)),
        refused("job is \"mnist\", expected a list of strings", s -> s.textList("job", null)),
        refused("numbered[1] is 7, expected a string", s -> s.textList("numbered", null)),
        refused("holes[1] is null, expected a string", s -> s.textList("holes", null)),
        refused("workers is 2, expected an object { ... }", s -> s.section("workers")),
        refused(
            "server.shards is 99, expected a whole number from 1 to 64",
            s -> s.section("server").integer("shards", 1, 1, 64)));
  }

  @Test
  void shouldRefuseNumbersThatAreNotFiniteWhenTheFileCanSpellThem() {
    Settings yaml =
        Settings.of(
            "job.yaml",
            new JsonObject(Map.of("rate", Double.NaN, "rates", List.of(Double.POSITIVE_INFINITY))));

    assertRefused(
        "job.yaml: rate is NaN, expected a number from 0.0 to Infinity",
        () -> yaml.number("rate", 0, 0, Double.POSITIVE_INFINITY));
    assertRefused(
        "job.yaml: rate is NaN, expected a whole number from 0 to 9",
        () -> yaml.integer("rate", 0, 0, 9));
    assertRefused(
        "job.yaml: rates[0] is Infinity, expected a number", () -> yaml.numbers("rates", null));
  }

  @Test
  void shouldShowOnlyTheHeadWhenARefusedValueIsLong() {
    Settings long1 = Settings.of("f", new JsonObject().put("key", "x".repeat(500)));

    assertRefused(
        "f: key is \"" + "x".repeat(79) + "..., expected true or false",
        () -> long1.flag("key", true));
  }

  @Test
  void shouldSuggestTheNearestKeyWhenOneIsMistyped() {
    Settings section = Settings.of("job.json", new JsonObject().put("learningrate", 1));
    section.number("learningRate", 0, 0, 1);
    section.number("momentum", 0, 0, 1);

    assertRefused(
        "job.json: learningrate is not a known key, did you mean \"learningRate\"?",
        section::refuseUnknown);
  }

  @Test
  void shouldListTheKnownKeysWhenNoneIsNear() {
    JsonObject root = new JsonObject().put("server", new JsonObject().put("banana", 1));
    Settings section = Settings.of("job.json", root).section("server");

    assertRefused(
        "job.json: server.banana is not a known key, expected none", section::refuseUnknown);
    section.has("shards");
    section.flag("clip", false);
    assertRefused(
        "job.json: server.banana is not a known key, expected one of clip, shards",
        section::refuseUnknown);
  }

  @Test
  void shouldPassWhenEveryKeyWasAskedFor() {
    Settings all = Settings.of("f", new JsonObject().put("a", 1).putNull("b"));
    all.integer("a", 0, 0, 9);
    all.has("b");

    all.refuseUnknown();

    assertEquals(
        "f: a and b exclude each other", all.refuse("a", "and b exclude each other").getMessage());
  }

  @Test
  void shouldReturnACopyOfTheRecord() {
    settings.toJson().put("job", "changed");

    assertEquals("mnist", settings.string("job", null));
  }

  @ParameterizedTest
  @CsvSource({
    "setps, steps",
    "learningrate, learningRate",
    "optimiser, optimizer",
    "wrokers, workers",
    "see, seed",
    "xyz, ",
    "st, ",
    "'', ",
    "stepsstepssteps, ",
    "batc, batch",
    "tarch, batch",
    "learning, "
  })
  void shouldSuggestNamesWithinAFewEdits(String typed, String expected) {
    List<String> known = List.of("batch", "learningRate", "optimizer", "seed", "steps", "workers");

    assertEquals(Optional.ofNullable(expected), NearestKey.of(typed, "", known));
  }

  private static Arguments refused(String expected, Consumer<Settings> reading) {
    return arguments(expected, reading);
  }

  private static void assertRefused(String message, Runnable reading) {
    assertEquals(message, assertThrows(SettingsException.class, reading::run).getMessage());
  }

  @Test
  void shouldResolveToWrittenValuesAndDefaults() {
    Settings root =
        Settings.of("job.json", new JsonObject("{\"steps\": 7, \"workers\": {\"batch\": 64}}"));
    root.integer("steps", 200, 1, 1000);
    root.string("engine", "dl4j");
    root.string("directory", null);
    root.section("workers").integer("batch", 128, 1, 1000);
    root.section("cluster").textList("members", List.of("a", "b"));

    assertEquals(
        new JsonObject(
            "{\"steps\": 7, \"engine\": \"dl4j\", \"workers\": {\"batch\": 64},"
                + " \"cluster\": {\"members\": [\"a\", \"b\"]}}"),
        root.resolved());
  }

  @Test
  void shouldKeepTheDefaultsOfASectionThatIsReadAgain() {
    Settings root = Settings.of("job.json", new JsonObject());
    root.section("workers").integer("batch", 128, 1, 1000);

    root.section("workers").integer("count", 2, 1, 9);

    assertEquals(new JsonObject("{\"workers\": {\"batch\": 128, \"count\": 2}}"), root.resolved());
  }

  @Test
  void shouldKnowTheTraitsOfEveryKeyThatWasRead() {
    Settings root = Settings.of("job.json", new JsonObject("{\"a\": 1, \"in\": {\"x\": 1}}"));
    root.with(KeyTrait.AGREED).integer("a", 0, 0, 9);
    root.integer("b", 0, 0, 9);
    Settings in = root.with(KeyTrait.AGREED).section("in");
    in.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE).string("path", "");

    assertEquals(List.of("a", "b", "in.path"), root.keys());
    assertEquals(Set.of(KeyTrait.AGREED), root.traits("a"));
    assertEquals(Set.of(), root.traits("b"));
    assertEquals(Set.of(KeyTrait.LOCAL, KeyTrait.CHANGEABLE), root.traits("in.path"));
    // A key that only a data set, a model or a strategy reads has the traits of its section.
    assertEquals(Set.of(KeyTrait.AGREED), root.traits("in.x"));
    assertEquals(Set.of(KeyTrait.AGREED), root.traits("in.deeper.y"));
  }

  @Test
  void shouldKeepTraitsWhenASectionIsReadAgain() {
    Settings root = Settings.of("job.json", new JsonObject());
    root.with(KeyTrait.AGREED).section("in");
    root.section("in");

    assertEquals(Set.of(KeyTrait.AGREED), root.traits("in.x"));
  }
}
