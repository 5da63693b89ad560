package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProvider;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares the documented keys with those that the code knows. It gives each section an unknown
 * key, and the refusal lists the known ones.
 */
class KnownKeysTest {

  private static final Path CONF = Path.of("../conf");

  /** Has the keys of two strategies, which conf/README.md leaves out. */
  private static final Path OWN_DATA = Path.of("../docs/guide/own-data.md");

  private static final String ABSURD = "ZZZZ";
  private static final Pattern LISTED = Pattern.compile("expected (?:one of )?([\\w, ]+)$");
  private static final Pattern DOCUMENTED = Pattern.compile("(?m)^\\| `([\\w.]+)` \\|");
  private static final Set<String> SECTIONS =
      Set.of(
          "workers",
          "resolved",
          "stop",
          "servers",
          "checkpoint",
          "coordinator",
          "run",
          "evaluator",
          "exchange",
          "cluster",
          "pipeline",
          "dashboard",
          "tracking",
          "serving",
          "optimizer",
          "data",
          "model",
          "strategy");

  @Test
  void shouldDocumentExactlyTheKeysTheCodeKnows() throws IOException {
    Set<String> known = new TreeSet<>();
    addFrom(known, "", ABSURD, "{}");
    for (String section :
        List.of(
            "workers",
            "servers",
            "checkpoint",
            "coordinator",
            "run",
            "evaluator",
            "exchange",
            "cluster",
            "pipeline",
            "dashboard",
            "tracking",
            "serving",
            "resolved",
            "stop")) {
      addFrom(known, section + ".", section + "." + ABSURD, "{}");
    }
    addFrom(known, "optimizer.", "optimizer." + ABSURD, "{}");
    for (String schedule : List.of("constant", "step", "exponential", "cosine")) {
      addFrom(
          known,
          "optimizer.schedule.",
          "optimizer.schedule." + ABSURD,
          "{\"optimizer\": {\"schedule\": {\"name\": \"%s\", \"milestones\": [1]}}}"
              .formatted(schedule));
    }
    for (String kind : List.of("byLabel", "dirichlet")) {
      addFrom(
          known,
          "workers.partition.",
          "workers.partition." + ABSURD,
          "{\"workers\": {\"partition\": {\"kind\": \"%s\"}}}".formatted(kind));
    }
    known.removeIf(key -> key.equals("optimizer.schedule") || key.equals("workers.partition"));
    addStrategies(known);
    addDataSets(known);
    addModels(known);

    assertEquals(known, documented());
  }

  @ParameterizedTest
  @CsvSource({"LOCAL, valid on one machine", "CHANGEABLE, may be changed by resume"})
  void shouldDocumentTheScopeOfKeys(KeyTrait trait, String row) throws IOException {
    Set<String> keys = new TreeSet<>();
    for (String data :
        List.of("{'name': 'stream', 'source': {'kind': 'file'}}", "{'name': 'text'}")) {
      JsonObject json = new JsonObject("{'data': %s}".formatted(data).replace('\'', '"'));
      keys.addAll(JobConfig.read("test", json).settings().keys(trait));
    }
    String line =
        Files.readString(CONF.resolve("README.md"))
            .lines()
            .filter(each -> each.startsWith("| " + row))
            .findFirst()
            .orElseThrow();

    Set<String> documented = new TreeSet<>();
    Matcher name = Pattern.compile("`([\\w.*]+)`").matcher(line);
    while (name.find()) {
      documented.add(name.group(1));
    }

    assertEquals(keys, documented);
  }

  @ParameterizedTest
  @MethodSource("jobFiles")
  void shouldAcceptEveryJobFileOfTheFolder(Path file) throws IOException {
    JsonObject json = read(file);

    JobConfig job = JobConfig.read(file.toString(), json);

    assertEquals(file.getFileName().toString().replaceAll("\\..*", ""), job.addresses().job());
    assertTrue(
        Files.readString(CONF.resolve("README.md")).contains("`" + file.getFileName() + "`"),
        file + " is not listed in conf/README.md");
    strategy(job);
  }

  static Stream<Path> jobFiles() throws IOException {
    return Files.list(CONF)
        .filter(file -> file.toString().matches(".*(?<!\\.schema)\\.(json|yaml)"))
        .sorted();
  }

  static JsonObject read(Path file) throws IOException {
    if (file.toString().endsWith(".json")) {
      return new JsonObject(Files.readString(file));
    }
    return new JsonObject(
        new org.yaml.snakeyaml.Yaml().<Map<String, Object>>load(Files.readString(file)));
  }

  private static void strategy(JobConfig job) {
    for (StrategyProvider provider : ServiceLoader.load(StrategyProvider.class)) {
      if (provider.name().equals(job.strategy().name())) {
        provider.configure(job.strategy().settings());
        return;
      }
    }
    throw new AssertionError("no strategy " + job.strategy().name());
  }

  private static void addFrom(Set<String> known, String prefix, String key, String job) {
    JsonObject json = new JsonObject(job);
    new Assignment(key, 1).applyTo(json);
    String refusal =
        assertThrows(RuntimeException.class, () -> JobConfig.read("test", json)).getMessage();
    add(known, prefix, refusal);
  }

  private static void addStrategies(Set<String> known) {
    known.add("strategy.name");
    for (StrategyProvider provider : ServiceLoader.load(StrategyProvider.class)) {
      JsonObject section = new JsonObject().put("name", provider.name()).put(ABSURD, 1);
      JobConfig job = JobConfig.read("test", new JsonObject().put("strategy", section));
      String refusal =
          assertThrows(RuntimeException.class, () -> provider.configure(job.strategy().settings()))
              .getMessage();
      add(known, "strategy.", refusal);
    }
  }

  private static void addDataSets(Set<String> known) {
    known.addAll(List.of("data.name", "data.directory", "data.download"));
    for (DatasetProvider provider : ServiceLoader.load(DatasetProvider.class)) {
      if (provider.getClass().getPackageName().equals("io.vertigrad.testkit")) {
        continue;
      }
      Map<String, Object> options = new HashMap<>(Map.of(ABSURD, 1));
      if (provider.name().equals("stream")) {
        options.putAll(
            Map.of(
                "source",
                Map.of("kind", "file", "path", "events.csv"),
                "schema",
                Map.of(
                    "features",
                    List.of(Map.of("field", "demand")),
                    "label",
                    Map.of("field", "class", "classes", List.of("0", "1")))));
      }
      DataConfig config =
          new DataConfig(provider.name(), Optional.empty(), Optional.empty(), options);
      String refusal =
          assertThrows(RuntimeException.class, () -> provider.open(config, Split.TEST))
              .getMessage();
      add(known, "data.", refusal);
    }
  }

  private static void addModels(Set<String> known) {
    known.addAll(List.of("model.name", "model.parameters", "model.loss", "model.precision"));
    for (String name : List.of("mlp", "resnet20")) {
      ModelConfig config = new ModelConfig(name, Map.of(ABSURD, 1), List.of(1, 28, 28), 10, 0, 1);
      String refusal =
          assertThrows(RuntimeException.class, () -> Engine.named("dl4j").model(config))
              .getMessage();
      add(known, "model.", refusal);
    }
  }

  private static void add(Set<String> known, String prefix, String refusal) {
    Matcher listed = LISTED.matcher(refusal);
    assertTrue(listed.find(), "no list of known keys in: " + refusal);
    Stream.of(listed.group(1).split(", "))
        .filter(key -> prefix.matches("strategy.|workers.") || !SECTIONS.contains(key))
        .forEach(key -> known.add(prefix + key));
  }

  private static Set<String> documented() throws IOException {
    Set<String> keys = new TreeSet<>();
    Matcher matcher = DOCUMENTED.matcher(Files.readString(CONF.resolve("README.md")));
    while (matcher.find()) {
      if (!matcher.group(1).matches(".*\\.(json|yaml)")) {
        keys.add(matcher.group(1));
      }
    }
    String section = Files.readString(OWN_DATA).split("(?m)^## Keys$", 2)[1];
    DOCUMENTED.matcher(section).results().forEach(row -> keys.add(row.group(1)));
    return keys;
  }
}
