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

/** Compares the settings tables of docs/guide/strategies.md with the code. */
class StrategiesPageTest {

  private static final Path PAGE = Path.of("..", "docs", "guide", "strategies.md");
  private static final Pattern ROW =
      Pattern.compile("\\| `(\\w+)` \\| [^|]+ \\| [^|]+ \\| `([^`]+)` \\|");

  @ParameterizedTest
  @ValueSource(
      strings = {"sync", "async", "ssp", "dpsgd", "allreduce", "local", "diloco", "gossip"})
  void shouldListEveryKeyWithADefaultThatIsAccepted(String name) throws IOException {
    JsonObject documented = new JsonObject();
    Matcher row = ROW.matcher(section(name));
    while (row.find()) {
      String value = row.group(2);
      documented.put(row.group(1), read(value));
    }
    StrategyProvider provider = StrategyProviders.named(name, getClass().getClassLoader());

    assertDoesNotThrow(() -> provider.configure(Settings.of("docs", documented)));
    assertEquals(
        "docs: unheardOfByAnyStrategy is not a known key, expected one of "
            + String.join(", ", new TreeSet<>(documented.fieldNames())),
        assertThrows(
                SettingsException.class,
                () ->
                    provider.configure(
                        Settings.of("docs", JsonObject.of("unheardOfByAnyStrategy", 1))))
            .getMessage());
  }

  private static Object read(String value) {
    if (value.equals("null")) {
      return null;
    }
    if (value.matches("true|false")) {
      return Boolean.valueOf(value);
    }
    return value.matches("[\\d.]+") ? Double.valueOf(value) : value;
  }

  private static String section(String name) throws IOException {
    String page = Files.readString(PAGE);
    int start = page.indexOf("\n## " + name + "\n");
    return page.substring(start, page.indexOf("\n## ", start + 1));
  }
}
