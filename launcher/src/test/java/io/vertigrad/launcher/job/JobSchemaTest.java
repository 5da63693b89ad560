package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import io.vertx.json.schema.Draft;
import io.vertx.json.schema.JsonSchema;
import io.vertx.json.schema.JsonSchemaOptions;
import io.vertx.json.schema.OutputFormat;
import io.vertx.json.schema.OutputUnit;
import io.vertx.json.schema.Validator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares {@code conf/job.schema.json} with the code, and checks job files with it. {@code
 * -Dvertigrad.schema=write} writes it anew.
 */
class JobSchemaTest {

  private static final Path EXAMPLES = Path.of("../examples");

  @Test
  @Tag("slow")
  void shouldEqualTheCodeWhenKeysChange() throws IOException {
    String made = JobSchema.make().encodePrettily() + "\n";
    if ("write".equals(System.getProperty("vertigrad.schema"))) {
      Files.writeString(JobSchema.FILE, made);
    }

    assertEquals(
        made,
        Files.readString(JobSchema.FILE),
        "conf/job.schema.json differs; -Dtest=JobSchemaTest -Dvertigrad.schema=write makes it");
  }

  @Test
  void shouldHaveTheDefaultsOfTheCodeWhenAJobIsEmpty() throws IOException {
    List<String> differences = new ArrayList<>();
    JsonObject resolved = JobConfig.read("test", new JsonObject()).settings().resolved();

    int compared = compare("", resolved, schema().getJsonObject("properties"), differences);

    assertEquals(List.of(), differences);
    assertTrue(compared > 60, () -> "only " + compared + " defaults");
  }

  @ParameterizedTest
  @MethodSource("jobFiles")
  void shouldAcceptAJobFileWhenTheProgramDoes(Path file) throws IOException {
    OutputUnit found = check(KnownKeysTest.read(file));

    assertTrue(found.getValid(), () -> file + ": " + found.toJson().encodePrettily());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'wokers': {}}",
        "{'steps': 0}",
        "{'steps': 'forever'}",
        "{'workers': {'count': 0}}",
        "{'workers': {'count': '2'}}",
        "{'workers': {'batchSize': 64}}",
        "{'workers': {'device': 'gpu'}}",
        "{'optimizer': {'name': 'adamw'}}",
        "{'optimizer': {'lr': 0.1}}",
        "{'evaluator': {'blocking': 'yes'}}",
        "{'exchange': {'compression': 'int16'}}",
        "{'dashboard': {'hosts': 'coordinator'}}",
        "{'stop': {'accuracy': 101}}"
      })
  void shouldRefuseAMistakeWhenTheProgramDoes(String text) throws IOException {
    JsonObject job = json(text);

    assertFalse(check(job).getValid(), text);
    assertThrows(RuntimeException.class, () -> JobConfig.read("test", job));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'strategy': {'name': 'async', 'quorum': 1}}",
        "{'strategy': {'name': 'federated', 'rule': 'fedsgd'}}",
        "{'data': {'name': 'mnist', 'label': 1}}",
        "{'data': {'name': 'csv', 'header': 'true'}}",
        "{'model': {'name': 'convnet', 'hidden': 3}}"
      })
  void shouldRefuseAKeyWhenThePartOfThatNameDoesNotHaveIt(String text) throws IOException {
    assertFalse(check(json(text)).getValid(), text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{'$schema': 'job.schema.json', 'steps': 5}",
        "{'steps': 'unbounded'}",
        "{'strategy': {'name': 'trimmed-mean', 'ofMyOwn': 1}}",
        "{'model': {'name': 'org.example.MyModel', 'ofMyOwn': [1]}}",
        "{'data': {'name': 'csv', 'label': 'class', 'ignore': ['id', 3], 'missing': 0}}",
        "{'data': {'name': 'mnist', 'normalization': {'mean': 0.5, 'deviation': 0.25}}}",
        "{'model': {'name': 'transformer', 'heads': 2}, 'workers': {'device': 'cuda:1'}}"
      })
  void shouldAcceptWhatIsAllowed(String text) throws IOException {
    OutputUnit found = check(json(text));

    assertTrue(found.getValid(), () -> text + ": " + found.toJson().encodePrettily());
    assertDoesNotThrow(() -> JobConfig.read("test", json(text)));
  }

  static Stream<Path> jobFiles() throws IOException {
    List<Path> files = new ArrayList<>(KnownKeysTest.jobFiles().toList());
    try (Stream<Path> all = Files.walk(EXAMPLES)) {
      all.filter(file -> file.toString().endsWith(".json"))
          .filter(file -> !file.toString().matches(".*/(target|runs|node_modules)/.*"))
          .filter(JobSchemaTest::isJob)
          .sorted()
          .forEach(files::add);
    }
    assertTrue(files.size() > 30, () -> "found only " + files);
    return files.stream();
  }

  /** Returns false for a file of Grafana, and for that of a strategy's verticle. */
  private static boolean isJob(Path file) {
    try {
      JsonObject json = KnownKeysTest.read(file);
      return !json.containsKey("panels") && !json.containsKey("beside");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Collects the keys whose default in the schema differs; returns how many were compared. */
  private static int compare(
      String prefix, JsonObject found, JsonObject properties, List<String> differences) {
    int compared = 0;
    for (String key : found.fieldNames()) {
      JsonObject property = properties.getJsonObject(key, new JsonObject());
      if (property.containsKey("properties")) {
        compared +=
            compare(
                prefix + key + ".",
                found.getJsonObject(key),
                property.getJsonObject("properties"),
                differences);
      } else if (property.containsKey("default")) {
        compared++;
        Object expected = found.getValue(key);
        Object documented = property.getValue("default");
        boolean equal =
            expected instanceof Number one && documented instanceof Number other
                ? one.doubleValue() == other.doubleValue()
                : expected.equals(documented);
        if (!equal) {
          differences.add(prefix + key + ": " + documented + ", in the code " + expected);
        }
      }
    }
    return compared;
  }

  private static OutputUnit check(JsonObject job) throws IOException {
    JsonSchemaOptions options =
        new JsonSchemaOptions()
            .setBaseUri("https://vertigrad.io")
            .setDraft(Draft.DRAFT7)
            .setOutputFormat(OutputFormat.Basic);
    return Validator.create(JsonSchema.of(schema()), options).validate(job);
  }

  private static JsonObject schema() throws IOException {
    return new JsonObject(Files.readString(JobSchema.FILE));
  }

  private static JsonObject json(String text) {
    return new JsonObject(text.replace('\'', '"'));
  }
}
