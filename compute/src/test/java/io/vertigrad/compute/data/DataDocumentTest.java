package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class DataDocumentTest {

  private static final Path DOCUMENT = Path.of("..", "docs", "guide", "data.md");
  private static final String UNHEARD_OF = "q-0-q-0-q-0-q-0";
  private static final Pattern SECTION = Pattern.compile("(?m)^## `(.+)`$([\\s\\S]*?)(?=^## |\\z)");
  private static final Path KEYS = Path.of("..", "conf", "README.md");

  /** A row {@code | `data.OPTION` | default | `DATASET`, `DATASET`: meaning |}. */
  private static final Pattern OPTION =
      Pattern.compile("(?m)^\\| `data\\.(\\w+)` \\| [^|]*\\| ([^:|]+): ");

  private static final String SIZES = "[`%s`](#%<s), generated | %,d + %,d |";

  @Test
  void shouldDocumentEveryDataSetWithExactlyItsOptions() throws IOException {
    Map<String, Set<String>> expected = new TreeMap<>();
    for (DatasetProvider provider : ServiceLoader.load(DatasetProvider.class)) {
      expected.put(provider.name(), options(provider));
    }
    String keys = Files.readString(KEYS);
    Map<String, Set<String>> described = new TreeMap<>();
    sections().forEach((name, text) -> described.put(name, rows(keys, name)));

    assertEquals(expected, described);
  }

  @Test
  void shouldDocumentNormalisationLicenceAndErrorsOfEachDataSet() throws IOException {
    sections()
        .forEach(
            (name, text) -> {
              for (String topic : new String[] {"Normalisation: ", "Licence: ", "Errors"}) {
                assertTrue(text.contains(topic), "%s lacks \"%s\"".formatted(name, topic));
              }
            });
  }

  @Test
  @Tag("slow")
  void shouldStateTheDefaultSizesOfGeneratedDataSets() throws IOException {
    for (String name : new String[] {"digits", "shapes"}) {
      int train = open(name, Split.TRAIN).size();
      String row = SIZES.formatted(name, train, open(name, Split.TEST).size());
      assertTrue(Files.readString(DOCUMENT).contains(row), row);
    }
  }

  private static Map<String, String> sections() throws IOException {
    return SECTION
        .matcher(Files.readString(DOCUMENT))
        .results()
        .collect(Collectors.toMap(match -> match.group(1), match -> match.group(2)));
  }

  /** Returns the options whose rows name the data set. */
  private static Set<String> rows(String keys, String name) {
    return OPTION
        .matcher(keys)
        .results()
        .filter(row -> row.group(2).contains("`" + name + "`"))
        .map(row -> row.group(1))
        .collect(sorted());
  }

  /** Returns the options that the provider lists as expected when it gets an unknown one. */
  private static Set<String> options(DatasetProvider provider) {
    DataConfig config = config(provider.name(), Map.of(UNHEARD_OF, 1));
    String message =
        assertThrows(SettingsException.class, () -> provider.open(config, Split.TEST)).getMessage();
    String list = message.substring(message.indexOf("one of ") + "one of ".length());
    return Set.of(list.split(", ")).stream().collect(sorted());
  }

  private static Dataset open(String name, Split split) {
    ClassLoader loader = DataDocumentTest.class.getClassLoader();
    return DatasetProvider.open(config(name, Map.of()), split, loader);
  }

  private static DataConfig config(String name, Map<String, Object> options) {
    return new DataConfig(name, Optional.empty(), Optional.empty(), options);
  }

  private static Collector<String, ?, Set<String>> sorted() {
    return Collectors.toCollection(TreeSet::new);
  }
}
