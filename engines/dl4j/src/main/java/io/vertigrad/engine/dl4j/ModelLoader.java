package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.MissingClass;
import io.vertigrad.compute.settings.NamedClass;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.TreeSet;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Finds the network that a configuration names, and checks that it fits the data. */
final class ModelLoader {

  private final ModelConfig config;

  ModelLoader(ModelConfig config) {
    this.config = config;
  }

  Model load() {
    Network network = adapted(network());
    List<Integer> sample = InputCheck.sampleShape(network, config);
    return new Dl4jModel(network, sample, config.classes());
  }

  /** The network as its factory or file gives it. */
  NeuralNetwork network() {
    return MissingClass.named("model " + config.name(), this::found);
  }

  private NeuralNetwork found() {
    TreeMap<String, ModelFactory> known = new TreeMap<>();
    ServiceLoader.load(ModelFactory.class).forEach(factory -> known.put(factory.name(), factory));
    String name = config.name();
    if (known.containsKey(name)) {
      return built(known.get(name));
    }
    boolean path = name.contains("/") || name.endsWith(".zip") || name.endsWith(".json");
    if (path || Files.exists(Path.of(name))) {
      return SavedNetwork.read(Path.of(name), config.seed());
    }
    return built(factoryClass(name, String.join(", ", known.keySet())));
  }

  private NeuralNetwork built(ModelFactory factory) {
    for (String option : new TreeSet<>(config.options().keySet())) {
      if (!factory.options().contains(option)) {
        throw new IllegalArgumentException(
            "model %s: option %s is not known, expected %s"
                .formatted(config.name(), option, described(factory)));
      }
    }
    return factory.network(config);
  }

  private static String described(ModelFactory factory) {
    return factory.options().isEmpty()
        ? "no options"
        : "one of " + String.join(", ", new TreeSet<>(factory.options()));
  }

  private static ModelFactory factoryClass(String name, String known) {
    return NamedClass.instance(
            name, ModelFactory.class, Thread.currentThread().getContextClassLoader())
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "model '%s' is not known, expected one of %s, ".formatted(name, known)
                        + "the path of a DL4J .zip or .json, or the class name of a ModelFactory"
                        + NamedClass.hint(name)));
  }

  private Network adapted(NeuralNetwork network) {
    if (network instanceof MultiLayerNetwork layers) {
      return LayeredNetwork.training(layers);
    }
    if (network instanceof ComputationGraph graph) {
      if (graph.getNumInputArrays() != 1 || graph.getNumOutputArrays() != 1) {
        throw new IllegalArgumentException(
            "model %s: found %d inputs and %d outputs, expected 1 and 1"
                .formatted(config.name(), graph.getNumInputArrays(), graph.getNumOutputArrays()));
      }
      return GraphNetwork.training(graph);
    }
    throw new IllegalArgumentException(
        "model %s: found a %s, expected a MultiLayerNetwork or a ComputationGraph"
            .formatted(config.name(), network == null ? null : network.getClass().getName()));
  }
}
