package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.MissingClass;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Reads a network from a file: a zip of {@code ModelSerializer} or a configuration as JSON.
 *
 * <p>The parameters are read in Java and not by ND4J, which allocates native memory for any length
 * that a file claims. {@code ModelSerializer} would also read serialised Java objects from the zip,
 * which could run any code.
 */
final class SavedNetwork {

  private static final String CONFIGURATION = "configuration.json";
  private static final String PARAMETERS = "coefficients.bin";
  private static final Pattern CLASS = Pattern.compile("\"@class\"\\s*:\\s*\"([^\"]+)\"");
  private static final int MOST_SHAPE = 64;
  private static final int MOST_CHARACTERS = 300;

  private SavedNetwork() {}

  /**
   * Reads a file.
   *
   * @param seed for the initial parameters if the file has none
   * @throws IllegalArgumentException when it is missing or not a DL4J model
   */
  static NeuralNetwork read(Path file, long seed) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException(
          "model %s: no such file, expected a DL4J .zip or configuration .json".formatted(file));
    }
    try {
      return isJson(file) ? configured(file, seed) : restored(file);
    } catch (IOException | RuntimeException | StackOverflowError | OutOfMemoryError e) {
      missingLayer(file)
          .ifPresent(
              sentence -> {
                throw new IllegalArgumentException("model %s: %s".formatted(file, sentence), e);
              });
      throw new IllegalArgumentException(
          "model %s: not a DL4J model (%s), expected a zip of ModelSerializer or a configuration"
                  .formatted(file, reason(e))
              + " as .json",
          e);
    }
  }

  /** Returns the first line of a failure's message, for use inside another message. */
  static String reason(Throwable failure) {
    String message = failure.getMessage();
    String first =
        message == null
            ? failure.getClass().getSimpleName()
            : message.strip().lines().findFirst().orElse("no detail").replaceAll("\\p{Cntrl}", "?");
    return first.substring(0, Math.min(first.length(), MOST_CHARACTERS));
  }

  private static boolean isJson(Path file) {
    return file.getFileName().toString().endsWith(".json");
  }

  /**
   * Describes a user's layer class that is missing. DL4J's own error says only that the layer may
   * be an old one.
   */
  private static Optional<String> missingLayer(Path file) {
    try {
      Stream<String> classes = CLASS.matcher(json(file)).results().map(found -> found.group(1));
      return MissingClass.among(classes, SavedNetwork.class.getClassLoader());
    } catch (IOException | RuntimeException unreadable) {
      return Optional.empty();
    }
  }

  private static String json(Path file) throws IOException {
    byte[] bytes;
    if (isJson(file)) {
      if (Files.size(file) > JsonText.MOST_BYTES) {
        throw tooLong(CONFIGURATION, Files.size(file));
      }
      bytes = Files.readAllBytes(file);
    } else {
      try (ZipFile zip = new ZipFile(file.toFile())) {
        bytes = bytes(zip, entry(zip, CONFIGURATION), JsonText.MOST_BYTES);
      }
    }
    String text = new String(bytes, StandardCharsets.UTF_8);
    // DL4J's parser accepts unlimited nesting, duplicate keys, and text after the end.
    JsonText.object(CONFIGURATION, text);
    return text;
  }

  private static ZipEntry entry(ZipFile zip, String name) throws ZipException {
    ZipEntry entry = zip.getEntry(name);
    if (entry == null) {
      throw new ZipException("no " + name + " in it");
    }
    return entry;
  }

  /** Reads an entry to its end and compares its checksum. */
  private static byte[] bytes(ZipFile zip, ZipEntry entry, long most) throws IOException {
    if (entry.getSize() > most) {
      throw tooLong(entry.getName(), entry.getSize());
    }
    CRC32 checksum = new CRC32();
    byte[] bytes;
    try (InputStream in = new CheckedInputStream(zip.getInputStream(entry), checksum)) {
      bytes = in.readNBytes((int) Math.min(most, Integer.MAX_VALUE - 8));
    }
    if (bytes.length != entry.getSize() || checksum.getValue() != entry.getCrc()) {
      throw new ZipException(
          "%s is damaged: checksum %08x, expected %08x"
              .formatted(entry.getName(), checksum.getValue(), entry.getCrc()));
    }
    return bytes;
  }

  private static ZipException tooLong(String name, long bytes) {
    return new ZipException(
        String.format(Locale.ROOT, "%s has %,d bytes, more than it may have", name, bytes));
  }

  private static NeuralNetwork restored(Path file) throws IOException {
    String json = json(file);
    if (isGraph(json)) {
      ComputationGraphConfiguration configuration = ComputationGraphConfiguration.fromJson(json);
      long expected = 0;
      for (GraphVertex vertex : configuration.getVertices().values()) {
        expected = Math.addExact(expected, vertex.numParams(true));
      }
      ComputationGraph graph = new ComputationGraph(configuration);
      graph.init(parameters(file, expected), false);
      return graph;
    }
    MultiLayerConfiguration configuration = MultiLayerConfiguration.fromJson(json);
    long expected = 0;
    for (NeuralNetConfiguration layer : configuration.getConfs()) {
      expected = Math.addExact(expected, layer.getLayer().initializer().numParams(layer));
    }
    MultiLayerNetwork network = new MultiLayerNetwork(configuration);
    network.init(parameters(file, expected), false);
    return network;
  }

  /**
   * Reads the parameters that {@code Nd4j.write} has written: shape, strides and order as whole
   * numbers, then the values, each part preceded by its storage's name, length and type.
   *
   * @param expected number of parameters that the configuration needs
   */
  private static INDArray parameters(Path file, long expected) throws IOException {
    if (expected < 1 || expected > Integer.MAX_VALUE - 1024) {
      throw new ZipException(
          String.format(Locale.ROOT, "the configuration has %,d parameters", expected));
    }
    try (ZipFile zip = new ZipFile(file.toFile())) {
      ZipEntry entry = entry(zip, PARAMETERS);
      byte[] bytes = bytes(zip, entry, expected * Double.BYTES + 1024);
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
      long shape = header(in, "LONG");
      if (shape < 4 || shape > MOST_SHAPE) {
        throw new ZipException("%s describes its shape by %s numbers".formatted(PARAMETERS, shape));
      }
      in.skipBytes((int) shape * Long.BYTES);
      long count = header(in, "FLOAT");
      if (count != expected || in.available() != count * Float.BYTES) {
        throw new ZipException(
            String.format(
                Locale.ROOT,
                "%s holds %,d parameters in %,d bytes, the configuration needs %,d of 4 bytes",
                PARAMETERS,
                count,
                in.available(),
                expected));
      }
      float[] values = new float[(int) count];
      ByteBuffer.wrap(bytes, bytes.length - in.available(), in.available())
          .asFloatBuffer()
          .get(values);
      return Nd4j.createFromArray(values).reshape(1, values.length);
    }
  }

  /** Reads the header of values of this type and returns their number. */
  private static long header(DataInputStream in, String type) throws IOException {
    in.readUTF();
    long count = in.readLong();
    String found = in.readUTF();
    if (!found.equals(type)) {
      throw new ZipException(
          "%s holds values of type %s, expected %s".formatted(PARAMETERS, found, type));
    }
    return count;
  }

  private static NeuralNetwork configured(Path file, long seed) throws IOException {
    String json = json(file);
    if (isGraph(json)) {
      ComputationGraphConfiguration configuration = ComputationGraphConfiguration.fromJson(json);
      configuration.getDefaultConfiguration().setSeed(seed);
      ComputationGraph graph = new ComputationGraph(configuration);
      graph.init();
      return graph;
    }
    MultiLayerConfiguration configuration = MultiLayerConfiguration.fromJson(json);
    for (NeuralNetConfiguration layer : configuration.getConfs()) {
      layer.setSeed(seed);
    }
    MultiLayerNetwork network = new MultiLayerNetwork(configuration);
    network.init();
    return network;
  }

  private static boolean isGraph(String json) {
    return json.contains("\"vertices\"");
  }
}
