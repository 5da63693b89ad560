package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.Balance;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SplitNetworkTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);

  /** Tolerance: sums of 64 and of 4 times 16 samples are rounded differently. */
  private static final double TO_FULL_BATCH = 1e-6;

  @ParameterizedTest
  @CsvSource({"convnet,conv1", "convnet,relu1", "convnet,pool1", "mlp,fc1"})
  void shouldHaveTheUnsplitGradientBitForBitWhenThereIsOneMicroBatch(String name, String cut) {
    Batch batch = Samples.batch(64, DIGIT, 10, 4);
    Model whole = Samples.model(name, Map.of(), DIGIT, 1);
    StagesInARow stages = stages(name, SplitConfig.after(List.of(cut)));
    float[] expected = Samples.gradient(whole, batch);

    assertArrayEquals(expected, stages.gradient(batch, 1), 0);
    assertEquals(whole.gradient(batch), stages.loss(64), 1e-12);
  }

  @ParameterizedTest
  @CsvSource({"convnet,relu1,4", "convnet,relu1,7", "mlp,fc1,4", "mlp,fc1,64"})
  void shouldSumToTheUnsplitGradientWhenThereAreMicroBatches(String name, String cut, int m) {
    Batch batch = Samples.batch(64, DIGIT, 10, 4);
    float[] expected = Samples.gradient(Samples.model(name, Map.of(), DIGIT, 1), batch);

    float[] found = stages(name, SplitConfig.after(List.of(cut))).gradient(batch, m);

    assertTrue(Samples.distance(expected, found) < TO_FULL_BATCH);
  }

  @ParameterizedTest
  @CsvSource({"convnet,relu1", "mlp,fc1"})
  void shouldEqualTheUnsplitNetworkBitForBitWhenPredicting(String name, String cut) {
    Batch batch = Samples.batch(64, DIGIT, 10, 4);
    Model whole = Samples.model(name, Map.of(), DIGIT, 1);

    Score found = stages(name, SplitConfig.after(List.of(cut))).score(batch);

    assertEquals(whole.score(batch), found);
    assertEquals(64, found.samples());
  }

  @ParameterizedTest
  @CsvSource({"convnet", "mlp"})
  void shouldStartWithTheUnsplitParametersWhenTheSeedIsTheSame(String name) {
    Model whole = Samples.model(name, Map.of(), DIGIT, 7);

    StagesInARow stages =
        new StagesInARow(Samples.config(name, Map.of(), DIGIT, 7), SplitConfig.into(2));

    assertArrayEquals(Samples.parameters(whole), stages.parameters(), 0);
    assertEquals(whole.layout(), stages.split().layout());
  }

  @Test
  void shouldCutWhereTheSmallestActivationsCross() {
    SplitModel split = split("convnet", SplitConfig.into(2));

    assertEquals(List.of("relu1"), split.cuts());
    assertEquals(List.of(3, 8, 8), split.stages().get(0).output());
    assertEquals(30, split.stages().get(0).layout().trainable());
    assertEquals(1930, split.stages().get(1).layout().trainable());
  }

  @Test
  void shouldMeasureEveryStageWhenTimeDecides() {
    SplitModel split = split("convnet", new SplitConfig(2, List.of(), Balance.TIME, 16));

    assertEquals(List.of("relu1"), split.cuts());
  }

  @Test
  void shouldTakeAnIndexWhenItIsNoName() {
    assertEquals(List.of("pool1"), split("convnet", SplitConfig.after(List.of("1"))).cuts());
  }

  @Test
  void shouldReportWhyACutIsImpossible() {
    assertRefused("conv9", "no such layer", "index from 0 to 3");
    assertRefused("fc", "it is the last layer");
    assertRefused(List.of("relu1", "conv1"), "precedes the previous cut");
    assertRefused(List.of("conv1", "relu1"), "from pool1 to relu1 would have no parameters");
    IllegalArgumentException tooMany =
        assertThrows(IllegalArgumentException.class, () -> split("convnet", SplitConfig.into(3)));
    assertTrue(tooMany.getMessage().contains("into 3 stages, expected at most 2"));
  }

  private static void assertRefused(String cut, String... parts) {
    assertRefused(List.of(cut), parts);
  }

  private static void assertRefused(List<String> cuts, String... parts) {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class, () -> split("convnet", SplitConfig.after(cuts)));
    for (String part : parts) {
      assertTrue(refused.getMessage().contains(part), refused.getMessage());
    }
  }

  private static StagesInARow stages(String name, SplitConfig cuts) {
    return new StagesInARow(Samples.config(name, Map.of(), DIGIT, 1), cuts);
  }

  private static SplitModel split(String name, SplitConfig cuts) {
    return Engine.named("dl4j").split(Samples.config(name, Map.of(), DIGIT, 1), cuts);
  }
}
