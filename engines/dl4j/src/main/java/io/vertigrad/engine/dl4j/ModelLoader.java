package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.MissingClass;
import io.vertigrad.compute.settings.NamedClass;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Finds the network that a configuration names, and checks that it fits the data. */
final class ModelLoader {

  private final ModelConfig config;

  ModelLoader(ModelConfig config) {
    this.config = config;
  }

  /**
   * Builds something from a network. Any error that DL4J reports about a network from a file
   * becomes one sentence that names the file.
   */
  static <T> T named(ModelConfig config, Supplier<T> made) {
    try {
      return made.get();
    } catch (RuntimeException e) {
      boolean said =
          e instanceof IllegalArgumentException
              && String.valueOf(e.getMessage()).startsWith("model ");
      if (said || !isFile(config.name())) {
        throw e;
      }
      throw new IllegalArgumentException(
          "model %s: cannot be made into a network (%s), expected layers that fit each other"
              .formatted(config.name(), SavedNetwork.reason(e)),
          e);
    }
  }

  Model load() {
    Network network = adapted(network());
    List<Integer> sample = InputCheck.sampleShape(network, config);
    if (isFile(config.name())) {
      InputCheck.requireGradient(network, sample, config);
    }
    return new Dl4jModel(network, config, sample);
  }

  /** Returns the network of the factory or file, with the loss that the job asks for. */
  NeuralNetwork network() {
    NeuralNetwork network = MissingClass.named("model " + config.name(), this::found);
    LossCheck.require(network, config);
    return network;
  }

  /**
   * Checks name and options of a model without building it.
   *
   * @param options the section of the job file
   * @throws io.vertigrad.compute.settings.SettingsException at the first error
   */
  static void check(String name, Settings options) {
    TreeMap<String, ModelFactory> known = registered();
    if (!known.containsKey(name) && isFile(name, options)) {
      if (!Files.isRegularFile(Path.of(name))) {
        throw options.refuse(
            "name", "is \"%s\", but there is no such file; expected a model".formatted(name));
      }
      options.refuseUnknown();
      if (ForeignFile.isOne(name)) {
        try {
          ForeignFile.format(name);
        } catch (IllegalArgumentException missing) {
          throw options.refuse("name", "is \"%s\", %s".formatted(name, missing.getMessage()));
        }
      }
      return;
    }
    ModelFactory factory;
    try {
      factory =
          known.containsKey(name)
              ? known.get(name)
              : factoryClass(name, String.join(", ", known.keySet()));
    } catch (IllegalArgumentException unusable) {
      throw options.refuse("name", "is wrong: " + unusable.getMessage());
    }
    factory.options().forEach(options::has);
    options.refuseUnknown();
    factory.check(options);
  }

  /** Returns the number of parameters of a model if its factory knows it without building it. */
  static OptionalLong parameters(ModelConfig config) {
    ModelFactory factory = registered().get(config.name());
    return factory == null ? OptionalLong.empty() : factory.parameters(config);
  }

  /** Returns true when the name stands for a file, by the same rule as {@link #found}. */
  private static boolean isFile(String name, Settings options) {
    try {
      return isPath(name) || Files.exists(Path.of(name));
    } catch (InvalidPathException e) {
      throw options.refuse("name", "is neither a model nor a path: " + e.getMessage());
    }
  }

  /** Returns true when the name is a path by its form, whether or not the file exists. */
  static boolean isPath(String name) {
    return name.contains("/")
        || name.endsWith(".zip")
        || name.endsWith(".json")
        || ForeignFile.isOne(name);
  }

  private static TreeMap<String, ModelFactory> registered() {
    TreeMap<String, ModelFactory> known = new TreeMap<>();
    ServiceLoader.load(ModelFactory.class).forEach(factory -> known.put(factory.name(), factory));
    return known;
  }

  private static boolean isFile(String name) {
    return !registered().containsKey(name) && (isPath(name) || Files.exists(Path.of(name)));
  }

  private NeuralNetwork found() {
    TreeMap<String, ModelFactory> known = registered();
    String name = config.name();
    if (known.containsKey(name)) {
      return built(known.get(name));
    }
    if (ForeignFile.isOne(name)) {
      return ForeignFile.read(Path.of(name), config.seed(), config.loss());
    }
    if (isFile(name)) {
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
            "model %s: found %s inputs and %s outputs, expected 1 and 1"
                .formatted(config.name(), graph.getNumInputArrays(), graph.getNumOutputArrays()));
      }
      return GraphNetwork.training(graph);
    }
    throw new IllegalArgumentException(
        "model %s: found a %s, expected a MultiLayerNetwork or a ComputationGraph"
            .formatted(config.name(), network == null ? null : network.getClass().getName()));
  }
}
