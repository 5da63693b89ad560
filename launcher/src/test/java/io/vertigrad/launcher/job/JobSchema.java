package io.vertigrad.launcher.job;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProvider;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Makes the JSON schema of job files, {@code conf/job.schema.json}, for editors. Types, choices and
 * bounds come from the code: each documented key gets a value of the wrong type, and the refusal
 * says what is expected. Defaults and descriptions come from the tables of keys in {@code
 * conf/README.md} and {@code docs/guide/own-data.md}.
 */
final class JobSchema {

  /** The schema that is kept; {@link JobSchemaTest} compares it with {@link #make()}. */
  static final Path FILE = Path.of("../conf/job.schema.json");

  private static final Path KEYS = Path.of("../conf/README.md");
  private static final Path OWN_DATA = Path.of("../docs/guide/own-data.md");
  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| `([a-z][\\w.]*)` \\| ?([^|]*?) ?\\| (.+) \\|$");
  private static final Pattern LINK = Pattern.compile("\\[([^]]+)]\\([^)]+\\)");
  private static final Pattern EXPECTED = Pattern.compile(" is .*expected (.+)$", Pattern.DOTALL);
  private static final Pattern KNOWN = Pattern.compile("expected (?:one of )?([\\w, ]+)$");
  private static final Pattern BOUNDS = Pattern.compile("(.*) from (\\S+) to (\\S+)");
  private static final BigDecimal MOST = BigDecimal.TEN.pow(16);
  private static final String UNKNOWN = "ZZZZ";
  private static final String NAME = "name";
  private static final String TYPE = "type";
  private static final String STRING = "string";
  private static final String PROPERTIES = "properties";

  /** Jobs in which the code reads the keys that only some jobs have. */
  private static final List<String> JOBS =
      List.of(
          "{}",
          "{'workers': {'partition': {'kind': 'byLabel'}}}",
          "{'workers': {'partition': {'kind': 'dirichlet'}}}",
          "{'optimizer': {'schedule': {'name': 'step', 'milestones': [1]}}}",
          "{'optimizer': {'schedule': {'name': 'exponential'}}}",
          "{'optimizer': {'schedule': {'name': 'cosine'}}}",
          "{'pipeline': {'stages': 2}}",
          "{'exchange': {'compression': 'topk'}}");

  /** Rules of the strategy {@code federated}, of which some have keys of their own. */
  private static final List<String> RULES = List.of("", "fedprox", "fedadam", "fedbuff");

  private static final String COLUMN =
      "{'anyOf': [{'type': 'integer', 'minimum': 1}, {'type': 'string'}]}";
  private static final String COLUMNS =
      "{'anyOf': [{'type': 'integer', 'minimum': 1}, {'type': 'string'},"
          + " {'type': 'array', 'items': {'type': ['integer', 'string']}}]}";
  private static final String ROWS =
      "{'type': 'array', 'items': {'type': 'array', 'items': {'type': 'number'}}}";

  /**
   * Keys whose refusals do not say all that is allowed: their bounds follow from other keys, they
   * take values of several types, or their providers read them later.
   */
  private static final Map<String, String> BY_HAND =
      Map.ofEntries(
          Map.entry(
              "steps", "{'anyOf': [{'type': 'integer', 'minimum': 1}, {'const': 'unbounded'}]}"),
          Map.entry("workers.count", "{'type': 'integer', 'minimum': 1, 'maximum': 4096}"),
          Map.entry("workers.minimum", "{'type': 'integer', 'minimum': 1, 'maximum': 4096}"),
          Map.entry("workers.device", "{'type': 'string', 'pattern': '^(cpu|cuda(:[0-9]+)?)$'}"),
          Map.entry(
              "data.normalization",
              "{'anyOf': [{'enum': ['standard', 'unit', 'raw']}, {'type': 'object'}]}"),
          Map.entry(
              "data.background",
              "{'type': 'string', 'pattern': '^(white|black|#[0-9a-fA-F]{6})$'}"),
          Map.entry(
              "data.missing", "{'anyOf': [{'enum': ['refuse', 'mean']}, {'type': 'number'}]}"),
          Map.entry("data.separator", "{'type': 'string'}"),
          Map.entry("data.quote", "{'type': 'string'}"),
          Map.entry("data.decimal", "{'enum': ['.', ',']}"),
          Map.entry("data.label", COLUMN),
          Map.entry("data.labels", COLUMNS),
          Map.entry("data.targets", COLUMNS),
          Map.entry("data.features", COLUMNS),
          Map.entry("data.ignore", COLUMNS),
          Map.entry("data.categories", COLUMNS),
          Map.entry("data.source", "{'type': 'object'}"),
          Map.entry("data.schema", "{'type': 'object'}"),
          Map.entry("resolved.fingerprints", "{'type': 'object'}"),
          Map.entry("strategy.between", "{'type': 'object'}"),
          Map.entry("strategy.mixing", ROWS),
          Map.entry("strategy.edges", ROWS));

  /** The options of {@code transformer}, whose engine is not on the class path of the launcher. */
  private static final String TRANSFORMER =
      """
      {"heads": {"type": "integer", "minimum": 1, "maximum": 1024, "default": 4,
         "description": "transformer: heads of attention; they divide width"},
       "width": {"type": "integer", "minimum": 1, "maximum": 65536, "default": 128,
         "description": "transformer: of a position's vector"},
       "dropout": {"type": "number", "minimum": 0, "maximum": 0.99, "default": 0.0,
         "description": "transformer: share that training drops"}}
      """;

  private final Map<String, Set<String>> strategies = new TreeMap<>();
  private final Map<String, Set<String>> dataSets = new TreeMap<>();
  private final Map<String, Set<String>> models = new TreeMap<>();

  private JobSchema() {}

  /** Returns the whole schema, draft 7, which most editors know. */
  static JsonObject make() throws IOException {
    return new JobSchema().schema();
  }

  private JsonObject schema() throws IOException {
    listComponents();
    JsonObject root =
        new JsonObject()
            .put("$schema", "http://json-schema.org/draft-07/schema#")
            .put("title", "A job file of Vertigrad")
            .put(TYPE, "object")
            .put(PROPERTIES, new JsonObject())
            .put("additionalProperties", false);
    root.getJsonObject(PROPERTIES)
        .put("$schema", new JsonObject().put(TYPE, STRING).put("description", "this schema"));
    for (MatchResult row : rows()) {
      add(root, row.group(1), property(row.group(1), row.group(2), row.group(3)));
    }
    add(root, "model.", models, new JsonObject(TRANSFORMER));
    add(root, "data.", dataSets, new JsonObject());
    add(root, "strategy.", strategies, new JsonObject());
    return root;
  }

  private static List<MatchResult> rows() throws IOException {
    String own = Files.readString(OWN_DATA).split("(?m)^## Keys$", 2)[1];
    return Stream.of(Files.readString(KEYS), own)
        .flatMap(page -> ROW.matcher(page).results())
        .filter(row -> !row.group(1).matches(".*\\.(json|yaml)"))
        .toList();
  }

  /** Adds a property at its place; a second description of a key is appended to the first. */
  private static void add(JsonObject root, String path, JsonObject property) {
    JsonObject at = root;
    String[] keys = path.split("\\.");
    for (int i = 0; i < keys.length - 1; i++) {
      boolean open = i == 0 && List.of("model", "data", "strategy").contains(keys[0]);
      JsonObject properties = at.getJsonObject(PROPERTIES);
      if (!properties.containsKey(keys[i])) {
        JsonObject section = new JsonObject().put(TYPE, "object").put(PROPERTIES, new JsonObject());
        properties.put(keys[i], open ? section : section.put("additionalProperties", false));
      }
      at = properties.getJsonObject(keys[i]);
    }
    JsonObject properties = at.getJsonObject(PROPERTIES);
    JsonObject before = properties.getJsonObject(keys[keys.length - 1]);
    if (before != null) {
      JsonObject merged = merged(before, property);
      Object usual = before.getValue("default");
      if (usual != null && usual.equals(property.getValue("default"))) {
        merged.put("default", usual);
      }
      merged.put(
          "description",
          before.getString("description") + "; " + property.getString("description"));
      property = merged;
    }
    properties.put(keys[keys.length - 1], property);
  }

  /** Says which keys a section has with each name that is built in; with another one, any. */
  private static void add(
      JsonObject root, String prefix, Map<String, Set<String>> keys, JsonObject more) {
    String key = prefix.substring(0, prefix.length() - 1);
    JsonObject section = root.getJsonObject(PROPERTIES).getJsonObject(key);
    section.getJsonObject(PROPERTIES).mergeIn(more);
    JsonObject names = section.getJsonObject(PROPERTIES).getJsonObject(NAME);
    Set<String> always = new TreeSet<>(Set.of(NAME));
    section.getJsonObject(PROPERTIES).fieldNames().stream()
        .filter(each -> keys.values().stream().noneMatch(known -> known.contains(each)))
        .filter(each -> !more.containsKey(each))
        .forEach(always::add);
    Set<String> all = new TreeSet<>(keys.keySet());
    if (!more.isEmpty()) {
      all.add("transformer");
    }
    names.remove(TYPE);
    names.put(
        "anyOf",
        new JsonArray()
            .add(new JsonObject().put("enum", new JsonArray(List.copyOf(all))))
            .add(new JsonObject().put(TYPE, STRING)));
    JsonArray cases = new JsonArray();
    keys.forEach(
        (name, known) -> {
          Set<String> allowed = new TreeSet<>(known);
          allowed.addAll(always);
          cases.add(
              new JsonObject()
                  .put(
                      "if",
                      new JsonObject()
                          .put("required", new JsonArray().add(NAME))
                          .put(
                              PROPERTIES,
                              new JsonObject().put(NAME, new JsonObject().put("const", name))))
                  .put(
                      "then",
                      new JsonObject()
                          .put(
                              "propertyNames",
                              new JsonObject().put("enum", new JsonArray(List.copyOf(allowed))))));
        });
    section.put("allOf", cases);
  }

  /** Finds the strategies, data sets and models, and the keys of each, as the code lists them. */
  private void listComponents() {
    for (StrategyProvider provider : ServiceLoader.load(StrategyProvider.class)) {
      strategies.put(provider.name(), known(refusal(provider, "", UNKNOWN, 1)));
    }
    for (DatasetProvider provider : ServiceLoader.load(DatasetProvider.class)) {
      if (!provider.getClass().getPackageName().equals("io.vertigrad.testkit")) {
        dataSets.put(provider.name(), known(refusal(provider, UNKNOWN, 1)));
      }
    }
    for (String name : List.of("convnet", "mlp", "resnet20")) {
      models.put(name, known(refusal(name, UNKNOWN, 1)));
    }
  }

  private static Set<String> known(Optional<String> refusal) {
    Matcher listed = KNOWN.matcher(refusal.orElseThrow());
    if (!listed.find()) {
      throw new IllegalStateException("no list of known keys in: " + refusal.orElseThrow());
    }
    Set<String> keys = new TreeSet<>(List.of(listed.group(1).split(", ")));
    keys.remove("none");
    return keys;
  }

  private JsonObject property(String path, String usual, String meaning) {
    String byHand = BY_HAND.get(path);
    JsonObject property = byHand == null ? type(path) : json(byHand);
    defaultOf(usual, property).ifPresent(value -> property.put("default", value));
    return property.put("description", plain(meaning));
  }

  /** Returns the default of a row if it is one literal, in the type of the property. */
  private static Optional<Object> defaultOf(String cell, JsonObject property) {
    if (!cell.strip().matches("`[^`]+`|-?[\\d.]+(e-?\\d+)?")) {
      return Optional.empty();
    }
    String text = cell.strip().replace("`", "");
    if (text.matches("true|false")) {
      return Optional.of(Boolean.valueOf(text));
    } else if (text.equals("[]")) {
      return Optional.of(new JsonArray());
    } else if (STRING.equals(property.getString(TYPE)) || property.containsKey("enum")) {
      return Optional.of(text);
    }
    return text.matches("-?[\\d.]+(e-?\\d+)?") ? Optional.of(number(text)) : Optional.of(text);
  }

  private static String plain(String meaning) {
    return LINK.matcher(meaning).replaceAll("$1").replace("`", "");
  }

  private JsonObject type(String path) {
    JsonObject found = null;
    for (Probe probe : probes(path)) {
      Optional<JsonObject> type = probe.type();
      if (type.isPresent()) {
        found = found == null ? type.get() : merged(found, type.get());
      }
    }
    if (found == null) {
      throw new IllegalStateException(path + ": no refusal says what is expected");
    }
    return found;
  }

  /** Returns what allows both: all choices, the wider bounds, or one of two types. */
  private static JsonObject merged(JsonObject one, JsonObject other) {
    JsonObject left = types(one);
    JsonObject right = types(other);
    if (left.containsKey("enum") && right.containsKey("enum")) {
      Set<Object> choices = new LinkedHashSet<>();
      left.getJsonArray("enum").forEach(choices::add);
      right.getJsonArray("enum").forEach(choices::add);
      return left.put("enum", new JsonArray(List.copyOf(choices)));
    } else if (left.containsKey(TYPE) && left.getString(TYPE).equals(right.getString(TYPE))) {
      return bound(bound(left, right, "minimum", -1), right, "maximum", 1);
    }
    JsonArray both = left.getJsonArray("anyOf", new JsonArray().add(left));
    return left.equals(right) || both.contains(right)
        ? left
        : new JsonObject().put("anyOf", both.copy().add(right));
  }

  /** Sets a bound to the wider one of two, or removes it where one has none. */
  private static JsonObject bound(JsonObject left, JsonObject right, String key, int sign) {
    if (!right.containsKey(key) || !left.containsKey(key)) {
      left.remove(key);
    } else if (sign * Double.compare(right.getDouble(key), left.getDouble(key)) > 0) {
      left.put(key, right.getValue(key));
    }
    return left;
  }

  private static JsonObject types(JsonObject property) {
    JsonObject copy = property.copy();
    copy.remove("description");
    copy.remove("default");
    return copy;
  }

  /** One place in which the code reads a key. */
  private interface Probe {

    /** Returns the refusal of a value; empty if it is accepted, or another key is refused. */
    Optional<String> refusal(Object value);

    /** Returns what the key may be, if it is read here. */
    default Optional<JsonObject> type() {
      Optional<JsonObject> found = refusal(new JsonObject().put(UNKNOWN, 1)).flatMap(Probe::read);
      boolean text = found.isPresent() && STRING.equals(found.get().getString(TYPE));
      Optional<JsonObject> choices =
          text
              ? refusal(UNKNOWN)
                  .filter(message -> message.contains("expected one of "))
                  .flatMap(Probe::read)
              : Optional.empty();
      return choices.or(() -> found);
    }

    private static Optional<JsonObject> read(String message) {
      Matcher expected = EXPECTED.matcher(message);
      return message.matches("(?s).*(not a known key|[:;] leave it out).*") || !expected.find()
          ? Optional.empty()
          : Optional.of(typeOf(expected.group(1)));
    }
  }

  private List<Probe> probes(String path) {
    String key = path.substring(path.indexOf('.') + 1);
    if (path.startsWith("strategy.") && !key.equals(NAME)) {
      return ServiceLoader.load(StrategyProvider.class).stream()
          .map(ServiceLoader.Provider::get)
          .filter(provider -> strategies.get(provider.name()).contains(key))
          .sorted(Comparator.comparing(StrategyProvider::name))
          .flatMap(
              provider ->
                  RULES.stream()
                      .<Probe>map(rule -> value -> of(path, refusal(provider, rule, key, value))))
          .toList();
    } else if (path.startsWith("data.")
        && dataSets.values().stream().anyMatch(k -> k.contains(key))) {
      return ServiceLoader.load(DatasetProvider.class).stream()
          .map(ServiceLoader.Provider::get)
          .filter(provider -> dataSets.getOrDefault(provider.name(), Set.of()).contains(key))
          .sorted(Comparator.comparing(DatasetProvider::name))
          .<Probe>map(provider -> value -> of(path, refusal(provider, key, value)))
          .toList();
    } else if (path.startsWith("model.")
        && models.values().stream().anyMatch(k -> k.contains(key))) {
      return models.keySet().stream()
          .filter(name -> models.get(name).contains(key))
          .<Probe>map(name -> value -> of(path, refusal(name, key, value)))
          .toList();
    }
    return JOBS.stream()
        .<Probe>map(job -> value -> of(path, refusal(json(job), path, value)))
        .toList();
  }

  /** Keeps a refusal that is about this key. */
  private static Optional<String> of(String path, Optional<String> refusal) {
    String key = path.substring(path.indexOf('.') + 1);
    return refusal.filter(
        message ->
            message.startsWith("test: " + path + " ")
                || message.startsWith("test: " + path + "[0] ")
                || message.matches("(?s)model \\w+: option " + Pattern.quote(key) + " .*"));
  }

  private static Optional<String> refusal(JsonObject job, String path, Object value) {
    new Assignment(path, value).applyTo(job);
    return refusal(() -> JobConfig.read("test", job));
  }

  private static Optional<String> refusal(
      StrategyProvider provider, String rule, String key, Object value) {
    JsonObject section = new JsonObject().put(NAME, provider.name()).put(key, value);
    if (provider.name().equals("federated") && !rule.isEmpty() && !key.equals("rule")) {
      section.put("rule", rule);
    }
    Settings settings = Settings.at("test", "strategy", section);
    settings.has(NAME);
    return refusal(() -> provider.configure(settings));
  }

  private static Optional<String> refusal(DatasetProvider provider, String key, Object value) {
    Map<String, Object> options = new LinkedHashMap<>();
    if (provider.name().equals("stream")) {
      options.put("source", Map.of("kind", "file", "path", "events.csv"));
      options.put(
          "schema",
          Map.of(
              "features",
              List.of(Map.of("field", "demand")),
              "label",
              Map.of("field", "class", "classes", List.of("0", "1"))));
    }
    options.put(key, value instanceof JsonObject object ? object.getMap() : value);
    DataConfig config =
        new DataConfig(provider.name(), Optional.empty(), Optional.empty(), options, "test");
    return refusal(() -> provider.open(config, Split.TEST));
  }

  private static Optional<String> refusal(String model, String key, Object value) {
    ModelConfig config =
        new ModelConfig(
            model,
            Map.of(key, value instanceof JsonObject object ? object.getMap() : value),
            List.of(1, 28, 28),
            10,
            0,
            1);
    return refusal(() -> Engine.named("dl4j").model(config).close());
  }

  private static Optional<String> refusal(Runnable reading) {
    try {
      reading.run();
      return Optional.empty();
    } catch (SettingsException | IllegalArgumentException refused) {
      return Optional.of(refused.getMessage());
    } catch (DataException noFile) {
      return Optional.empty();
    }
  }

  private static JsonObject choices(String expected) {
    return new JsonObject()
        .put("enum", new JsonArray(List.of(expected.substring("one of ".length()).split(", "))));
  }

  /** Returns the type that a refusal expects. */
  private static JsonObject typeOf(String expected) {
    Matcher bounds = BOUNDS.matcher(expected);
    if (bounds.matches()) {
      JsonObject number =
          new JsonObject()
              .put(TYPE, bounds.group(1).startsWith("a whole number") ? "integer" : "number");
      for (String key : List.of("minimum", "maximum")) {
        BigDecimal bound = new BigDecimal(bounds.group(key.equals("minimum") ? 2 : 3));
        // The largest numbers of a type stand for no bound.
        if (bound.abs().compareTo(MOST) < 0 && bound.intValue() != Integer.MAX_VALUE) {
          number.put(key, number(bound.toString()));
        }
      }
      return number;
    }
    if (expected.startsWith("one of ")) {
      return choices(expected);
    }
    return switch (expected) {
      case "true or false" -> new JsonObject().put(TYPE, "boolean");
      case "a string" -> new JsonObject().put(TYPE, STRING);
      case "a list of numbers" -> list("number");
      case "a list of strings" -> list(STRING);
      default -> throw new IllegalStateException("no type is known for: " + expected);
    };
  }

  private static JsonObject list(String element) {
    return new JsonObject().put(TYPE, "array").put("items", new JsonObject().put(TYPE, element));
  }

  private static Number number(String text) {
    BigDecimal value = new BigDecimal(text);
    return value.stripTrailingZeros().scale() <= 0
            && value.abs().compareTo(BigDecimal.TEN.pow(15)) < 0
        ? (Number) value.longValueExact()
        : (Number) value.doubleValue();
  }

  private static JsonObject json(String text) {
    return new JsonObject(text.replace('\'', '"'));
  }
}
