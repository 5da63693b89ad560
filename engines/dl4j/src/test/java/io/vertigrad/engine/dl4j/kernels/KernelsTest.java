package io.vertigrad.engine.dl4j.kernels;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.engine.dl4j.Samples;
import java.util.List;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Compares every fast layer with the stock layer it replaces: loss, outputs and gradients. */
class KernelsTest {

  private static final int SAMPLES = 35;
  private static final double TOLERANCE = 2e-6;

  @BeforeAll
  static void startBackend() {
    Engine.named("dl4j").describe();
  }

  @Test
  void shouldMatchTheStockLayerWhenFirstConvolution() {
    assertSame(FirstConvolution.class, 0, convolution(3, 1, 0, true));
    assertSame(FirstConvolution.class, 0, convolution(3, 1, 1, false));
    assertSame(FirstConvolution.class, 0, convolution(5, 1, 2, true));
  }

  @Test
  void shouldMatchTheStockLayerWhenConvolutionIsNotFirst() {
    assertSame(PlainConvolution.class, 1, convolution(3, 1, 0, true), convolution(3, 2, 1, true));
    assertSame(PlainConvolution.class, 1, convolution(3, 1, 0, true), convolution(1, 2, 0, false));
  }

  /**
   * Uses few channels, stride 1 and no bias: gradients by rotated kernels, some samples at a time.
   */
  @Test
  void shouldMatchTheStockLayerWhenKernelsAreTurned() {
    Layer first = convolution(3, 1, 0, true);
    for (int padding = 0; padding < 3; padding++) {
      Layer turned = convolution(3, 1, padding, false);
      assertSame(PlainConvolution.class, 1, first, turned);
    }
    assertSame(PlainConvolution.class, 1, first, convolution(5, 1, 1, false));
  }

  @Test
  void shouldMatchTheStockLayerWhenChannelsAreMultiplesOf16() {
    assertSame(OneDnnConvolution.class, 0, wide(16, 3, 1, 1, true));
    assertSame(OneDnnConvolution.class, 0, wide(32, 3, 2, 0, false));
    Layer first = wide(16, 3, 1, 1, false);
    assertSame(OneDnnConvolution.class, 1, first, wide(16, 3, 1, 1, false));
    assertSame(OneDnnConvolution.class, 1, first, wide(16, 3, 1, 0, true));
    assertSame(OneDnnConvolution.class, 1, first, wide(32, 3, 2, 1, true));
    assertSame(OneDnnConvolution.class, 1, first, wide(48, 1, 2, 0, false));
    assertSame(OneDnnConvolution.class, 1, first, wide(16, 5, 1, 2, false));
  }

  /** Each of these layers reads an output that has its channels last. */
  @Test
  void shouldMatchTheStockLayerWhenChannelsAreLast() {
    Layer first = wide(16, 3, 1, 1, false);
    Layer norm = new BatchNormalization.Builder().decay(0.9).eps(1e-5).useLogStd(false).build();
    Layer rectifier = new ActivationLayer(Activation.RELU);
    Layer dense = new DenseLayer.Builder().nOut(17).activation(Activation.RELU).build();

    assertSame(BatchNorm.class, 1, first, norm);
    assertSame(BatchNorm.class, 1, wide(48, 3, 1, 0, false), norm);
    assertSame(BatchNorm.class, 1, first, norm, rectifier, wide(32, 3, 2, 1, false));
    assertSame(Rectifier.class, 1, first, rectifier);
    assertSame(MaxPooling.class, 1, first, pool(3, 3));
    assertSame(MaxPooling.class, 1, first, pool(1, 2));
    assertSame(MaxPooling.class, 1, first, pool(1, 2), wide(16, 3, 1, 1, false));
    assertSame(MaxPooling.class, 1, first, pool(3, 3), wide(16, 3, 1, 1, false));
    assertSame(PlainConvolution.class, 1, first, convolution(3, 1, 1, false));
    assertSame(DenseUnits.class, 1, first, dense);
  }

  @Test
  void shouldMatchTheStockLayerWhenMaxPooling() {
    assertSame(MaxPooling.class, 1, convolution(3, 1, 0, true), pool(3, 3));
    assertSame(MaxPooling.class, 1, convolution(3, 1, 0, true), pool(3, 2));
    assertSame(MaxPooling.class, 1, convolution(3, 1, 0, true), pool(1, 2));
  }

  @Test
  void shouldMatchTheStockLayerWhenRectifier() {
    assertSame(
        Rectifier.class, 1, convolution(3, 1, 0, true), new ActivationLayer(Activation.RELU));
  }

  @Test
  void shouldMatchTheStockLayerWhenDense() {
    Layer rectified = new DenseLayer.Builder().nOut(17).activation(Activation.RELU).build();
    Layer plain = new DenseLayer.Builder().nOut(9).activation(Activation.IDENTITY).build();

    assertSame(DenseUnits.class, 0, rectified);
    assertSame(DenseUnits.class, 1, rectified, plain);
    assertSame(SoftmaxOutput.class, 1, rectified);
  }

  @Test
  void shouldMatchTheStockLayerExceptForTheUnbiasedVarianceWhenBatchNorm() {
    Layer norm = new BatchNormalization.Builder().decay(0.9).eps(1e-5).useLogStd(false).build();
    Layer dense =
        new DenseLayer.Builder().nOut(5).hasBias(false).activation(Activation.IDENTITY).build();

    assertSame(BatchNorm.class, 1, convolution(3, 1, 0, false), norm);
    assertSame(BatchNorm.class, 1, dense, norm);
    Layer rectifier = new ActivationLayer(Activation.RELU);
    assertSame(BatchNorm.class, 1, convolution(3, 1, 0, false), norm, rectifier);
    assertSame(BatchNorm.class, 1, dense, norm, rectifier);
  }

  @Test
  void shouldKeepTheStockLayerWhenItDoesMore() {
    MultiLayerNetwork network =
        network(
            new ConvolutionLayer.Builder(3, 3).nOut(3).activation(Activation.TANH).build(),
            new SubsamplingLayer.Builder(PoolingType.AVG).kernelSize(2, 2).build(),
            new DenseLayer.Builder().nOut(5).dropOut(0.5).activation(Activation.RELU).build());

    Kernels.install(network);

    for (int i = 0; i < 3; i++) {
      assertTrue(network.getLayer(i).getClass().getName().startsWith("org.deeplearning4j"));
    }
  }

  private static void assertSame(Class<?> kernel, int index, Layer... layers) {
    MultiLayerNetwork stock = network(layers);
    MultiLayerNetwork fast = network(layers);
    fast.setParams(stock.params());
    Kernels.install(fast);
    fast.initGradientsView();
    assertEquals(kernel, fast.getLayer(index).getClass());
    assertNotEquals(kernel, stock.getLayer(index).getClass());
    Batch batch = Samples.batch(SAMPLES, List.of(2, 9, 9), 4, 7);
    INDArray features = Nd4j.createFromArray(batch.features()).reshape('c', SAMPLES, 2, 9, 9);
    INDArray labels = Nd4j.zeros(SAMPLES, 4);
    for (int i = 0; i < SAMPLES; i++) {
      labels.putScalar(i, batch.labels()[i], 1);
    }

    assertEquals(gradient(stock, features, labels), gradient(fast, features, labels), TOLERANCE);
    for (String name : stock.paramTable().keySet()) {
      float[] expected = stock.gradient().getGradientFor(name).dup('c').data().asFloat();
      float[] actual = fast.gradient().getGradientFor(name).dup('c').data().asFloat();
      if (name.endsWith("_var")) {
        INDArray input = stock.feedForwardToLayer(index - 1, features, true).get(index);
        assertUnbiased(stock.getParam(name), input, actual);
        continue;
      }
      double distance = Samples.distance(expected, actual);
      assertTrue(distance < TOLERANCE, name + " differs by " + distance);
    }
    float[] expected = stock.output(features).dup('c').data().asFloat();
    float[] actual = fast.output(features).dup('c').data().asFloat();
    assertTrue(Samples.distance(expected, actual) < TOLERANCE);
  }

  /**
   * Checks the difference {@code 0.1 (running - v)} with the unbiased v, by the closed formula in
   * doubles. The tolerance is relative to the values that are subtracted: where v is near the
   * running variance, their difference is small, and its rounding error depends on the processor.
   */
  private static void assertUnbiased(INDArray running, INDArray input, float[] difference) {
    int channels = difference.length;
    float[] values = input.dup('c').data().asFloat();
    int perSample = (int) (values.length / input.size(0) / channels);
    for (int c = 0; c < channels; c++) {
      double sum = 0;
      double squares = 0;
      for (int i = 0; i < values.length; i++) {
        if (i / perSample % channels == c) {
          sum += values[i];
          squares += (double) values[i] * values[i];
        }
      }
      double n = (double) values.length / channels;
      double unbiased = (squares - sum * sum / n) / (n - 1);
      double before = running.getDouble(c);
      double lost = 0.1 * (before + unbiased) * TOLERANCE;
      assertEquals(0.1 * (before - unbiased), difference[c], lost, "channel " + c);
    }
  }

  private static double gradient(MultiLayerNetwork network, INDArray features, INDArray labels) {
    network.setInput(features);
    network.setLabels(labels);
    network.computeGradientAndScore();
    return network.score();
  }

  private static MultiLayerNetwork network(Layer... layers) {
    NeuralNetConfiguration.ListBuilder list =
        new NeuralNetConfiguration.Builder().seed(3).cacheMode(CacheMode.DEVICE).list();
    for (Layer layer : layers) {
      list.layer(layer.clone());
    }
    list.layer(
        new OutputLayer.Builder(LossFunction.MCXENT)
            .nOut(4)
            .activation(Activation.SOFTMAX)
            .build());
    MultiLayerNetwork network =
        new MultiLayerNetwork(list.setInputType(InputType.convolutional(9, 9, 2)).build());
    network.init();
    network.initGradientsView();
    return network;
  }

  private static Layer convolution(int kernel, int stride, int padding, boolean bias) {
    return wide(3, kernel, stride, padding, bias);
  }

  private static Layer wide(int channels, int kernel, int stride, int padding, boolean bias) {
    return new ConvolutionLayer.Builder(kernel, kernel)
        .stride(stride, stride)
        .padding(padding, padding)
        .nOut(channels)
        .hasBias(bias)
        .activation(Activation.IDENTITY)
        .build();
  }

  private static Layer pool(int kernel, int stride) {
    return new SubsamplingLayer.Builder(PoolingType.MAX)
        .kernelSize(kernel, kernel)
        .stride(stride, stride)
        .build();
  }
}
