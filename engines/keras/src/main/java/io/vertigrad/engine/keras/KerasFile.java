package io.vertigrad.engine.keras;

import io.jhdf.HdfFile;
import io.jhdf.api.Attribute;
import io.jhdf.api.Dataset;
import io.jhdf.api.Group;
import io.jhdf.api.Node;
import io.jhdf.exceptions.HdfException;
import io.jhdf.object.datatype.FloatingPoint;
import io.jhdf.object.message.DataLayout;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Array;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Reads a model's HDF5 file: the description of its layers, and their arrays.
 *
 * <p>The file is read in Java, without the HDF5 library. Memory is allocated only for bytes that
 * the file has. Links, which may name other files, are not followed.
 */
final class KerasFile {

  private static final byte[] SIGNATURE = {(byte) 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  private static final byte[] ZIP = {'P', 'K'};
  private static final String DESCRIPTION = "model_config";
  private static final String VERSION = "keras_version";
  private static final String WEIGHTS = "model_weights";
  private static final String NAMES = "weight_names";
  private static final String SAVE =
      "save it with Keras 2 (tf_keras, TensorFlow before 2.16) as model.save(\"model.h5\")";

  /** One array with the last dimension fastest. */
  record Values(List<Integer> shape, float[] values) {}

  private final Path path;
  private final JsonObject model;
  private final Map<String, Map<String, Values>> weights;

  private KerasFile(Path path, JsonObject model, Map<String, Map<String, Values>> weights) {
    this.path = path;
    this.model = model;
    this.weights = weights;
  }

  /**
   * Reads a whole file.
   *
   * @throws IllegalArgumentException naming the file, what was found and what was expected
   */
  static KerasFile read(Path path) {
    long bytes = checkSignature(path);
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
        // Read from a buffer: from a file the library allocates as much as a damaged length says.
        HdfFile file = HdfFile.fromByteBuffer(channel.map(MapMode.READ_ONLY, 0, bytes))) {
      Attribute description = file.getAttribute(DESCRIPTION);
      if (description == null) {
        throw refused(
            path,
            file.getAttribute("layer_names") != null
                ? "holds weights without the model, as save_weights writes them; " + SAVE
                : "is HDF5, but no model of Keras: it has no attribute model_config; " + SAVE);
      }
      checkVersion(path, file.getAttribute(VERSION), bytes);
      JsonObject model =
          JsonText.object("model " + path + ": model_config", text(path, description, bytes));
      return new KerasFile(path, model, weights(path, file, bytes));
    } catch (SettingsException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    } catch (Refused e) {
      throw e;
    } catch (IOException e) {
      throw new Refused(path, "cannot be read: " + e.getMessage(), e);
    } catch (RuntimeException | StackOverflowError e) {
      // The library throws various exceptions for inconsistent data; a group within itself recurses
      // until the stack overflows.
      throw new Refused(
          path, "is damaged or was cut short (%s): copy it again".formatted(reason(e)), e);
    }
  }

  /** Returns the description of the model. */
  JsonObject model() {
    return model;
  }

  /**
   * Returns the arrays of a layer by their short names, such as {@code kernel}; empty if it has
   * none.
   */
  Map<String, Values> weights(String layer) {
    return weights.getOrDefault(layer, Map.of());
  }

  IllegalArgumentException refused(String what) {
    return refused(path, what);
  }

  /**
   * Returns an error about a failure while the network was built, unless its message already names
   * the file.
   */
  IllegalArgumentException refused(RuntimeException failure) {
    return failure instanceof Refused own
        ? own
        : new Refused(
            path,
            "describes layers that do not go together (%s), expected a model as Keras 2 saves it"
                .formatted(reason(failure)),
            failure);
  }

  private static Refused refused(Path path, String what) {
    return new Refused(path, what, null);
  }

  private static long checkSignature(Path path) {
    byte[] head;
    long bytes;
    try (InputStream in = Files.newInputStream(path)) {
      head = in.readNBytes(SIGNATURE.length);
      bytes = Files.size(path);
    } catch (IOException e) {
      throw new Refused(path, "cannot be read: " + e.getMessage(), e);
    }
    if (head.length == 0) {
      throw refused(path, "is empty, expected a model of Keras; " + SAVE);
    }
    if (Arrays.equals(Arrays.copyOf(head, 2), ZIP)) {
      throw refused(path, "is a zip, as Keras 3 writes .keras files, expected HDF5; " + SAVE);
    }
    if (!Arrays.equals(head, SIGNATURE)) {
      throw refused(path, "is no HDF5 file, expected a model of Keras; " + SAVE);
    }
    if (bytes > Integer.MAX_VALUE) {
      throw refused(
          path, String.format(Locale.ROOT, "has %,d bytes, expected less than 2 GiB", bytes));
    }
    return bytes;
  }

  private static void checkVersion(Path path, Attribute attribute, long bytes) {
    String version = attribute == null ? "none" : text(path, attribute, bytes);
    if (!version.startsWith("2.")) {
      throw refused(
          path,
          "was saved by Keras %s, expected Keras 2: %s".formatted(JsonText.shown(version), SAVE));
    }
  }

  private static Map<String, Map<String, Values>> weights(Path path, HdfFile file, long bytes) {
    Map<String, Map<String, Values>> layers = new LinkedHashMap<>();
    if (!(file.getChild(WEIGHTS) instanceof Group all) || file.getChild(WEIGHTS).isLink()) {
      throw refused(
          path, "has no group model_weights, expected the model with its weights; " + SAVE);
    }
    for (Node layer : all) {
      if (layer instanceof Group group && !layer.isLink()) {
        layers.put(layer.getName(), arrays(path, group, bytes));
      }
    }
    return layers;
  }

  private static Map<String, Values> arrays(Path path, Group layer, long bytes) {
    Map<String, Values> arrays = new LinkedHashMap<>();
    for (String name : names(path, layer.getAttribute(NAMES), bytes)) {
      Node node = layer;
      for (String part : name.split("/")) {
        node = node instanceof Group group && !node.isLink() ? group.getChild(part) : null;
      }
      String place = layer.getName() + "/" + name;
      if (!(node instanceof Dataset dataset) || node.isLink()) {
        throw refused(path, "names the array %s, which it does not hold".formatted(place));
      }
      String last = name.substring(name.lastIndexOf('/') + 1);
      int colon = last.indexOf(':');
      arrays.put(colon < 0 ? last : last.substring(0, colon), values(path, place, dataset, bytes));
    }
    return arrays;
  }

  private static List<String> names(Path path, Attribute attribute, long bytes) {
    if (attribute == null || attribute.isEmpty() || attribute.getSize() == 0) {
      return List.of();
    }
    checkSize(path, NAMES, attribute.getSize(), attribute.getDataType().getSize(), bytes);
    return attribute.getData() instanceof String[] names
        ? List.of(names)
        : List.of(text(path, attribute, bytes));
  }

  private static Values values(Path path, String name, Dataset dataset, long bytes) {
    if (!(dataset.getDataType() instanceof FloatingPoint type)
        || type.getSize() != Float.BYTES && type.getSize() != Double.BYTES) {
      throw refused(
          path,
          "array %s is of %s of %s bytes, expected float32"
              .formatted(
                  name,
                  dataset.getDataType().getClass().getSimpleName(),
                  dataset.getDataType().getSize()));
    }
    DataLayout layout = dataset.getDataLayout();
    if (layout != DataLayout.CONTIGUOUS && layout != DataLayout.COMPACT) {
      throw refused(
          path,
          "array %s is stored as %s, expected in one piece and not compressed, as Keras writes it"
              .formatted(name, layout));
    }
    long elements = 1;
    for (long size : dataset.getDimensionsAsLong()) {
      if (size < 1 || size > bytes || elements * size > bytes) {
        throw refused(
            path,
            String.format(
                Locale.ROOT,
                "array %s has the shape %s, and the file only %,d bytes",
                name,
                Arrays.toString(dataset.getDimensionsAsLong()),
                bytes));
      }
      elements *= size;
    }
    checkSize(path, name, elements, type.getSize(), bytes);
    List<Integer> shape = Arrays.stream(dataset.getDimensions()).boxed().toList();
    float[] values = flat(dataset.getDataFlat(), (int) elements);
    for (int i = 0; i < values.length; i++) {
      if (!Float.isFinite(values[i])) {
        throw refused(
            path, "array %s: value %s is %s, expected a number".formatted(name, i, values[i]));
      }
    }
    return new Values(shape, values);
  }

  private static float[] flat(Object data, int elements) {
    if (data instanceof float[] values && values.length == elements) {
      return values;
    }
    if (data.getClass().isArray() && Array.getLength(data) == elements) {
      float[] values = new float[elements];
      for (int i = 0; i < elements; i++) {
        values[i] = ((Number) Array.get(data, i)).floatValue();
      }
      return values;
    }
    throw new HdfException("an array has another length than its shape");
  }

  private static void checkSize(Path path, String name, long elements, int size, long bytes) {
    if (elements < 0 || size < 0 || elements > bytes || elements * size > bytes) {
      throw refused(
          path,
          String.format(
              Locale.ROOT,
              "%s has %,d values of %d bytes, and the file only %,d bytes: it is damaged",
              name,
              elements,
              size,
              bytes));
    }
  }

  private static String text(Path path, Attribute attribute, long bytes) {
    checkSize(
        path, attribute.getName(), attribute.getSize(), attribute.getDataType().getSize(), bytes);
    Object data = attribute.getData();
    if (data instanceof String text) {
      return text;
    }
    if (data instanceof String[] texts && texts.length == 1) {
      return texts[0];
    }
    throw refused(
        path,
        "attribute %s is of %s, expected a text"
            .formatted(attribute.getName(), data == null ? null : data.getClass().getSimpleName()));
  }

  private static String reason(Throwable failure) {
    if (failure instanceof StackOverflowError) {
      return "it is nested without end";
    }
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String message = root.getMessage();
    return message == null
        ? root.getClass().getSimpleName()
        : message.strip().lines().findFirst().orElse("no detail");
  }

  /** An error about a file that cannot be used; its message is for the user. */
  private static final class Refused extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    Refused(Path path, String what, Throwable cause) {
      super("model %s: %s".formatted(path, what), cause);
    }
  }
}
