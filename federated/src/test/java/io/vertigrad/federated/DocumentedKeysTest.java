package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.federated.FederatedConfig.Rule;
import io.vertigrad.strategy.StrategyProvider;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Compares the table of keys in docs/guide/own-data.md with the code. */
class DocumentedKeysTest {

  private static final Path PAGE = Path.of("..", "docs", "guide", "own-data.md");

  private static final String NEIGHBOURS = "`clippedGossip`";

  /** A row {@code | `strategy.KEY` | `DEFAULT` | `NAME`, `NAME`: meaning |}. */
  private static final Pattern ROW =
      Pattern.compile(
          "\\| `strategy\\.(\\w+)` \\|(?: `([^`]+)`)? \\| (?:((?:`\\w+`(?:, )?)+): )?"
              + "(?:.*; also of (`\\w+`): )?");

  /**
   * A documented key.
   *
   * @param name of the key, without its section
   * @param usual its default; empty if there is none
   * @param users strategy or rules that have it, each in accents; empty for the strategies with
   *     servers
   * @param also one more strategy that has it, in accents; empty if none
   */
  private record Key(String name, Optional<Object> usual, String users, String also) {

    private static Key of(MatchResult row) {
      return new Key(
          row.group(1),
          Optional.ofNullable(row.group(2)).map(Key::value),
          Optional.ofNullable(row.group(3)).orElse(""),
          Optional.ofNullable(row.group(4)).orElse(""));
    }

    private static Object value(String text) {
      if (text.matches("true|false")) {
        return Boolean.valueOf(text);
      }
      return text.matches("[\\d.]+") ? Double.valueOf(text) : text;
    }

    private boolean isOfNeighbours() {
      return users.equals(NEIGHBOURS) || also.equals(NEIGHBOURS);
    }

    private boolean isOf(String... names) {
      return users.isEmpty() || Stream.of(names).anyMatch(user -> users.contains("`" + user + "`"));
    }
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void shouldAcceptTheDefaultsWhenTheRuleIsNamed(Rule rule) throws IOException {
    JsonObject section = new JsonObject();
    for (Key key : keys()) {
      if (key.isOf("federated", rule.key())) {
        key.usual().ifPresent(usual -> section.put(key.name(), usual));
      }
    }
    // The page says that these defaults are of the other strategy.
    section.put("rule", rule.key()).put("reduction", "mean").put("liars", 0);

    assertDoesNotThrow(() -> configure(new FederatedProvider(), section));
  }

  @Test
  void shouldAcceptTheDefaultsWhenGradientsAreCombined() throws IOException {
    JsonObject section = new JsonObject();
    for (Key key : keys()) {
      if (key.isOf("robust")) {
        key.usual().ifPresent(usual -> section.put(key.name(), usual));
      }
    }

    assertTrue(section.containsKey("momentum"), section.encode());
    assertDoesNotThrow(() -> configure(new RobustStrategy(), section));
  }

  @Test
  void shouldAcceptTheDefaultsWhenThereAreNoServers() throws IOException {
    JsonObject section = new JsonObject();
    for (Key key : keys()) {
      if (key.isOfNeighbours()) {
        key.usual().ifPresent(usual -> section.put(key.name(), usual));
      }
    }

    assertEquals(3, section.size(), section::encode);
    assertDoesNotThrow(() -> configure(new ClippedGossip.Provider(), section));
  }

  @Test
  void shouldListExactlyTheKnownKeysWhenAKeyIsUnknown() throws IOException {
    List<Key> robust = keys().stream().filter(key -> key.isOf("robust")).toList();
    List<Key> gossip = keys().stream().filter(key -> key.isOfNeighbours()).toList();
    List<Key> federated =
        keys().stream()
            .filter(key -> !Set.of("`robust`", NEIGHBOURS).contains(key.users()))
            .toList();

    assertEquals(names(federated), known(new FederatedProvider()));
    assertEquals(names(robust), known(new RobustStrategy()));
    assertEquals(names(gossip), known(new ClippedGossip.Provider()));
  }

  private static List<Key> keys() throws IOException {
    String section = Files.readString(PAGE).split("(?m)^## Keys$", 2)[1];
    return ROW.matcher(section).results().map(Key::of).toList();
  }

  private static String names(List<Key> keys) {
    return String.join(", ", new TreeSet<>(keys.stream().map(Key::name).toList()));
  }

  private static String known(StrategyProvider provider) {
    return assertThrows(
            SettingsException.class,
            () -> configure(provider, JsonObject.of("unheardOfByAnyStrategy", 1)))
        .getMessage()
        .replaceFirst(".* expected one of ", "");
  }

  private static void configure(StrategyProvider provider, JsonObject section) {
    provider.configure(Settings.of("docs", section));
  }
}
