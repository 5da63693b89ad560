package io.vertigrad.benchmarks.compute;

import io.vertigrad.compute.Batch;
import io.vertigrad.engine.dl4j.models.ConvNetFactory;
import io.vertigrad.engine.dl4j.models.MlpFactory;
import io.vertigrad.engine.dl4j.models.ResNet20Factory;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Builds the same networks in DL4J with its own defaults: stock layers, no helpers, no cache. */
final class StockDl4j {

  private StockDl4j() {}

  static Runnable step(GradientCase measured) {
    NeuralNetwork network =
        switch (measured.model()) {
          case "convnet" -> new ConvNetFactory().network(measured.config());
          case "mlp" -> new MlpFactory().network(measured.config());
          default -> new ResNet20Factory().network(measured.config());
        };
    Batch batch = measured.samples();
    INDArray features = features(batch, measured.model().equals("mlp"));
    INDArray labels = Nd4j.zeros(batch.count(), measured.config().classes());
    for (int i = 0; i < batch.count(); i++) {
      labels.putScalar(i, batch.labels()[i], 1);
    }
    return network instanceof MultiLayerNetwork layers
        ? layered(layers, features, labels)
        : graph((ComputationGraph) network, features, labels);
  }

  private static INDArray features(Batch batch, boolean rows) {
    INDArray flat = Nd4j.createFromArray(batch.features());
    if (rows) {
      return flat.reshape('c', batch.count(), flat.length() / batch.count());
    }
    var shape = batch.shape();
    return flat.reshape('c', batch.count(), shape.get(0), shape.get(1), shape.get(2));
  }

  private static Runnable layered(MultiLayerNetwork network, INDArray features, INDArray labels) {
    network.setCacheMode(CacheMode.NONE);
    return () -> {
      network.setInput(features);
      network.setLabels(labels);
      network.computeGradientAndScore();
    };
  }

  private static Runnable graph(ComputationGraph network, INDArray features, INDArray labels) {
    network.setCacheMode(CacheMode.NONE);
    return () -> {
      network.setInput(0, features);
      network.setLabels(labels);
      network.computeGradientAndScore();
    };
  }
}
