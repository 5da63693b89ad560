package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class SavedNetworkTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final List<Integer> IMAGE = List.of(3, 32, 32);

  @TempDir Path folder;

  @Test
  void shouldGiveTheSameAnswersInPlainDl4jWhenAChainWasSaved() throws Exception {
    Path file = folder.resolve("convnet.zip");
    Model model = Samples.model("convnet", Map.of(), DIGIT, 1);
    Batch batch = Samples.batch(50, DIGIT, 10, 2);

    model.save(file);
    MultiLayerNetwork plain = ModelSerializer.restoreMultiLayerNetwork(file.toFile(), false);

    assertEquals(model.score(batch).lossSum(), lossSum(plain.output(array(batch)), batch), 1e-4);
    assertFalse(plain.getLayerWiseConfigurations().toJson().contains("vertigrad"));
  }

  @Test
  @Tag("slow")
  void shouldGiveTheSameAnswersInPlainDl4jWhenAGraphWasSaved() throws Exception {
    Path file = folder.resolve("resnet20.zip");
    Model model = Samples.model("resnet20", Map.of("shortcut", "A"), IMAGE, 1);
    Batch batch = Samples.batch(8, IMAGE, 10, 2);

    model.save(file);
    ComputationGraph plain = ModelSerializer.restoreComputationGraph(file.toFile(), false);

    assertEquals(
        model.score(batch).lossSum(), lossSum(plain.outputSingle(array(batch)), batch), 1e-4);
    assertFalse(plain.getConfiguration().toJson().contains("vertigrad"));
  }

  @Test
  void shouldContinueWithTheSameParametersWhenLoadedByPath() throws Exception {
    Path file = folder.resolve("mlp.zip");
    Model model = Samples.model("mlp", Map.of("hidden", 16), DIGIT, 1);
    Batch batch = Samples.batch(20, DIGIT, 10, 2);
    model.save(file);

    Model loaded = Samples.model(file.toString(), Map.of(), DIGIT, 99);

    assertEquals(model.layout().hash(), loaded.layout().hash());
    assertArrayEquals(Samples.parameters(model), Samples.parameters(loaded), 0);
    assertArrayEquals(Samples.gradient(model, batch), Samples.gradient(loaded, batch), 0);
  }

  @Test
  void shouldNameTheClassOfALayerWhenItIsNotOnTheClassPath() throws Exception {
    Path file = folder.resolve("own.json");
    MultiLayerNetwork network =
        (MultiLayerNetwork)
            new io.vertigrad.engine.dl4j.models.MlpFactory()
                .network(Samples.config("mlp", Map.of("hidden", 16), DIGIT, 1));
    String json = network.getLayerWiseConfigurations().toJson();
    String layer = org.deeplearning4j.nn.conf.layers.OutputLayer.class.getName();
    Files.writeString(file, json.replace(layer, "org.example.OwnLayer"));

    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> Samples.model(file.toString(), Map.of(), DIGIT, 1));

    assertEquals(
        ("model %s: class org.example.OwnLayer is not on the class path; name its jar in"
                + " VERTIGRAD_CLASSPATH")
            .formatted(file),
        refused.getMessage());
  }

  @Test
  void shouldBuildFromTheSeedWhenLoadedFromAConfiguration() throws Exception {
    Path file = folder.resolve("mlp.json");
    MultiLayerNetwork network =
        (MultiLayerNetwork)
            new io.vertigrad.engine.dl4j.models.MlpFactory()
                .network(Samples.config("mlp", Map.of("hidden", 16), DIGIT, 1));
    Files.writeString(file, network.getLayerWiseConfigurations().toJson());

    Model one = Samples.model(file.toString(), Map.of(), DIGIT, 5);
    Model same = Samples.model(file.toString(), Map.of(), DIGIT, 5);
    Model other = Samples.model(file.toString(), Map.of(), DIGIT, 6);

    assertArrayEquals(Samples.parameters(one), Samples.parameters(same), 0);
    assertTrue(Samples.distance(Samples.parameters(one), Samples.parameters(other)) > 0.1);
  }

  private static INDArray array(Batch batch) {
    long[] shape = {
      batch.count(), batch.shape().get(0), batch.shape().get(1), batch.shape().get(2)
    };
    return Nd4j.createFromArray(batch.features()).reshape('c', shape);
  }

  private static double lossSum(INDArray probabilities, Batch batch) {
    Score score = Score.NONE;
    for (int i = 0; i < batch.count(); i++) {
      double p = probabilities.getDouble(i, batch.labels()[i]);
      score = score.plus(new Score(1, -Math.log(p), 0));
    }
    return score.lossSum();
  }
}
