package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.engine.dl4j.models.MlpFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelLoaderTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);

  @TempDir Path folder;

  @Test
  void shouldBuildTheNetworksOfTheTextWhenNamed() {
    assertEquals(1_960, Samples.model("convnet", Map.of(), DIGIT, 1).layout().length());
    assertEquals(407_050, Samples.model("mlp", Map.of(), DIGIT, 1).layout().length());
  }

  @Test
  void shouldBuildWithAnOwnFactoryWhenItsClassIsNamed() {
    assertEquals(
        7_960, Samples.model(OwnFactory.class.getName(), Map.of(), DIGIT, 1).layout().length());
  }

  @Test
  void shouldListTheKnownNamesWhenTheNameIsNot() {
    assertEquals(
        "model 'convnett' is not known, expected one of convnet, mlp, resnet20, "
            + "the path of a DL4J .zip or .json, or the class name of a ModelFactory",
        refused("convnett", Map.of(), DIGIT));
  }

  @Test
  void shouldListTheKnownOptionsWhenOneIsUnknown() {
    assertEquals(
        "model mlp: option hiden is not known, expected one of hidden, initialization, layers",
        refused("mlp", Map.of("hiden", 3), DIGIT));
    assertEquals(
        "model convnet: option hidden is not known, expected one of initialization",
        refused("convnet", Map.of("hidden", 3), DIGIT));
    assertEquals(
        "model mlp: option hidden is 0, expected a whole number from 1 to 1048576",
        refused("mlp", Map.of("hidden", 0), DIGIT));
    assertEquals(
        "model resnet20: option shortcut is C, expected one of A, B",
        refused("resnet20", Map.of("shortcut", "C"), DIGIT));
  }

  @Test
  void shouldNameTheFileWhenItIsMissingOrNotAModel() throws Exception {
    Path text = folder.resolve("model.zip");
    Files.writeString(text, "not a zip");

    assertEquals(
        "model nowhere/model.zip: no such file, expected a DL4J .zip or configuration .json",
        refused("nowhere/model.zip", Map.of(), DIGIT));
    assertTrue(refused(text.toString(), Map.of(), DIGIT).contains("model.zip: not a DL4J model"));
  }

  @Test
  void shouldReportAMismatchOfSamplesOrClasses() throws Exception {
    Path file = folder.resolve("mlp.zip");
    Samples.model("mlp", Map.of("hidden", 4), DIGIT, 1).save(file);

    assertEquals(
        "model convnet: samples are [784], expected [channels, height, width] of at least 5 x 5",
        refused("convnet", Map.of(), List.of(784)));
    assertTrue(
        refused(file.toString(), Map.of(), List.of(1, 8, 8))
            .contains("mlp.zip: does not take samples of shape [1, 8, 8]"));
    ModelConfig classes = new ModelConfig(file.toString(), Map.of(), DIGIT, 3, 1, 1);
    assertTrue(
        assertThrows(IllegalArgumentException.class, () -> Engine.named("dl4j").model(classes))
            .getMessage()
            .contains("its output is [1, 10] for one sample, expected [1, 3] for the 3 classes"));
  }

  private static String refused(String name, Map<String, Object> options, List<Integer> shape) {
    return assertThrows(
            IllegalArgumentException.class, () -> Samples.model(name, options, shape, 1))
        .getMessage();
  }

  /** An MLP with ten hidden units, as a user might add it. */
  public static final class OwnFactory implements ModelFactory {

    @Override
    public String name() {
      return "own";
    }

    @Override
    public java.util.Set<String> options() {
      return java.util.Set.of();
    }

    @Override
    public org.deeplearning4j.nn.api.NeuralNetwork network(ModelConfig config) {
      return new MlpFactory()
          .network(Samples.config("mlp", Map.of("hidden", 10), config.inputShape(), 1));
    }
  }
}
