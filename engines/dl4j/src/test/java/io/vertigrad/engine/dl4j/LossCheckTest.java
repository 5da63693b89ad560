package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Tests users' networks, whose output layer must have the loss of the job. */
class LossCheckTest {

  private static final float STEP = 0.02f;

  @TempDir private Path folder;

  @Test
  void shouldTrainAModelThatEndsWithTheLossOfTheJob() throws IOException {
    // Without a bias, or with another activation, the layer stays the stock one.
    assertFollowsDifferences(Loss.BINARY_CROSS_ENTROPY, LossFunction.XENT, Activation.SIGMOID);
    assertFollowsDifferences(Loss.MEAN_SQUARED_ERROR, LossFunction.MSE, Activation.IDENTITY);
    assertFollowsDifferences(Loss.MEAN_SQUARED_ERROR, LossFunction.MSE, Activation.TANH);
  }

  @Test
  void shouldReportTheOutputLayerWhenTheJobHasAnotherLoss() throws IOException {
    assertEquals(
        "its output layer has LossBinaryXENT after ActivationSigmoid, expected LossMCXENT or"
            + " LossNegativeLogLikelihood after ActivationSoftmax for model.loss crossEntropy;"
            + " build the network with that output layer, or set model.loss to binaryCrossEntropy",
        refusal(Loss.CROSS_ENTROPY, LossFunction.XENT, Activation.SIGMOID));
    assertTrue(
        refusal(Loss.CROSS_ENTROPY, LossFunction.MSE, Activation.IDENTITY)
            .endsWith("or set model.loss to meanSquaredError"));
    assertTrue(
        refusal(Loss.MEAN_SQUARED_ERROR, LossFunction.MCXENT, Activation.SOFTMAX)
            .endsWith("or set model.loss to crossEntropy"));
    assertEquals(
        "its output layer has LossL2 after ActivationIdentity, expected LossMSE after"
            + " ActivationIdentity for model.loss meanSquaredError; build the network with that"
            + " output layer",
        refusal(Loss.MEAN_SQUARED_ERROR, LossFunction.L2, Activation.IDENTITY));
    assertTrue(
        refusal(Loss.BINARY_CROSS_ENTROPY, LossFunction.MSE, Activation.IDENTITY)
            .contains("expected LossBinaryXENT after ActivationSigmoid"));
  }

  @Test
  void shouldNameBothSizesWhenTheTargetsAreMore() throws IOException {
    Path file = written(LossFunction.MSE, Activation.IDENTITY, true);

    String found =
        assertThrows(
                IllegalArgumentException.class,
                () -> engine().model(config(file, Loss.MEAN_SQUARED_ERROR, 3)).close())
            .getMessage();

    assertTrue(
        found.endsWith(
            "its output is [1, 2] for one sample, expected [1, 3] for the 3 real values"),
        found);
  }

  @Test
  void shouldRefuseABatchWithoutTargets() throws IOException {
    Path file = written(LossFunction.MSE, Activation.IDENTITY, true);
    try (Model model = engine().model(config(file, Loss.MEAN_SQUARED_ERROR, 2))) {
      Batch classes = new Batch(new float[6], new int[2], List.of(3), 0);

      assertEquals(
          "batch of 2 samples with 0 targets, expected 4",
          assertThrows(IllegalArgumentException.class, () -> model.gradient(classes)).getMessage());
      assertEquals(4, model.probabilities(classes, 2).length, "which need none");
    }
  }

  @Test
  void shouldTrainAModelThatEndsWithALossLayer() throws IOException {
    assertFollowsDifferences(
        Loss.BINARY_CROSS_ENTROPY, standalone(LossFunction.XENT, Activation.SIGMOID));
    assertFollowsDifferences(
        Loss.MEAN_SQUARED_ERROR, standalone(LossFunction.MSE, Activation.TANH));
  }

  private void assertFollowsDifferences(Loss loss, LossFunction function, Activation activation)
      throws IOException {
    assertFollowsDifferences(loss, written(function, activation, false));
  }

  private static void assertFollowsDifferences(Loss loss, Path file) {
    Batch batch =
        new Batch(
            2,
            new float[] {0.5f, -1, 0.25f, 1, 0.75f, -0.5f},
            new int[0],
            new float[] {1, 0, 0, 1},
            List.of(3),
            0);
    try (Model model = engine().model(config(file, loss, 2))) {
      float[] parameters = new float[model.layout().length()];
      model.readParameters(0, FloatBuffer.wrap(parameters));
      double mean = model.gradient(batch);
      float[] gradient = new float[parameters.length];
      model.readGradient(0, FloatBuffer.wrap(gradient));

      assertEquals(model.score(batch).loss(), mean, 1e-5);
      for (int i = 0; i < parameters.length; i++) {
        double slope =
            (moved(model, parameters, i, STEP, batch) - moved(model, parameters, i, -STEP, batch))
                / (2 * STEP);
        assertEquals(slope, gradient[i], 1e-3, loss + ", element " + i);
      }
    }
  }

  private static double moved(Model model, float[] parameters, int index, float step, Batch batch) {
    float[] changed = parameters.clone();
    changed[index] += step;
    model.writeParameters(0, FloatBuffer.wrap(changed));
    return model.score(batch).loss();
  }

  private String refusal(Loss loss, LossFunction function, Activation activation)
      throws IOException {
    Path file = written(function, activation, true);
    String found =
        assertThrows(
                IllegalArgumentException.class, () -> engine().model(config(file, loss, 2)).close())
            .getMessage();
    String start = "model " + file + ": ";
    assertTrue(found.startsWith(start), found);
    return found.substring(start.length());
  }

  private Path written(LossFunction function, Activation activation, boolean bias)
      throws IOException {
    MultiLayerConfiguration network =
        new NeuralNetConfiguration.Builder()
            .seed(3)
            .list()
            .layer(new DenseLayer.Builder().nIn(3).nOut(4).activation(Activation.TANH).build())
            .layer(
                new OutputLayer.Builder(function)
                    .nIn(4)
                    .nOut(2)
                    .hasBias(bias)
                    .activation(activation)
                    .build())
            .build();
    Path file = folder.resolve(function + "-" + activation + "-" + bias + ".json");
    return Files.writeString(file, network.toJson());
  }

  private Path standalone(LossFunction function, Activation activation) throws IOException {
    MultiLayerConfiguration network =
        new NeuralNetConfiguration.Builder()
            .seed(3)
            .list()
            .layer(new DenseLayer.Builder().nIn(3).nOut(4).activation(Activation.TANH).build())
            .layer(new DenseLayer.Builder().nIn(4).nOut(2).activation(Activation.IDENTITY).build())
            .layer(new LossLayer.Builder(function).activation(activation).build())
            .build();
    Path file = folder.resolve(function + "-" + activation + "-standalone.json");
    return Files.writeString(file, network.toJson());
  }

  private static ModelConfig config(Path file, Loss loss, int outputs) {
    return new ModelConfig(file.toString(), Map.of(), List.of(3), outputs, 1, 1, loss, 1, 0);
  }

  private static Engine engine() {
    return Engine.named("dl4j");
  }
}
