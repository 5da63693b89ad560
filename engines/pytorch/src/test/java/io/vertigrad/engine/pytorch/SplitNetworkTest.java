package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.Balance;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SplitNetworkTest {

  private static final double ROUNDING = 1e-6;
  private static final int CLASSES = 10;

  @ParameterizedTest
  @CsvSource({"convnet,conv1", "convnet,relu1", "mlp,fc1", "resnet20,s0b2-relu"})
  void shouldHaveTheGradientOfTheWholeNetwork(String name, String cut) {
    Batch batch = Samples.batch(32, shape(name), CLASSES, 4);
    try (Model whole = engine().model(config(name));
        Row stages = new Row(name, SplitConfig.after(List.of(cut)))) {
      float[] expected = Samples.gradient(whole, batch);

      assertTrue(Samples.distance(expected, stages.gradient(batch, 1)) < ROUNDING);
      assertEquals(whole.gradient(batch), stages.lossSum / 32, ROUNDING);
      assertEquals(whole.correct(), stages.correct);
      if (!name.equals("resnet20")) {
        assertTrue(Samples.distance(expected, stages.gradient(batch, 5)) < ROUNDING);
      }
    }
  }

  /**
   * Checks micro-batches with statistics of their own, whose differences are weighted by the number
   * of samples.
   */
  @Test
  void shouldMoveNoStatisticsWhenItGoesForwardAgain() {
    Batch batch = Samples.batch(12, shape("resnet20"), CLASSES, 4);
    try (Row stages = new Row("resnet20", SplitConfig.into(3))) {
      float[] before = stages.parameters();
      float[] first = stages.gradient(batch, 3);

      assertArrayEquals(before, stages.parameters(), 0);
      assertArrayEquals(first, stages.gradient(batch, 3), 0);
      int statistics = stages.split.layout().trainable();
      assertFalse(first[statistics] == 0);
    }
  }

  @ParameterizedTest
  @CsvSource({"convnet", "mlp", "resnet20"})
  void shouldStartAndPredictAsTheWholeNetwork(String name) {
    Batch batch = Samples.batch(16, shape(name), CLASSES, 4);
    try (Model whole = engine().model(config(name));
        Row stages = new Row(name, SplitConfig.into(2))) {
      assertArrayEquals(Samples.parameters(whole), stages.parameters(), 0);

      Score expected = whole.score(batch, 2);
      Score found = stages.score(batch, 2);
      assertEquals(expected.correct(), found.correct());
      assertEquals(expected.correctTop(), found.correctTop());
      assertEquals(expected.lossSum(), found.lossSum(), 1e-4);
    }
  }

  /** Checks that a job file's cuts have the same meaning with both engines. */
  @ParameterizedTest
  @CsvSource({"convnet,2", "mlp,2", "resnet20,2", "resnet20,5"})
  void shouldCutAtTheSameLayersAsTheOtherEngine(String name, int stages) {
    SplitModel there = Engine.named("dl4j").split(config(name), SplitConfig.into(stages));
    SplitModel here = engine().split(config(name), SplitConfig.into(stages));

    assertEquals(there.layout(), here.layout());
    assertEquals(there.cuts(), here.cuts());
    for (int i = 0; i < stages; i++) {
      assertEquals(there.stages().get(i).layout(), here.stages().get(i).layout());
      assertEquals(there.stages().get(i).outputLength(), here.stages().get(i).outputLength());
    }
  }

  @Test
  void shouldMeasureEveryStageWhenTimeDecides() {
    SplitModel split =
        engine().split(config("convnet"), new SplitConfig(2, List.of(), Balance.TIME, 16));

    assertEquals(List.of("relu1"), split.cuts());
  }

  /** A loss cannot have less than 0 classes. */
  @Test
  void shouldCloseItsPlaceOnceWhenAStageCannotBeBuilt() {
    LibTorch.start(1);
    ModelConfig mlp = config("mlp");
    ModelConfig wrong = new ModelConfig("mlp", Map.of(), shape("mlp"), -1, 1, 1);
    List<String> closed = new ArrayList<>();
    Place place = Place.copied(() -> closed.add("place"));
    Network network = BuiltInNetworks.of(mlp);

    assertThrows(
        RuntimeException.class,
        () -> new PyTorchStage(null, network, wrong, place, Precision.FLOAT32));

    assertEquals(List.of("place"), closed);
  }

  @Test
  void shouldReportWhyACutIsImpossible() {
    assertRefused("convnet", "conv9", "no such layer");
    assertRefused("convnet", "fc", "it is the last layer");
    assertRefused("resnet20", "s0b0a-relu", "s0b0-add, which comes after it, also reads stem-relu");
    assertRefused("net.pt", "fc", "cuts into stages only convnet, mlp, resnet20");
  }

  @Test
  void shouldReportValuesThatDoNotFit() {
    try (StageModel stage = engine().split(config("mlp"), SplitConfig.into(2)).stage(0)) {
      assertEquals(
          "input of 3 values, expected 784 and at least 1",
          assertThrows(IllegalArgumentException.class, () -> stage.forward(new float[3], 1))
              .getMessage());
      assertEquals(
          "gradient of 3 values, expected 512 and at least 1",
          assertThrows(
                  IllegalArgumentException.class,
                  () -> stage.backward(new float[784], new float[3], 1))
              .getMessage());
    }
  }

  private static void assertRefused(String name, String cut, String part) {
    ModelConfig config = new ModelConfig(name, Map.of(), shape(name), CLASSES, 1, 1);
    SplitConfig split = SplitConfig.after(List.of(cut));
    String found =
        assertThrows(IllegalArgumentException.class, () -> engine().split(config, split))
            .getMessage();
    assertTrue(found.contains(part), found);
  }

  private static Engine engine() {
    return Engine.named("pytorch");
  }

  private static ModelConfig config(String name) {
    return new ModelConfig(name, Map.of(), shape(name), CLASSES, 1, 1);
  }

  private static List<Integer> shape(String name) {
    return name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
  }

  /** Runs all stages on one thread, one micro-batch after another. */
  private static final class Row implements AutoCloseable {

    private final SplitModel split;
    private final List<StageModel> stages = new ArrayList<>();
    private double lossSum;
    private int correct;

    Row(String name, SplitConfig cuts) {
      split = engine().split(config(name), cuts);
      for (int i = 0; i < split.stages().size(); i++) {
        stages.add(split.stage(i));
      }
    }

    float[] gradient(Batch batch, int parts) {
      List<float[]> sums = new ArrayList<>();
      stages.forEach(stage -> sums.add(new float[stage.layout().length()]));
      lossSum = 0;
      correct = 0;
      for (int m = 0; m < parts; m++) {
        int first = batch.count() * m / parts;
        add(Samples.part(batch, first, batch.count() * (m + 1) / parts), batch.count(), sums);
      }
      return assembled(sums);
    }

    private void add(Batch part, int batch, List<float[]> sums) {
      int last = stages.size() - 1;
      float[][] inputs = new float[stages.size()][];
      inputs[0] = part.features();
      for (int s = 0; s < last; s++) {
        inputs[s + 1] = array(stages.get(s).forward(inputs[s], part.count()));
      }
      StageLoss loss = stages.get(last).loss(inputs[last], part.labels());
      lossSum += loss.sum();
      correct += loss.correct();
      stages.get(last).addGradient(sums.get(last), batch);
      float[] gradient = array(loss.inputGradient());
      for (int s = last - 1; s >= 0; s--) {
        gradient = array(stages.get(s).backward(inputs[s], gradient, part.count()));
        stages.get(s).addGradient(sums.get(s), batch);
      }
      assertEquals(0, gradient.length, "the gradient of the samples is not needed");
    }

    Score score(Batch batch, int topK) {
      float[] values = batch.features();
      for (StageModel stage : stages.subList(0, stages.size() - 1)) {
        values = array(stage.infer(values, batch.count()));
      }
      return stages.get(stages.size() - 1).score(values, batch.labels(), topK);
    }

    float[] parameters() {
      List<float[]> values = new ArrayList<>();
      for (StageModel stage : stages) {
        float[] own = new float[stage.layout().length()];
        stage.readParameters(0, FloatBuffer.wrap(own));
        values.add(own);
      }
      return assembled(values);
    }

    /** Combines the stages' vectors block by block, in the order of the whole layout. */
    private float[] assembled(List<float[]> vectors) {
      Map<String, FloatBuffer> blocks = new HashMap<>();
      for (int s = 0; s < stages.size(); s++) {
        int at = 0;
        for (Block block : stages.get(s).layout().blocks()) {
          blocks.put(block.name(), FloatBuffer.wrap(vectors.get(s), at, block.length()));
          at += block.length();
        }
      }
      FloatBuffer whole = FloatBuffer.allocate(split.layout().length());
      split.layout().blocks().forEach(block -> whole.put(blocks.get(block.name())));
      return whole.array();
    }

    private static float[] array(FloatBuffer buffer) {
      float[] values = new float[buffer.remaining()];
      buffer.get(values);
      return values;
    }

    @Override
    public void close() {
      stages.forEach(StageModel::close);
    }
  }
}
