package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.engine.pytorch.graph.ExportedProgram;
import io.vertigrad.engine.pytorch.graph.Transformer;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Builds the built-in networks. They have the same options as in the engine {@code dl4j}, which has
 * no {@code transformer}.
 */
final class BuiltInNetworks {

  private static final TreeMap<String, BiFunction<ModelConfig, Settings, Network>> NETWORKS =
      new TreeMap<>();

  static {
    NETWORKS.put("convnet", BuiltInNetworks::convNet);
    NETWORKS.put("mlp", BuiltInNetworks::mlp);
    NETWORKS.put("resnet20", BuiltInNetworks::resNet20);
  }

  private static final String TRANSFORMER = "transformer";
  private static final String INITIALIZATION = "initialization";
  private static final int[] CHANNELS = {16, 32, 64};
  private static final int BLOCKS = 3;

  private BuiltInNetworks() {}

  static boolean has(String name) {
    return isLayered(name) || isGraph(name);
  }

  /** Returns whether a network is a list of layers, which {@link #of} builds. */
  static boolean isLayered(String name) {
    return NETWORKS.containsKey(name);
  }

  /** Returns whether a network is a graph, which {@link #program} builds. */
  static boolean isGraph(String name) {
    return name.equals(TRANSFORMER);
  }

  /** Returns the names of networks that are lists of layers. */
  static String layered() {
    return String.join(", ", NETWORKS.keySet());
  }

  static String names() {
    return layered() + ", " + TRANSFORMER;
  }

  /**
   * Checks a network's options without building it.
   *
   * @throws io.vertigrad.compute.settings.SettingsException at the first error
   */
  static void check(String name, Settings options) {
    if (isGraph(name)) {
      Transformer.read(options);
    } else {
      Options.read(name, options);
    }
    options.refuseUnknown();
  }

  /**
   * Returns a network with its initial parameters.
   *
   * @throws IllegalArgumentException when an option is wrong, or the data do not fit
   */
  static Network of(ModelConfig config) {
    return built(config, options -> NETWORKS.get(config.name()).apply(config, options));
  }

  /**
   * Returns a network that is a graph, with its initial parameters.
   *
   * @throws IllegalArgumentException when an option is wrong, or the data do not fit
   */
  static ExportedProgram program(ModelConfig config) {
    return built(config, Transformer::read).program(config);
  }

  private static <T> T built(ModelConfig config, Function<Settings, T> builder) {
    Settings options = options(config);
    try {
      T network = builder.apply(options);
      options.refuseUnknown();
      return network;
    } catch (SettingsException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private static Settings options(ModelConfig config) {
    return Settings.of("model " + config.name(), new JsonObject(new TreeMap<>(config.options())));
  }

  /** Returns the number of parameters of a network if it is known without building it. */
  static OptionalLong parameters(ModelConfig config) {
    if (isGraph(config.name())) {
      return OptionalLong.of(
          Transformer.read(options(config))
              .parameters(config.tokens(), config.inputShape().get(0)));
    }
    if (!config.name().equals("mlp")) {
      return OptionalLong.empty();
    }
    Options options = Options.read(config.name(), options(config));
    long inputs = config.inputShape().stream().reduce(1, Math::multiplyExact);
    long hidden = options.hidden();
    long between = (options.layers() - 1) * (hidden + 1) * hidden;
    return OptionalLong.of((inputs + 1) * hidden + between + (hidden + 1) * config.classes());
  }

  /**
   * Refuses data with several positions, because the built-in networks end with one row of outputs.
   */
  static void requireOnePosition(ModelConfig config) {
    if (config.positions() > 1) {
      throw new IllegalArgumentException(
          "model %s: the data have a class at each of %s positions, but this network predicts one per sample; expected transformer, a module of yours, or data with one target for each sample (data.predict next)"
              .formatted(config.name(), config.positions()));
    }
  }

  /** The options of the networks; each network uses its own. */
  private record Options(boolean glorot, int hidden, int layers, boolean projects) {

    static Options read(String name, Settings settings) {
      boolean glorot =
          settings.choice(INITIALIZATION, "pytorch", "pytorch", "glorot").equals("glorot");
      boolean mlp = name.equals("mlp");
      return new Options(
          glorot,
          mlp ? settings.integer("hidden", 512, 1, 1 << 20) : 0,
          mlp ? settings.integer("layers", 1, 1, 1_000) : 0,
          name.equals("resnet20") && settings.choice("shortcut", "B", "A", "B").equals("B"));
    }
  }

  /** Builds a convolution to 3 channels of 3 x 3, max-pool 3, ReLU and a dense layer. */
  private static Network convNet(ModelConfig config, Settings settings) {
    requireImages(config, 5);
    NetworkBuilder network =
        new NetworkBuilder(config, Options.read(config.name(), settings).glorot());
    network.convolution("conv1", Network.INPUT, new NetworkBuilder.Convolution(3, 3, 1, 0), true);
    network.maxPool("pool1", "conv1", 3);
    network.relu("relu1", "pool1");
    network.dense("fc", "relu1", config.classes(), false);
    return network.build();
  }

  /** Builds dense layers with a ReLU after each but the last. */
  private static Network mlp(ModelConfig config, Settings settings) {
    Options options = Options.read(config.name(), settings);
    NetworkBuilder network = new NetworkBuilder(config, options.glorot());
    String last = Network.INPUT;
    for (int i = 1; i <= options.layers(); i++) {
      network.dense("fc" + i, last, options.hidden(), true);
      last = "fc" + i;
    }
    network.dense("fc" + (options.layers() + 1), last, config.classes(), false);
    return network.build();
  }

  /**
   * Builds the network of He, Zhang, Ren and Sun (2016), section 4.2: three stages of three blocks.
   */
  private static Network resNet20(ModelConfig config, Settings settings) {
    requireImages(config, 4);
    Options options = Options.read(config.name(), settings);
    NetworkBuilder network = new NetworkBuilder(config, options.glorot());
    network.convolution("stem-conv", Network.INPUT, square(CHANNELS[0], 1), false);
    network.batchNorm("stem-bn", "stem-conv");
    network.relu("stem-relu", "stem-bn");
    String last = "stem-relu";
    for (int stage = 0; stage < CHANNELS.length; stage++) {
      for (int block = 0; block < BLOCKS; block++) {
        boolean narrows = stage > 0 && block == 0;
        last =
            block(
                network,
                "s" + stage + "b" + block,
                last,
                CHANNELS[stage],
                narrows,
                options.projects());
      }
    }
    network.mean("gap", last);
    network.dense("fc", "gap", config.classes(), false);
    return network.build();
  }

  /**
   * Adds two convolutions beside a shortcut. A narrowing block doubles the channels and halves
   * height and width.
   */
  private static String block(
      NetworkBuilder network,
      String name,
      String from,
      int channels,
      boolean narrows,
      boolean projects) {
    network.convolution(name + "a-conv", from, square(channels, narrows ? 2 : 1), false);
    network.batchNorm(name + "a-bn", name + "a-conv");
    network.relu(name + "a-relu", name + "a-bn");
    network.convolution(name + "b-conv", name + "a-relu", square(channels, 1), false);
    network.batchNorm(name + "b-bn", name + "b-conv");
    String shortcut = from;
    if (narrows && projects) {
      shortcut = name + "s-bn";
      network.convolution(
          name + "s-conv", from, new NetworkBuilder.Convolution(channels, 1, 2, 0), false);
      network.batchNorm(shortcut, name + "s-conv");
      // Its parameters are drawn after the others, but it is computed and exchanged where its input
      // is.
      network.move(name + "s-conv", name + "a-conv");
      network.move(shortcut, name + "a-bn");
    } else if (narrows) {
      shortcut = name + "s-pad";
      network.everySecond(name + "s-half", from);
      network.padChannels(shortcut, name + "s-half", channels / 4);
    }
    network.add(name + "-add", name + "b-bn", shortcut);
    network.relu(name + "-relu", name + "-add");
    return name + "-relu";
  }

  private static NetworkBuilder.Convolution square(int channels, int stride) {
    return new NetworkBuilder.Convolution(channels, 3, stride, 1);
  }

  private static void requireImages(ModelConfig config, int least) {
    List<Integer> shape = config.inputShape();
    if (shape.size() != 3 || shape.get(1) < least || shape.get(2) < least) {
      throw new IllegalArgumentException(
          "model %s: samples are %s, expected [channels, height, width] of at least %s x %s"
              .formatted(config.name(), shape, least, least));
    }
  }
}
