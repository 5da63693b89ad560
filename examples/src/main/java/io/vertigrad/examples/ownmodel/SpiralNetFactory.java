package io.vertigrad.examples.ownmodel;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.ModelFactory;
import io.vertx.core.json.JsonObject;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Two tanh layers of {@code width} (32) and a softmax; the job file names this class. */
public final class SpiralNetFactory implements ModelFactory {

  @Override
  public String name() {
    return "spiral-net";
  }

  @Override
  public Set<String> options() {
    return Set.of("width");
  }

  @Override
  public NeuralNetwork network(ModelConfig config) {
    int width =
        Settings.of("model 'spiral-net'", new JsonObject(config.options()))
            .integer("width", 32, 1, 4096);
    MultiLayerNetwork network =
        new MultiLayerNetwork(
            new NeuralNetConfiguration.Builder()
                .seed(config.seed())
                .list()
                .layer(dense(config.inputShape().get(0), width))
                .layer(dense(width, width))
                .layer(
                    new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(width)
                        .nOut(config.classes())
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
    network.init();
    return network;
  }

  private static DenseLayer dense(int inputs, int outputs) {
    return new DenseLayer.Builder().nIn(inputs).nOut(outputs).activation(Activation.TANH).build();
  }
}
