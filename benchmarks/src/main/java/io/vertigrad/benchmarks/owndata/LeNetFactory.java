package io.vertigrad.benchmarks.owndata;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.ModelFactory;
import java.util.Map;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Builds the network that studies of unlike data train on MNIST (Li, Diao, Chen, He: "Federated
 * learning on non-IID data silos: an experimental study", ICDE 2022): convolutions of 5 x 5 without
 * padding to 6 and 16 channels, each with max-pool 2 and ReLU, then dense layers of 120, 84 and the
 * classes. It has 44,426 parameters for 28 x 28 digits. Options: {@code firstChannels}, {@code
 * secondChannels}.
 *
 * <p>Weights and biases are uniform in {@code [-1/sqrt(n), 1/sqrt(n))}, n the number of inputs of
 * one unit, which is PyTorch's default. A job file names this class as {@code model.name}.
 */
public final class LeNetFactory implements ModelFactory {

  /** Option: channels of the first convolution. */
  static final String FIRST = "firstChannels";

  /** Option: channels of the second convolution. */
  static final String SECOND = "secondChannels";

  private static final int FIRST_CHANNELS = 6;
  private static final int SECOND_CHANNELS = 16;
  private static final int MOST_CHANNELS = 1_024;
  private static final int KERNEL = 5;
  private static final int LEAST_SIDE = 16;

  /** Creates the factory, which a job file names by its class. */
  public LeNetFactory() {}

  @Override
  public String name() {
    return "lenet";
  }

  @Override
  public Set<String> options() {
    return Set.of(FIRST, SECOND);
  }

  @Override
  public void check(Settings options) {
    options.integer(FIRST, FIRST_CHANNELS, 1, MOST_CHANNELS);
    options.integer(SECOND, SECOND_CHANNELS, 1, MOST_CHANNELS);
  }

  @Override
  public NeuralNetwork network(ModelConfig config) {
    ListBuilder list =
        new NeuralNetConfiguration.Builder()
            .seed(config.seed())
            .dataType(DataType.FLOAT)
            .updater(new Sgd())
            .cacheMode(CacheMode.DEVICE)
            .list();
    convolution(list, "conv1", channels(config, FIRST, FIRST_CHANNELS));
    convolution(list, "conv2", channels(config, SECOND, SECOND_CHANNELS));
    list.layer(dense("fc1", 120));
    list.layer(dense("fc2", 84));
    list.layer(
        new OutputLayer.Builder(LossFunction.MCXENT)
            .name("fc3")
            .nOut(config.classes())
            .activation(Activation.SOFTMAX)
            .build());
    MultiLayerNetwork network = new MultiLayerNetwork(list.setInputType(images(config)).build());
    network.init();
    initialise(network.paramTable(), new SplitMix64(config.seed()));
    return network;
  }

  private static int channels(ModelConfig config, String key, int otherwise) {
    return config.options().get(key) instanceof Number given ? given.intValue() : otherwise;
  }

  private static InputType images(ModelConfig config) {
    int[] shape = config.inputShape().stream().mapToInt(Integer::intValue).toArray();
    if (shape.length != 3 || shape[1] < LEAST_SIDE || shape[2] < LEAST_SIDE) {
      throw new IllegalArgumentException(
          "model %s: samples are %s, expected [channels, height, width] of at least %s x %s"
              .formatted(config.name(), config.inputShape(), LEAST_SIDE, LEAST_SIDE));
    }
    return InputType.convolutional(shape[1], shape[2], shape[0], CNN2DFormat.NCHW);
  }

  /** Adds a convolution, a max-pool and a ReLU. The ReLU of a maximum is the maximum of ReLUs. */
  private static void convolution(ListBuilder list, String name, int channels) {
    list.layer(
        new ConvolutionLayer.Builder(KERNEL, KERNEL)
            .name(name)
            .nOut(channels)
            .activation(Activation.IDENTITY)
            .build());
    list.layer(
        new SubsamplingLayer.Builder(PoolingType.MAX)
            .name(name + "-pool")
            .kernelSize(2, 2)
            .stride(2, 2)
            .build());
    list.layer(
        new ActivationLayer.Builder().name(name + "-relu").activation(Activation.RELU).build());
  }

  private static DenseLayer dense(String name, int units) {
    return new DenseLayer.Builder().name(name).nOut(units).activation(Activation.RELU).build();
  }

  private static void initialise(Map<String, INDArray> table, SplitMix64 random) {
    table.forEach(
        (name, weights) -> {
          if (name.endsWith("_W")) {
            long inputs =
                weights.rank() == 4 ? weights.length() / weights.size(0) : weights.size(0);
            double bound = 1 / Math.sqrt(inputs);
            fill(weights, bound, random);
            fill(table.get(name.substring(0, name.length() - 1) + "b"), bound, random);
          }
        });
  }

  private static void fill(INDArray array, double bound, SplitMix64 random) {
    for (long i = 0; i < array.length(); i++) {
      array.putScalar(i, random.between(-bound, bound));
    }
  }
}
