package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the keys of strategies in conf/README.md with the code. */
class StrategyKeysTest {

  private static final Path PAGE = Path.of("..", "conf", "README.md");

  /** A row {@code | `strategy.KEY` | `DEFAULT` | `STRATEGY`, `STRATEGY`: meaning |}. */
  private static final Pattern ROW =
      Pattern.compile("\\| `strategy\\.(\\w+)` \\|(?: `([^`]+)`)? \\| ([^:|]+): ");

  @ParameterizedTest
  @ValueSource(
      strings = {"sync", "async", "ssp", "dpsgd", "allreduce", "local", "diloco", "gossip"})
  void shouldListEveryKeyWithADefaultThatIsAccepted(String name) throws IOException {
    JsonObject documented = new JsonObject();
    Matcher row = ROW.matcher(Files.readString(PAGE));
    while (row.find()) {
      if (row.group(3).contains("`" + name + "`")) {
        documented.put(row.group(1), read(row.group(2)));
      }
    }
    StrategyProvider provider = StrategyProviders.named(name, getClass().getClassLoader());

    assertDoesNotThrow(() -> provider.configure(Settings.of("docs", documented)));
    String known = String.join(", ", new TreeSet<>(documented.fieldNames()));
    assertEquals(
        "docs: unheardOfByAnyStrategy is not a known key, expected "
            + (known.isEmpty() ? "none" : "one of " + known),
        assertThrows(
                SettingsException.class,
                () ->
                    provider.configure(
                        Settings.of("docs", JsonObject.of("unheardOfByAnyStrategy", 1))))
            .getMessage());
  }

  private static Object read(String value) {
    if (value == null) {
      return null;
    }
    if (value.matches("true|false")) {
      return Boolean.valueOf(value);
    }
    return value.matches("[\\d.]+") ? Double.valueOf(value) : value;
  }
}
