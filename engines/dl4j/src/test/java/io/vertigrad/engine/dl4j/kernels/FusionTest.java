package io.vertigrad.engine.dl4j.kernels;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.engine.dl4j.Samples;
import java.util.List;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Compares a residual block with fused ReLUs with the stock one. */
class FusionTest {

  private static final int SAMPLES = 5;

  /** Tolerance of single precision through two successive batch norms. */
  private static final double TOLERANCE = 5e-6;

  @BeforeAll
  static void startBackend() {
    Engine.named("dl4j").describe();
  }

  @Test
  void shouldMatchTheStockBlockWhenTheRectifierIsFused() {
    ComputationGraph stock = block();
    ComputationGraph fast = fast(stock);
    Batch batch = Samples.batch(SAMPLES, List.of(2, 9, 9), 4, 7);

    assertSame(stock, fast, batch, TOLERANCE);

    assertEquals(RectifiedSum.class, fast.getVertices()[index(fast, "sum")].getClass());
  }

  private static void assertSame(
      ComputationGraph stock, ComputationGraph fast, Batch batch, double tolerance) {
    assertEquals(gradient(stock, batch), gradient(fast, batch), tolerance);
    for (String name : stock.paramTable().keySet()) {
      if (!name.endsWith("_var")) {
        float[] ours = fast.gradient().getGradientFor(name).dup('c').data().asFloat();
        float[] theirs = stock.gradient().getGradientFor(name).dup('c').data().asFloat();
        double distance = Samples.distance(theirs, ours);
        assertTrue(distance < tolerance, name + " differs by " + distance);
      }
    }
    float[] output = fast.outputSingle(features(batch)).dup('c').data().asFloat();
    float[] stockOutput = stock.outputSingle(features(batch)).dup('c').data().asFloat();
    assertTrue(Samples.distance(stockOutput, output) < tolerance);
  }

  /**
   * Uses a graph whose sum has a second consumer, and whose first batch norm is not followed by a
   * ReLU.
   */
  @Test
  void shouldNotFuseASumWithTwoFollowers() {
    GraphBuilder builder = start(6);
    builder.addLayer("relu", new ActivationLayer(Activation.RELU), "sum");
    builder.addVertex("both", new ElementWiseVertex(ElementWiseVertex.Op.Add), "sum", "relu");
    ComputationGraph stock = finish(builder, "both", 6);
    ComputationGraph fast = fast(stock);
    Batch batch = Samples.batch(SAMPLES, List.of(2, 9, 9), 4, 7);

    assertEquals(gradient(stock, batch), gradient(fast, batch), TOLERANCE);
    assertTrue(fast.getVertices()[index(fast, "sum")].getClass() != RectifiedSum.class);
  }

  /**
   * Uses a block whose input has two readers, so that the graph adds their gradients. Sums over 16
   * channels are longer than over 6 and lose more.
   */
  @Test
  void shouldMatchTheStockBlockWhenChannelsAreLast() {
    ComputationGraph stock = block(16);
    ComputationGraph fast = fast(stock);
    Batch batch = Samples.batch(SAMPLES, List.of(2, 9, 9), 4, 7);

    assertSame(stock, fast, batch, 4 * TOLERANCE);

    assertEquals(OneDnnConvolution.class, fast.getLayer("b").getClass());
  }

  @Test
  void shouldRepeatBitForBitWhenRunTwice() {
    assertRepeats(fast(block()));
    assertRepeats(fast(block(16)));
  }

  private static void assertRepeats(ComputationGraph fast) {
    Batch batch = Samples.batch(SAMPLES, List.of(2, 9, 9), 4, 7);

    gradient(fast, batch);
    float[] once = fast.getGradientsViewArray().dup().data().asFloat();
    gradient(fast, batch);

    assertArrayEquals(once, fast.getGradientsViewArray().dup().data().asFloat(), 0);
  }

  private static ComputationGraph block() {
    return block(6);
  }

  private static ComputationGraph block(int channels) {
    GraphBuilder builder = start(channels);
    builder.addLayer("relu", new ActivationLayer(Activation.RELU), "sum");
    return finish(builder, "relu", channels);
  }

  private static GraphBuilder start(int channels) {
    GraphBuilder builder =
        new NeuralNetConfiguration.Builder()
            .seed(3)
            .cacheMode(CacheMode.DEVICE)
            .graphBuilder()
            .addInputs("in");
    convolution(builder, "a", "in", 2, channels);
    builder.addLayer("a-relu", new ActivationLayer(Activation.RELU), "a-bn");
    convolution(builder, "b", "a-relu", channels, channels);
    builder.addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "b-bn", "a-relu");
    return builder;
  }

  private static void convolution(
      GraphBuilder builder, String name, String input, int channels, int out) {
    builder
        .addLayer(
            name,
            new ConvolutionLayer.Builder(3, 3)
                .padding(1, 1)
                .nIn(channels)
                .nOut(out)
                .hasBias(false)
                .activation(Activation.IDENTITY)
                .build(),
            input)
        .addLayer(
            name + "-bn",
            new BatchNormalization.Builder().nIn(out).nOut(out).eps(1e-5).useLogStd(false).build(),
            name);
  }

  private static ComputationGraph finish(GraphBuilder builder, String last, int channels) {
    builder
        .addLayer("pool", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), last)
        .addLayer(
            "out",
            new OutputLayer.Builder(LossFunction.MCXENT)
                .nIn(channels)
                .nOut(4)
                .activation(Activation.SOFTMAX)
                .build(),
            "pool")
        .setOutputs("out");
    ComputationGraph graph = new ComputationGraph(builder.build());
    graph.init();
    graph.initGradientsView();
    return graph;
  }

  private static ComputationGraph fast(ComputationGraph stock) {
    ComputationGraph fast = new ComputationGraph(stock.getConfiguration().clone());
    fast.init();
    fast.setParams(stock.params().dup());
    Kernels.install(fast);
    fast.initGradientsView();
    return fast;
  }

  private static double gradient(ComputationGraph graph, Batch batch) {
    INDArray labels = Nd4j.zeros(SAMPLES, 4);
    for (int i = 0; i < SAMPLES; i++) {
      labels.putScalar(i, batch.labels()[i], 1);
    }
    graph.setInput(0, features(batch));
    graph.setLabels(labels);
    graph.computeGradientAndScore();
    return graph.score();
  }

  private static INDArray features(Batch batch) {
    return Nd4j.createFromArray(batch.features()).reshape('c', SAMPLES, 2, 9, 9);
  }

  private static int index(ComputationGraph graph, String name) {
    return graph.getVertex(name).getVertexIndex();
  }
}
