package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SequentialBatches;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.LSTM;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.RnnOutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Compares the outputs of ONNX Runtime for an exported file with those of the network. */
class OnnxExportTest {

  private static final double TOLERANCE = 1e-5;
  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final List<Integer> PICTURE = List.of(3, 32, 32);

  @TempDir private Path folder;

  static List<Arguments> networks() {
    return List.of(
        Arguments.of("convnet", Map.of(), DIGIT),
        Arguments.of("convnet", Map.of(), List.of(3, 31, 17)),
        Arguments.of("mlp", Map.of("hidden", 33), DIGIT),
        Arguments.of("mlp", Map.of("hidden", 20, "layers", 3), List.of(5)),
        Arguments.of("resnet20", Map.of("shortcut", "A"), PICTURE),
        Arguments.of("resnet20", Map.of("shortcut", "B"), PICTURE));
  }

  @ParameterizedTest
  @MethodSource("networks")
  void shouldComputeTheSameWhenOnnxRuntimeReadsTheFile(
      String name, Map<String, Object> options, List<Integer> shape) throws Exception {
    Path file = folder.resolve("model.onnx");
    Batch batch = Samples.batch(9, shape, 10, 3);

    try (Model model = Samples.model(name, options, shape, 7)) {
      scatter(model);
      model.export("onnx", file);
      float[] expected = model.probabilities(batch, 10);

      float[] found = runtime(file, batch.features(), 9, shape);

      assertEquals(expected.length, found.length);
      assertEquals(0, largestDifference(expected, found), TOLERANCE);
      assertTrue(spread(expected) > 0.01, "different samples have different outputs");
    }
  }

  /**
   * Exports layers that the built-in networks do not have: other padding, pooling, activations, and
   * rows.
   */
  @Test
  void shouldComputeTheSameForOtherKindsOfLayers() throws Exception {
    MultiLayerNetwork network =
        new MultiLayerNetwork(
            new NeuralNetConfiguration.Builder()
                .seed(3)
                .list()
                .layer(
                    new ConvolutionLayer.Builder(3, 3)
                        .stride(2, 2)
                        .convolutionMode(ConvolutionMode.Same)
                        .nOut(4)
                        .activation(Activation.TANH)
                        .build())
                .layer(
                    new SubsamplingLayer.Builder(PoolingType.AVG)
                        .kernelSize(2, 2)
                        .stride(1, 1)
                        .padding(1, 1)
                        .build())
                .layer(new BatchNormalization.Builder().build())
                .layer(
                    new ConvolutionLayer.Builder(2, 2)
                        .hasBias(false)
                        .nOut(6)
                        .activation(Activation.SIGMOID)
                        .build())
                .layer(new DropoutLayer.Builder(0.5).build())
                .layer(new GlobalPoolingLayer.Builder(PoolingType.MAX).build())
                .layer(
                    new DenseLayer.Builder()
                        .nOut(7)
                        .hasBias(false)
                        .dropOut(0.5)
                        .activation(Activation.IDENTITY)
                        .build())
                .layer(
                    new OutputLayer.Builder(LossFunction.MCXENT)
                        .nOut(10)
                        .activation(Activation.SOFTMAX)
                        .build())
                .setInputType(InputType.convolutionalFlat(11, 13, 2))
                .build());
    network.init();
    List<Integer> row = List.of(2 * 11 * 13);
    Path file = folder.resolve("model.onnx");

    try (Model model =
        new Dl4jModel(
            LayeredNetwork.training(network),
            new ModelConfig("own", Map.of(), row, 10, 1, 1),
            row)) {
      Batch batch = Samples.batch(5, row, 10, 3);
      model.export("onnx", file);
      float[] expected = model.probabilities(batch, 10);

      float[] found = runtime(file, batch.features(), 5, row);

      assertEquals(0, largestDifference(expected, found), TOLERANCE);
    }
  }

  @Test
  void shouldDescribeInputAndOutputWhenProgramsAskTheFile() throws Exception {
    Path file = folder.resolve("model.onnx");
    try (Model model = Samples.model("mlp", Map.of("hidden", 4), DIGIT, 7)) {
      model.export("onnx", file);
    }

    try (OrtSession session = OrtEnvironment.getEnvironment().createSession(file.toString())) {
      TensorInfo input = (TensorInfo) session.getInputInfo().get("input").getInfo();
      TensorInfo output = (TensorInfo) session.getOutputInfo().get("probabilities").getInfo();
      assertEquals("[-1, 1, 28, 28]", Arrays.toString(input.getShape()));
      assertEquals("[-1, 10]", Arrays.toString(output.getShape()));
      assertEquals("batch", input.getDimensionNames()[0]);
    }
  }

  /** Uses real MNIST if it is present, otherwise generated digits. */
  @Test
  @Tag("slow")
  void shouldClassifyTheSameImagesCorrectlyWhenTheNetworkIsTrained() throws Exception {
    Path file = folder.resolve("model.onnx");
    Dataset train = open(Split.TRAIN, 6_000);
    Dataset test = open(Split.TEST, 2_000);

    try (Model model = Samples.model("convnet", Map.of(), train.shape(), 1)) {
      train(model, train);
      model.export("onnx", file);
      int right = 0;
      int same = 0;
      for (Batch batch : SequentialBatches.all(test, 250)) {
        float[] expected = model.probabilities(batch, 10);
        float[] found = runtime(file, batch.features(), batch.count(), train.shape());
        assertEquals(0, largestDifference(expected, found), TOLERANCE);
        right += right(expected, batch.labels());
        same += right(found, batch.labels());
      }
      assertEquals(right, same);
      assertTrue(right > 1_000, right + " of 2,000");
    }
  }

  @Test
  void shouldNameTheLayerWhenItCannotBeWritten() {
    Path file = folder.resolve("model.onnx");
    MultiLayerNetwork network =
        new MultiLayerNetwork(
            new NeuralNetConfiguration.Builder()
                .list()
                .layer(new LSTM.Builder().name("memory").nIn(3).nOut(4).build())
                .layer(new RnnOutputLayer.Builder().name("out").nIn(4).nOut(2).build())
                .build());
    network.init();

    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () -> LayeredNetwork.plain(network).exportOnnx(file, List.of(3, 1), List.of(3, 1), 2));

    assertTrue(
        refusal
            .getMessage()
            .startsWith("format onnx: layer memory is a LSTM, which cannot be written;"),
        refusal.getMessage());
    assertFalse(Files.exists(file));
  }

  @Test
  void shouldNameTheFormatsWhenAnotherIsAskedFor() {
    try (Model model = Samples.model("mlp", Map.of("hidden", 4), DIGIT, 7)) {
      IllegalArgumentException refusal =
          assertThrows(
              IllegalArgumentException.class, () -> model.export("pt", folder.resolve("m.pt")));

      assertEquals(
          "format pt: the engine dl4j does not write it, expected one of dl4j, onnx, safetensors",
          refusal.getMessage());
    }
  }

  /** Sets parameters and statistics to values as after training: none is 0 or 1. */
  private static void scatter(Model model) {
    SplittableRandom random = new SplittableRandom(11);
    int first = 0;
    for (Block block : model.layout().blocks()) {
      float[] values = new float[block.length()];
      model.readParameters(first, FloatBuffer.wrap(values));
      for (int i = 0; i < values.length; i++) {
        values[i] =
            block.name().endsWith(".var")
                ? (float) random.nextDouble(0.5, 2)
                : values[i] + (float) random.nextDouble(-0.1, 0.1);
      }
      model.writeParameters(first, FloatBuffer.wrap(values));
      first += block.length();
    }
  }

  private static void train(Model model, Dataset data) {
    float[] parameters = Samples.parameters(model);
    for (int epoch = 0; epoch < 2; epoch++) {
      for (Batch batch : SequentialBatches.all(data, 60)) {
        float[] gradient = Samples.gradient(model, batch);
        for (int i = 0; i < parameters.length; i++) {
          parameters[i] -= 0.1f * gradient[i];
        }
        model.writeParameters(0, FloatBuffer.wrap(parameters));
      }
    }
  }

  private static Dataset open(Split split, int samples) {
    String data = System.getProperty("vertigrad.data", "");
    boolean real = !data.isBlank() && Files.isDirectory(Path.of(data, "mnist"));
    return DatasetProvider.open(
        new DataConfig(
            real ? "mnist" : "digits",
            real ? Optional.of(Path.of(data)) : Optional.empty(),
            Optional.empty(),
            Map.of("train", samples, "test", samples)),
        split,
        OnnxExportTest.class.getClassLoader());
  }

  private static float[] runtime(Path file, float[] features, int count, List<Integer> sample)
      throws OrtException, IOException {
    long[] shape = new long[sample.size() + 1];
    shape[0] = count;
    for (int i = 0; i < sample.size(); i++) {
      shape[i + 1] = sample.get(i);
    }
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    try (OrtSession session = environment.createSession(Files.readAllBytes(file));
        OnnxTensor input = OnnxTensor.createTensor(environment, FloatBuffer.wrap(features), shape);
        OrtSession.Result result = session.run(Map.of("input", input))) {
      FloatBuffer answers =
          ((OnnxTensor) result.get("probabilities").orElseThrow()).getFloatBuffer();
      float[] values = new float[answers.remaining()];
      answers.get(values);
      return values;
    }
  }

  private static int right(float[] probabilities, int[] labels) {
    return Probabilities.score(probabilities, labels, 0).correct();
  }

  private static double largestDifference(float[] one, float[] other) {
    double largest = 0;
    for (int i = 0; i < one.length; i++) {
      largest = Math.max(largest, Math.abs(one[i] - (double) other[i]));
    }
    return largest;
  }

  private static double spread(float[] values) {
    double least = Double.POSITIVE_INFINITY;
    double most = 0;
    for (float value : values) {
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    return most - least;
  }
}
