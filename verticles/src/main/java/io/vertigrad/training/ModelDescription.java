package io.vertigrad.training;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.formats.ModelArchive;
import io.vertigrad.compute.formats.ProtoMessage;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The data needed to use a saved model besides its parameters: the sections of its job file, and
 * the format of inputs and outputs. It is stored as an entry of a model's zip file, or as texts in
 * a safetensors header.
 *
 * @param job {@code engine}, {@code model} and {@code data} of the job file, without paths of data
 * @param input format of inputs and outputs
 */
record ModelDescription(JsonObject job, Input input) {

  /** Name of the entry in a DL4J zip; TorchScript has it among its extra files. */
  private static final String ENTRY = "vertigrad.json";

  private static final String ENGINE = "engine";
  private static final String MODEL = "model";
  private static final String DATA = "data";
  private static final String INPUT = "input";
  private static final String CLASSES = "classes";
  private static final String PREFIX = "vertigrad.";
  private static final int MOST_BYTES = 64 << 20;

  /** Field {@code metadata_props} of ONNX's {@code ModelProto}. */
  private static final int ONNX_METADATA = 14;

  /** The format of a model's inputs and outputs. */
  record Input(
      List<Integer> shape,
      Targets targets,
      int tokens,
      Optional<List<Normalisation>> bytes,
      List<String> classNames,
      Map<String, Object> fitted) {

    static Input of(Dataset data) {
      return new Input(
          data.shape(),
          data.targets(),
          data.tokens(),
          data.normalisation(),
          data.classNames(),
          data.fitted());
    }

    /** Returns the format of a model that was trained on a data set. */
    static Input of(Dataset data, Model model) {
      Input input = of(data);
      Map<String, Object> all = new TreeMap<>(input.fitted);
      all.putAll(model.fitted());
      return new Input(
          input.shape, input.targets, input.tokens, input.bytes, input.classNames, all);
    }

    int classes() {
      return targets.outputs();
    }

    JsonObject toJson() {
      JsonObject json =
          new JsonObject()
              .put("shape", new JsonArray(new ArrayList<>(shape)))
              .put(CLASSES, classes());
      if (!targets.equals(Targets.classes(classes()))) {
        json.put("targets", targets.kind().name()).put("positions", targets.positions());
      }
      if (tokens > 0) {
        json.put("tokens", tokens);
      }
      bytes.ifPresent(
          rules -> {
            JsonArray array = new JsonArray();
            rules.forEach(
                rule ->
                    array.add(
                        new JsonArray().add(rule.range()).add(rule.mean()).add(rule.deviation())));
            json.put("normalization", array);
          });
      if (!fitted.isEmpty()) {
        json.put("fitted", new JsonObject(new TreeMap<>(fitted)));
      }
      return json;
    }

    static Input read(JsonObject json, JsonArray names) {
      List<Integer> shape = new ArrayList<>();
      json.getJsonArray("shape").forEach(size -> shape.add((Integer) size));
      JsonArray array = json.getJsonArray("normalization");
      List<Normalisation> rules = new ArrayList<>();
      for (int i = 0; array != null && i < array.size(); i++) {
        JsonArray rule = array.getJsonArray(i);
        rules.add(new Normalisation(rule.getFloat(0), rule.getFloat(1), rule.getFloat(2)));
      }
      boolean fits =
          !shape.isEmpty()
              && shape.stream().allMatch(size -> size > 0)
              && json.getInteger(CLASSES) > 0
              && (array == null || rules.size() == shape.get(0))
              && (names.isEmpty() || names.size() == json.getInteger(CLASSES));
      if (!fits) {
        throw new IllegalArgumentException(json.encode());
      }
      Targets targets =
          new Targets(
              Targets.Kind.valueOf(json.getString("targets", Targets.Kind.CLASS.name())),
              json.getInteger(CLASSES),
              json.getInteger("positions", 1));
      return new Input(
          shape,
          targets,
          json.getInteger("tokens", 0),
          Optional.of(rules).filter(r -> !r.isEmpty()),
          names.stream().map(String.class::cast).toList(),
          json.getJsonObject("fitted", new JsonObject()).getMap());
    }
  }

  /** Returns the description of the model that a job trains. */
  static ModelDescription of(JobConfig job, Input input) {
    JsonObject network = job.model().settings().toJson().copy();
    network.put("name", job.model().name()).remove("parameters");
    JsonObject data =
        new JsonObject(new TreeMap<>(job.data().options())).put("name", job.data().name());
    return new ModelDescription(
        new JsonObject().put(ENGINE, job.engine()).put(MODEL, network).put(DATA, data), input);
  }

  /** Returns the texts for a safetensors file's header. */
  Map<String, String> texts() {
    Map<String, String> texts = new TreeMap<>();
    texts.put("format", "vertigrad");
    texts.put(PREFIX + ENGINE, job.getString(ENGINE));
    texts.put(PREFIX + MODEL, job.getJsonObject(MODEL).encode());
    texts.put(PREFIX + DATA, job.getJsonObject(DATA).encode());
    texts.put(PREFIX + INPUT, input.toJson().encode());
    if (!input.classNames().isEmpty()) {
      texts.put(PREFIX + CLASSES, new JsonArray(new ArrayList<>(input.classNames())).encode());
    }
    return texts;
  }

  /**
   * Reads the input from the texts of a safetensors file.
   *
   * @throws DataException when the text is not a valid description
   */
  static Optional<Input> input(Path file, Map<String, String> texts) {
    String text = texts.get(PREFIX + INPUT);
    if (text == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          Input.read(
              new JsonObject(text), new JsonArray(texts.getOrDefault(PREFIX + CLASSES, "[]"))));
    } catch (RuntimeException e) {
      throw new DataException(
          "%s: header: %s is %s, expected what export wrote there"
              .formatted(file, PREFIX + INPUT, shown(text)),
          e);
    }
  }

  /** Returns the sections of a job file that the texts of a safetensors file contain. */
  static JsonObject job(Map<String, String> texts) {
    JsonObject job = new JsonObject();
    Optional.ofNullable(texts.get(PREFIX + ENGINE)).ifPresent(engine -> job.put(ENGINE, engine));
    for (String section : List.of(MODEL, DATA)) {
      Optional.ofNullable(texts.get(PREFIX + section))
          .ifPresent(text -> job.put(section, new JsonObject(text)));
    }
    return job;
  }

  /**
   * Saves a model completely or not at all: writes a temporary file with a unique name in the same
   * folder, so that several models may be saved to one path at once, and then moves it.
   *
   * @param writing writes the engine's own file
   */
  void save(Path file, ModelArchive.FileWriting writing) throws IOException {
    ModelArchive.replace(
        file,
        part -> {
          writing.to(part);
          addTo(part);
        });
  }

  /** Adds the description to a zip file; a model file that is not a zip stays unchanged. */
  private void addTo(Path file) throws IOException {
    JsonObject json = job.copy().put(INPUT, input.toJson());
    if (!input.classNames().isEmpty()) {
      json.put(CLASSES, new JsonArray(new ArrayList<>(input.classNames())));
    }
    ModelArchive.add(file, ENTRY, json.encodePrettily().getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Adds the description to the metadata of an ONNX file: appended protocol buffer messages are
   * merged with those before.
   */
  void addToOnnx(Path file) throws IOException {
    Map<String, String> texts = texts();
    ProtoMessage all = new ProtoMessage();
    for (String key : List.of(PREFIX + INPUT, PREFIX + CLASSES)) {
      if (texts.containsKey(key)) {
        all.message(ONNX_METADATA, new ProtoMessage().text(1, key).text(2, texts.get(key)));
      }
    }
    Files.write(file, all.toBytes(), StandardOpenOption.APPEND);
  }

  /**
   * Reads the description from a model's file.
   *
   * @return empty if the file has none, because another program or an earlier version wrote it
   * @throws DataException when the description is damaged or too large
   */
  static Optional<ModelDescription> read(Path file) {
    return ModelArchive.read(file, ENTRY, MOST_BYTES)
        .map(text -> parsed(file, new String(text, StandardCharsets.UTF_8)));
  }

  private static ModelDescription parsed(Path file, String text) {
    try {
      JsonObject json = new JsonObject(text);
      Input input =
          Input.read(json.getJsonObject(INPUT), json.getJsonArray(CLASSES, new JsonArray()));
      JsonObject job =
          new JsonObject()
              .put(ENGINE, json.getString(ENGINE))
              .put(MODEL, json.getJsonObject(MODEL))
              .put(DATA, json.getJsonObject(DATA));
      return new ModelDescription(job, input);
    } catch (RuntimeException e) {
      throw new DataException(
          "%s: its %s is %s, expected what was written when the model was saved"
              .formatted(file, ENTRY, shown(text)),
          e);
    }
  }

  private static String shown(String text) {
    return text.length() > 80 ? text.substring(0, 80) + "..." : text;
  }
}
