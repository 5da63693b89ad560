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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Compares the tables of keys in docs/guide/own-data.md with the code. */
class DocumentedKeysTest {

  private static final Path PAGE = Path.of("..", "docs", "guide", "own-data.md");

  private static final String ROBUST = "`robust`";

  /** A row {@code | `strategy.KEY` | `DEFAULT` | `RULE`, `RULE`: meaning |}. */
  private static final Pattern ROW =
      Pattern.compile("\\| `strategy\\.(\\w+)` \\|(?: `([^`]+)`)? \\| (?:((?:`\\w+`(?:, )?)+): )?");

  /**
   * A documented key.
   *
   * @param name of the key, without its section
   * @param usual its default; empty if there is none
   * @param rules that it is for, each in accents; empty for all
   */
  private record Key(String name, Optional<Object> usual, String rules) {

    private static Key of(MatchResult row) {
      return new Key(
          row.group(1),
          Optional.ofNullable(row.group(2)).map(Key::value),
          Optional.ofNullable(row.group(3)).orElse(""));
    }

    private static Object value(String text) {
      if (text.matches("true|false")) {
        return Boolean.valueOf(text);
      }
      return text.matches("[\\d.]+") ? Double.valueOf(text) : text;
    }
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void shouldAcceptTheDefaultsWhenTheRuleIsNamed(Rule rule) throws IOException {
    // Both are the defaults of the other strategy.
    JsonObject section = JsonObject.of("reduction", "mean", "liars", 0);
    for (Key key : ofFederated()) {
      if (key.rules().isEmpty() || key.rules().contains("`" + rule.key() + "`")) {
        key.usual()
            .filter(usual -> !section.containsKey(key.name()))
            .ifPresent(usual -> section.put(key.name(), usual));
      }
    }
    section.put("rule", rule.key());

    assertDoesNotThrow(() -> configure(new FederatedProvider(), section));
  }

  @Test
  void shouldAcceptTheDefaultsWhenGradientsAreCombined() throws IOException {
    JsonObject section = new JsonObject();
    for (Key key : keys("Of `robust`, and of both")) {
      key.usual().ifPresent(usual -> section.put(key.name(), usual));
    }

    assertTrue(section.containsKey("momentum"), section.encode());
    assertDoesNotThrow(() -> configure(new RobustStrategy(), section));
  }

  @Test
  void shouldListExactlyTheKnownKeysWhenAKeyIsUnknown() throws IOException {
    assertEquals(names(ofFederated()), known(new FederatedProvider()), "federated");
    assertEquals(names(keys("Of `robust`, and of both")), known(new RobustStrategy()), "robust");
  }

  private static List<Key> ofFederated() throws IOException {
    List<Key> keys = new ArrayList<>(keys("Of `federated`"));
    keys.addAll(keys("Of `robust`, and of both"));
    keys.removeIf(key -> key.rules().equals(ROBUST));
    return keys;
  }

  /** Returns the keys of the table below a heading. */
  private static List<Key> keys(String heading) throws IOException {
    String page = Files.readString(PAGE);
    String table = page.split("(?m)^### " + Pattern.quote(heading) + "$", 2)[1];
    return ROW.matcher(table.split("(?m)^#", 2)[0]).results().map(Key::of).toList();
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
