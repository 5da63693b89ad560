package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class ResNet20Test {

  private static final List<Integer> IMAGE = List.of(3, 32, 32);

  @Test
  void shouldHaveThePublishedSizesWhenShortcutsProjectOrPad() {
    Model projecting = Samples.model("resnet20", Map.of(), IMAGE, 1);
    Model padding = Samples.model("resnet20", Map.of("shortcut", "A"), IMAGE, 1);

    assertEquals(272_474, projecting.layout().trainable());
    assertEquals(1_568, projecting.layout().statistics());
    assertEquals(269_722, padding.layout().trainable());
    assertTrue(padding.gradient(Samples.batch(4, IMAGE, 10, 1)) > 0);
  }

  @Test
  void shouldGatherStatisticsAtTheEndWhenTheyAlternateInMemory() {
    Model model = Samples.model("resnet20", Map.of(), IMAGE, 1);
    float[] all = Samples.parameters(model);
    int first = model.layout().trainable();
    int at = first;
    for (Block block : model.layout().blocks()) {
      if (block.kind() == Block.Kind.STATISTIC) {
        float start = block.name().endsWith(".var") ? 1 : 0;
        assertEquals(start, all[at], 0, block.name());
        at += block.length();
      }
    }

    for (int i = 0; i < all.length; i++) {
      all[i] = i;
    }
    model.writeParameters(0, FloatBuffer.wrap(all));
    float[] middle = new float[1000];
    model.readParameters(first - 500, FloatBuffer.wrap(middle));

    assertEquals(all.length, at);
    assertEquals(first - 500, middle[0], 0);
    assertEquals(first + 499, middle[999], 0);
  }

  @Test
  void shouldRepeatBitForBitWhenSeedIsTheSame() {
    Batch batch = Samples.batch(8, IMAGE, 10, 5);

    float[] one = Samples.gradient(Samples.model("resnet20", Map.of(), IMAGE, 9), batch);
    float[] two = Samples.gradient(Samples.model("resnet20", Map.of(), IMAGE, 9), batch);

    assertArrayEquals(one, two, 0);
  }

  @Test
  void shouldKeepStatisticsUnchangedWhenComputingAGradient() {
    Model model = Samples.model("resnet20", Map.of(), IMAGE, 1);
    float[] before = Samples.parameters(model);

    Samples.gradient(model, Samples.batch(8, IMAGE, 10, 5));

    assertArrayEquals(before, Samples.parameters(model), 0);
  }
}
