package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.FieldReader.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CsvFieldsTest {

  private static final ClassLoader LOADER = CsvFieldsTest.class.getClassLoader();
  private static final String TABLE =
      "demand,day,class\n1,mo,up\n3,tu,down\n5,mo,up\n7,tu,down\n2,mo,up\n4,tu,down\n";

  @TempDir private Path folder;

  @Test
  void shouldReadASampleByItsNamesAsItsLineInTheFile() throws Exception {
    Dataset train = open(TABLE, Map.of("label", "class", "categories", List.of("day")));
    FieldReader reader = reader(train, Map.of("label", "class", "categories", List.of("day")));
    DatasetProvider provider = new CsvProvider();
    Dataset line =
        provider.unlabelled(
            config(Map.of("label", "class", "categories", List.of("day"))).fitted(train.fitted()),
            "6,tu",
            train.shape());
    float[] expected = new float[3];
    line.read(0, expected, 0);

    float[] found = new float[4];
    reader.read(Map.of("day", "tu", "demand", 6), found, 1);

    assertEquals(List.of(new Field("demand", false), new Field("day", true)), reader.fields());
    assertArrayEquals(new float[] {0, expected[0], expected[1], expected[2]}, found);
    float[] ofText = new float[3];
    reader.read(Map.of("demand", "6.0", "day", " tu ", "class", "up"), ofText, 0);
    assertArrayEquals(expected, ofText);
  }

  @Test
  void shouldReportTheInvalidField() throws Exception {
    Map<String, Object> options = Map.of("label", "class", "categories", List.of("day"));
    FieldReader reader = reader(open(TABLE, options), options);

    assertWrong(
        "field \"day\": is \"su\", expected one of the words of the training: mo, tu",
        reader,
        Map.of("demand", 1, "day", "su"));
    assertWrong(
        "field \"demand\": is \"much\", expected a number",
        reader,
        Map.of("demand", "much", "day", "mo"));
    assertWrong("field \"demand\": is missing, expected a number", reader, Map.of("day", "mo"));
    assertWrong(
        "field \"dmeand\": is unknown, expected the columns of the training: demand, day",
        reader,
        Map.of("demand", 1, "day", "mo", "dmeand", 2));
  }

  @Test
  void shouldFillMissingValuesAsInTraining() throws Exception {
    Map<String, Object> options =
        Map.of("label", "class", "categories", List.of("day"), "missing", "mean");
    FieldReader reader = reader(open(TABLE, options), options);
    Map<String, Object> sample = new HashMap<>();
    sample.put("demand", null);

    float[] found = new float[3];
    reader.read(sample, found, 0);

    assertArrayEquals(new float[] {0, 0, 0}, found, 1e-6f, "the mean, and no word");
  }

  @Test
  void shouldNameColumnsByNumberWhenTheFileHasNoNames() throws Exception {
    Map<String, Object> options = Map.of("label", 3);
    FieldReader reader = reader(open("1,4,a\n3,5,b\n5,6,a\n7,8,b\n", options), options);

    assertEquals(List.of(new Field("1", false), new Field("2", false)), reader.fields());
  }

  private Dataset open(String table, Map<String, Object> options) throws Exception {
    Files.writeString(folder.resolve("table.csv"), table);
    return new CsvProvider().open(config(options), Split.TRAIN);
  }

  private FieldReader reader(Dataset train, Map<String, Object> options) {
    return DatasetProvider.fields(config(options).fitted(train.fitted()), train.shape(), LOADER)
        .orElseThrow();
  }

  private DataConfig config(Map<String, Object> options) {
    return new DataConfig(
        "csv", Optional.of(folder.resolve("table.csv")), Optional.empty(), options);
  }

  private static void assertWrong(String message, FieldReader reader, Map<String, ?> sample) {
    DataException wrong =
        assertThrows(DataException.class, () -> reader.read(sample, new float[3], 0));
    assertEquals(message, wrong.getMessage());
  }
}
