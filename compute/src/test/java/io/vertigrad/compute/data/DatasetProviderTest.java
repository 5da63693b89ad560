package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DatasetProvider.Split;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DatasetProviderTest {

  private static final ClassLoader LOADER = DatasetProviderTest.class.getClassLoader();

  @Test
  void shouldOpenARegisteredDataSetWhenNamed() {
    Dataset digits = DatasetProvider.open(named("digits", Map.of("test", 5)), Split.TEST, LOADER);

    assertEquals(5, digits.size());
  }

  @Test
  void shouldListTheRegisteredNamesWhenTheNameIsUnknown() {
    String message =
        assertThrows(
                DataException.class,
                () -> DatasetProvider.open(named("emnist", Map.of()), Split.TRAIN, LOADER))
            .getMessage();

    assertEquals(
        "data set 'emnist' is not known, expected one of: digits, shapes, mnist, cifar10, csv, images, text, or the"
            + " class name of a DatasetProvider",
        message);
  }

  @Test
  void shouldReportWhereToPutTheJarOfAMissingClass() {
    String message =
        assertThrows(
                DataException.class,
                () ->
                    DatasetProvider.open(named("org.example.None", Map.of()), Split.TRAIN, LOADER))
            .getMessage();

    assertTrue(
        message.endsWith(
            "or the class name of a DatasetProvider; class org.example.None is not on the class"
                + " path; name its jar in VERTIGRAD_CLASSPATH"),
        message);
  }

  @Test
  void shouldOpenAnUnregisteredDataSetWhenItsClassIsNamed() {
    DataConfig config = named("io.vertigrad.compute.data.UnregisteredProvider", Map.of());

    assertEquals(3, DatasetProvider.open(config, Split.TRAIN, LOADER).size());
  }

  private static DataConfig named(String name, Map<String, Object> options) {
    return new DataConfig(name, Optional.empty(), Optional.empty(), options);
  }
}
