package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.settings.MissingClass;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;

/** A network in a file: a zip of {@code ModelSerializer} or a configuration as JSON. */
final class SavedNetwork {

  private static final String CONFIGURATION = "configuration.json";
  private static final Pattern CLASS = Pattern.compile("\"@class\"\\s*:\\s*\"([^\"]+)\"");

  private SavedNetwork() {}

  /**
   * Reads a file.
   *
   * @param seed for the initial parameters, where the file has none
   * @throws IllegalArgumentException when it is missing or not a DL4J model
   */
  static NeuralNetwork read(Path file, long seed) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException(
          "model %s: no such file, expected a DL4J .zip or configuration .json".formatted(file));
    }
    try {
      String name = file.getFileName().toString();
      return name.endsWith(".json") ? configured(file, seed) : restored(file);
    } catch (IOException | RuntimeException e) {
      missingLayer(file)
          .ifPresent(
              sentence -> {
                throw new IllegalArgumentException("model %s: %s".formatted(file, sentence), e);
              });
      throw new IllegalArgumentException(
          "model %s: not a DL4J model (%s), expected a zip of ModelSerializer or a configuration"
                  .formatted(
                      file,
                      e.getMessage() == null ? e : e.getMessage().lines().findFirst().orElse(""))
              + " as .json",
          e);
    }
  }

  /** DL4J says of a layer of one's own whose class is missing only that it may be an old one. */
  private static Optional<String> missingLayer(Path file) {
    try {
      Stream<String> classes = CLASS.matcher(json(file)).results().map(found -> found.group(1));
      return MissingClass.among(classes, SavedNetwork.class.getClassLoader());
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private static String json(Path file) throws IOException {
    if (file.getFileName().toString().endsWith(".json")) {
      return Files.readString(file);
    }
    try (ZipFile zip = new ZipFile(file.toFile())) {
      ZipEntry entry = zip.getEntry(CONFIGURATION);
      if (entry == null) {
        throw new ZipException("no " + CONFIGURATION + " in it");
      }
      return new String(zip.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static NeuralNetwork restored(Path file) throws IOException {
    return isGraph(json(file))
        ? ModelSerializer.restoreComputationGraph(file.toFile(), false)
        : ModelSerializer.restoreMultiLayerNetwork(file.toFile(), false);
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
