package io.vertigrad.serving.internal;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.FieldReader.Field;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.data.Tokenizer;
import io.vertigrad.compute.data.files.ImageFile;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.SavedModel;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The form of a model's samples and of its outputs: turns what a sender has into inputs, and
 * outputs into classes. Immutable; any thread may use it.
 *
 * @param data name of the data set, for messages
 * @param shape one sample's dimensions, channels first
 * @param targets what the model predicts for each sample
 * @param tokens number of different token ids; 0 if features are numbers
 * @param outputNames names of the outputs: of the classes, labels or values; empty if they have
 *     only numbers
 * @param tokenizer turns texts into ids of tokens; empty if features are none, or if its files
 *     cannot be read
 * @param fields reads samples with named values; empty if the data set has none
 * @param tables for each channel of an image, the inputs of the 256 bytes; empty if samples are not
 *     images
 * @param treatment treatment of pictures of another size
 */
record SampleFormat(
    String data,
    List<Integer> shape,
    Targets targets,
    int tokens,
    List<String> outputNames,
    Optional<Tokenizer> tokenizer,
    Optional<FieldReader> fields,
    List<float[]> tables,
    Treatment treatment) {

  private static final Logger LOG = LoggerFactory.getLogger(SampleFormat.class);
  private static final String SAMPLE = "sample";
  private static final String SAMPLES = "samples";
  private static final int SHOWN = 60;
  private static final int MOST_NAMES = 200;

  /** Returns the format of a running job's samples. Only the description of its data is used. */
  static SampleFormat of(JobConfig job, Dataset test, ClassLoader loader) {
    DataConfig data = job.data().fitted(test.fitted());
    return new SampleFormat(
        data.name(),
        test.shape(),
        test.targets(),
        test.tokens(),
        names(test.classNames(), DatasetProvider.targetColumns(data, loader)),
        tokenizer(data, test.tokens(), loader),
        DatasetProvider.fields(data, test.shape(), loader),
        tables(test.normalisation()),
        treatment(data));
  }

  /** Returns the format that a model's file describes. */
  static SampleFormat of(SavedModel model) {
    DataConfig data = model.job().data();
    return new SampleFormat(
        data.name(),
        model.inputShape(),
        model.targets(),
        model.tokens(),
        names(model.classNames(), model.targetColumns()),
        tokenizer(data, model.tokens(), SampleFormat.class.getClassLoader()),
        model.fields(),
        tables(model.normalisation()),
        treatment(data));
  }

  /** Returns the tokens of training; without their file a model still answers about ids. */
  private static Optional<Tokenizer> tokenizer(DataConfig data, int tokens, ClassLoader loader) {
    if (tokens == 0) {
      return Optional.empty();
    }
    try {
      Optional<Tokenizer> found = DatasetProvider.tokenizer(data, loader);
      if (found.isPresent() && found.get().size() != tokens) {
        throw new DataException(
            "the data set '%s' has %s tokens now, expected the %s of the training (data.vocabulary)"
                .formatted(data.name(), found.get().size(), tokens));
      }
      return found;
    } catch (DataException e) {
      LOG.warn("texts are not continued: {}", e.getMessage());
      return Optional.empty();
    }
  }

  private static List<String> names(List<String> classes, List<TargetColumn> columns) {
    return columns.isEmpty() ? classes : columns.stream().map(TargetColumn::name).toList();
  }

  private static List<float[]> tables(Optional<List<Normalisation>> rules) {
    return rules.orElse(List.of()).stream().map(Normalisation::table).toList();
  }

  /** Returns the treatment of training; pictures of other data sets show a black background. */
  private static Treatment treatment(DataConfig data) {
    return data.name().equals("images") || data.options().containsKey("background")
        ? Treatment.of(Settings.at(data.origin(), "data", new JsonObject(data.options())))
        : Treatment.ON_BLACK;
  }

  /** Returns the number of inputs of one sample. */
  int inputs() {
    int inputs = 1;
    for (int dimension : shape) {
      inputs = Math.multiplyExact(inputs, dimension);
    }
    return inputs;
  }

  /** Returns the number of outputs of one sample. */
  int outputs() {
    return targets.outputs() * targets.positions();
  }

  /** Returns the names of labels or values, in the order of the outputs; empty for classes. */
  List<String> columns() {
    return targets.kind() == Targets.Kind.CLASS ? List.of() : outputNames;
  }

  /** Returns whether samples are images. */
  boolean isImage() {
    return !tables.isEmpty();
  }

  /**
   * Reads the samples of a request.
   *
   * @param request {@code {"sample": S}} or {@code {"samples": [S, ...]}}, each an object of named
   *     values or an array
   * @return the inputs, sample after sample
   * @throws Refusal saying where, what was found and what was expected
   */
  float[] read(JsonObject request) {
    Object one = request.getValue(SAMPLE);
    Object several = request.getValue(SAMPLES);
    if (request.size() != 1 || one == null == (several == null)) {
      throw Refusal.invalid(
          "request: has keys %s, expected either \"sample\" or \"samples\"",
          cut(request.fieldNames().toString(), MOST_NAMES));
    }
    int size = inputs();
    if (one != null) {
      float[] inputs = new float[size];
      read(one, inputs, 0, () -> SAMPLE);
      return inputs;
    }
    if (!(several instanceof JsonArray array) || array.isEmpty()) {
      throw Refusal.invalid("samples: is %s, expected an array of samples", shown(several));
    }
    float[] inputs = new float[Math.multiplyExact(array.size(), size)];
    for (int i = 0; i < array.size(); i++) {
      int sample = i;
      read(array.getValue(i), inputs, i * size, () -> "samples[%s]".formatted(sample));
    }
    return inputs;
  }

  private void read(Object sample, float[] inputs, int offset, Supplier<String> where) {
    if (sample instanceof JsonObject object) {
      if (fields.isEmpty()) {
        throw Refusal.invalid(
            "%s: is an object, but values of the data set '%s' have no names; expected an array of %d numbers",
            where.get(), data, inputs());
      }
      readNamed(object.getMap(), inputs, offset, where);
    } else if (!(sample instanceof JsonArray array)) {
      throw Refusal.invalid(
          "%s: is %s, expected %s",
          where.get(), shown(sample), fields.isPresent() ? "an object or an array" : "an array");
    } else if (fields.isPresent()) {
      List<Field> known = fields.get().fields();
      requireCount(where, array.size(), known.size(), "values, one for each field");
      Map<String, Object> named = new HashMap<>();
      for (int i = 0; i < known.size(); i++) {
        named.put(known.get(i).name(), array.getValue(i));
      }
      readNamed(named, inputs, offset, where);
    } else {
      readNumbers(array, 0, inputs, offset, offset, where);
      checkTokens(inputs, offset, where);
    }
  }

  /**
   * Reads the inputs of a sample: all in one array, or in arrays within arrays as the first
   * dimensions say.
   *
   * @param level how many dimensions the arrays around this one have
   * @param at index of the array's first input
   */
  private void readNumbers(
      JsonArray array, int level, float[] inputs, int at, int offset, Supplier<String> where) {
    int expected = 1;
    for (int dimension : shape.subList(level, shape.size())) {
      expected *= dimension;
    }
    boolean nested = array.size() > 0 && array.getValue(0) instanceof JsonArray;
    if (nested && level + 1 < shape.size()) {
      int parts = shape.get(level);
      requireCount(where, array.size(), parts, "arrays at level %d, shape %s", level + 1, shape);
      for (int i = 0; i < parts; i++) {
        if (!(array.getValue(i) instanceof JsonArray inner)) {
          throw Refusal.invalid(
              "%s: has %s beside arrays, expected an array", where.get(), shown(array.getValue(i)));
        }
        readNumbers(inner, level + 1, inputs, at + i * (expected / parts), offset, where);
      }
      return;
    }
    requireCount(where, array.size(), expected, "numbers, shape %s", shape);
    for (int i = 0; i < expected; i++) {
      Object value = array.getValue(i);
      if (!(value instanceof Number number) || !Float.isFinite(number.floatValue())) {
        throw Refusal.invalid(
            "%s[%d]: is %s, expected a %snumber",
            where.get(), at - offset + i, shown(value), value instanceof Number ? "finite " : "");
      }
      inputs[at + i] = number.floatValue();
    }
  }

  /** Reads one sample from named values. */
  void readNamed(Map<String, ?> values, float[] inputs, int offset, Supplier<String> where) {
    try {
      fields.orElseThrow().read(values, inputs, offset);
    } catch (DataException wrong) {
      throw Refusal.invalid("%s: %s", where.get(), withoutLongTexts(wrong, values));
    }
    // A missing value may be NaN here: some models fill it in themselves.
    for (int i = 0; i < inputs(); i++) {
      if (Float.isInfinite(inputs[offset + i])) {
        throw Refusal.invalid(
            "%s: input %d is %s when it is prepared as in training, expected a finite number: a value is too large",
            where.get(), i, inputs[offset + i]);
      }
    }
  }

  /** Returns a reader's message, in which texts of a request are cut as elsewhere. */
  private static String withoutLongTexts(DataException why, Map<String, ?> values) {
    String message = why.getMessage();
    for (Map.Entry<String, ?> each : values.entrySet()) {
      for (String text : List.of(each.getKey(), String.valueOf(each.getValue()))) {
        message = text.length() > MOST_NAMES ? message.replace(text, cut(text, SHOWN)) : message;
      }
    }
    return message;
  }

  private static void requireCount(
      Supplier<String> where, int found, int expected, String what, Object... values) {
    if (found != expected) {
      throw Refusal.invalid(
          "%s: has %d values, expected %d %s",
          where.get(), found, expected, String.format(Locale.ROOT, what, values));
    }
  }

  /**
   * Checks inputs that came as numbers, where samples are ids of tokens.
   *
   * @param where how errors name a sample
   */
  void checkTokens(float[] inputs, IntFunction<String> where) {
    int size = inputs();
    for (int first = 0; tokens > 0 && first < inputs.length; first += size) {
      int sample = first / size;
      checkTokens(inputs, first, () -> where.apply(sample));
    }
  }

  private void checkTokens(float[] inputs, int offset, Supplier<String> where) {
    int end = tokens > 0 ? offset + inputs() : offset;
    for (int i = offset; i < end; i++) {
      if (inputs[i] != Math.rint(inputs[i]) || inputs[i] < 0 || inputs[i] >= tokens) {
        throw Refusal.invalid(
            "%s[%d]: is %s, expected the id of a token, from 0 to %d",
            where.get(), i - offset, inputs[i], tokens - 1);
      }
    }
  }

  /** Writes the inputs of an image's bytes, which are channel after channel. */
  void readBytes(byte[] image, int from, float[] inputs, int offset) {
    int size = inputs();
    int plane = size / tables.size();
    for (int i = 0; i < size; i++) {
      inputs[offset + i] = tables.get(i / plane)[image[from + i] & 0xFF];
    }
  }

  /**
   * Reads a picture, PNG, JPEG, GIF or BMP. Blocks for some milliseconds.
   *
   * @throws Refusal when it is no picture, or the model takes none
   */
  float[] readImage(byte[] file) {
    if (!isImage()) {
      throw Refusal.invalid(
          "image: the model was not trained on images (data set %s), expected application/json",
          data);
    }
    float[] inputs = new float[inputs()];
    try {
      readBytes(ImageFile.read("image", file, shape, treatment), 0, inputs, 0);
    } catch (DataException wrong) {
      throw Refusal.invalid("%s", wrong.getMessage());
    }
    return inputs;
  }

  /**
   * Returns the name of the most probable class of each position of each sample; a class without a
   * name is its number.
   *
   * @return empty if the targets are not classes
   */
  List<String> classes(float[] outputs) {
    List<String> classes = new ArrayList<>();
    if (targets.kind() != Targets.Kind.CLASS) {
      return classes;
    }
    int each = targets.outputs();
    for (int first = 0; first < outputs.length; first += each) {
      int best = 0;
      for (int k = 1; k < each; k++) {
        best = outputs[first + k] > outputs[first + best] ? k : best;
      }
      classes.add(outputNames.isEmpty() ? Integer.toString(best) : outputNames.get(best));
    }
    return classes;
  }

  /** Returns a value of a request for a message: a text in quotes, and never a long one. */
  static String shown(Object value) {
    String text = value instanceof String word ? '"' + word + '"' : String.valueOf(value);
    return cut(text.replace('\n', ' '), SHOWN);
  }

  /** Returns the first characters of a text that is longer. */
  static String cut(String text, int most) {
    return text.length() > most ? text.substring(0, most) + "..." : text;
  }
}
