package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows and files that a model of a stream is asked about. */
class StreamProviderTest {

  private static final String SEMICOLONS =
      "{'source':{'kind':'file','path':'events.csv','separator':';'},'decimal':',',"
          + "'schema':{'features':[{'field':'a'},{'field':'b','missing':0}],'label':{'field':'y'}}}";

  @TempDir private Path folder;

  @Test
  void shouldReadRowsAsTheLinesOfTheSource() {
    assertArrayEquals(new float[] {3.5f, -1}, sample(asked(SEMICOLONS, "3,5;-1"), 0));
    assertEquals(
        "3.5;-1: field \"a\" is \"3.5\", expected a finite number; if '.' is its decimal mark, set"
            + " data.decimal to \".\"",
        assertThrows(DataException.class, () -> asked(SEMICOLONS, "3.5;-1")).getMessage());
    String json = SEMICOLONS.replace("events.csv','separator':';'", "events.jsonl'");
    assertArrayEquals(new float[] {3.5f, -1}, sample(asked(json, "3,5;-1"), 0));
    assertArrayEquals(new float[] {3.5f, 0}, sample(asked(json, "{\"a\": \"3,5\"}"), 0));
  }

  @Test
  void shouldReadColumnsOfAFileByName() throws Exception {
    Path file = folder.resolve("asked.csv");
    Files.writeString(file, "\uFEFFmore;b;a\nx;-1;3,5\n");

    Dataset found = new StreamProvider().unlabelled(config(SEMICOLONS), file, List.of(2));

    assertArrayEquals(new float[] {3.5f, -1}, sample(found, 0));
  }

  @Test
  void shouldRefuseAFileWithoutAHeader() throws Exception {
    Path file = folder.resolve("asked.csv");
    Files.writeString(file, "3,5;-1\n4,5;-2\n");

    assertEquals(
        file
            + ": line 1: holds 3,5, -1, none of which is a field, expected a first line that names a, b",
        assertThrows(
                DataException.class,
                () -> new StreamProvider().unlabelled(config(SEMICOLONS), file, List.of(2)))
            .getMessage());
  }

  @Test
  void shouldRefuseADecimalMarkThatIsTheSeparator() {
    assertEquals(
        "job.json: data.decimal is \",\", the separator of lines too, expected another one, such as"
            + " data.source.separator \";\"",
        assertThrows(
                SettingsException.class,
                () ->
                    new StreamProvider()
                        .open(config(SEMICOLONS.replace(",'separator':';'", "")), Split.TRAIN))
            .getMessage());
  }

  @Test
  void shouldWarnOfDistinctNumbersThatBecomeOneFloat() throws Exception {
    Path file = folder.resolve("events.csv");
    Files.writeString(file, "a;b;y\n1790000000;0,5;1\n1790000050;0,25;2\n");
    String options = SEMICOLONS.replace("events.csv", file.toString());

    assertEquals(
        List.of(
            file
                + ": field \"a\": 1790000000 and 1790000050 become the same float32, 1790000000; "
                + EventSchema.ORIGIN_ADVICE),
        new StreamProvider().warnings(config(options)));
    Files.writeString(file, "{\"a\": 1, \"b\": true, \"y\": 16777216.5}\n{\"y\": 16777217}\nx\n");
    String json = options.replace("'separator'", "'format':'json','separator'");
    assertEquals(
        List.of(
            file
                + ": field \"y\": 1.67772165E7 and 16777217 become the same float32, 16777216; "
                + EventSchema.ORIGIN_ADVICE),
        new StreamProvider().warnings(config(json)));
    Files.writeString(file, "a;b;y\n1790000000;0,5;1\n1790000050;0,25;2\n");
    String away = options.replace("{'field':'a'}", "{'field':'a','origin':1790000000}");
    assertEquals(List.of(), new StreamProvider().warnings(config(away)));
    assertArrayEquals(new float[] {50.25f, 0}, sample(asked(away, "1790000050,25;0"), 0));
  }

  private static Dataset asked(String options, String line) {
    return new StreamProvider().unlabelled(config(options), line, List.of(2));
  }

  private static float[] sample(Dataset dataset, int index) {
    float[] features = new float[2];
    dataset.read(index, features, 0);
    return features;
  }

  @Test
  void shouldUpdateAfterEachEventUnlessTheFileNamesABatch() {
    assertEquals("1 0.0028", batchAndRate("{}"));
    assertEquals("1 0.002", batchAndRate("{'workers':{'count':1}}"));
    assertEquals("1 0.002", batchAndRate("{'strategy':{'name':'async'}}"));
    assertEquals("1 0.008", batchAndRate("{'workers':{'count':2,'batch':8}}"));
    assertEquals("null 0.008", batchAndRate("{'workers':{'totalBatch':16}}"));
    assertEquals("1 0.02", batchAndRate("{'workers':{'batch':4096}}"), "no more than ten times");
  }

  private static String batchAndRate(String file) {
    JsonObject chosen = new StreamProvider().defaults(new JsonObject(file.replace('\'', '"')));
    return chosen.getJsonObject("workers").getValue("batch")
        + " "
        + chosen.getJsonObject("optimizer").getDouble("learningRate");
  }

  private static DataConfig config(String options) {
    return new DataConfig(
        "stream",
        Optional.empty(),
        Optional.empty(),
        new JsonObject(options.replace('\'', '"')).getMap(),
        "job.json");
  }
}
