package io.vertigrad.engine.dl4j.kernels;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.vertigrad.compute.Engine;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

class ImageLayoutTest {

  private static final LayerWorkspaceMgr MEMORY = LayerWorkspaceMgr.noWorkspaces();

  @BeforeAll
  static void startBackend() {
    Engine.named("dl4j").describe();
  }

  @Test
  void shouldKeepTheValuesWhenArrangedInAnotherLayout() {
    INDArray first = counting();

    INDArray last = ImageLayout.CHANNELS_LAST.arrange(first);
    INDArray back = ImageLayout.CHANNELS_FIRST.arrange(last);

    assertEquals(ImageLayout.CHANNELS_LAST, ImageLayout.of(last));
    assertEquals(ImageLayout.CHANNELS_FIRST, ImageLayout.of(back));
    assertEquals(first.getFloat(1, 2, 3, 4), last.getFloat(1, 2, 3, 4), 0);
    float[] inMemory = new float[(int) last.length()];
    NativeFloats.of(last).get(inMemory);
    assertEquals(first.getFloat(0, 1, 0, 0), inMemory[1], 0);
    assertArrayEquals(NativeFloats.values(first), NativeFloats.values(back), 0);
    assertSame(last, ImageLayout.CHANNELS_LAST.arrange(last));
  }

  @Test
  void shouldAddWhenTheOtherHasAnotherLayout() {
    INDArray expected = counting().mul(3);
    INDArray last = ImageLayout.CHANNELS_LAST.copy(MEMORY, ArrayType.ACTIVATION_GRAD, counting());

    last.addi(ImageLayout.CHANNELS_LAST.arrange(counting()));
    last.addi(counting());

    assertEquals(ImageLayout.CHANNELS_LAST, ImageLayout.of(last));
    assertArrayEquals(
        NativeFloats.values(expected),
        NativeFloats.values(ImageLayout.CHANNELS_FIRST.arrange(last)),
        0);
  }

  private static INDArray counting() {
    return Nd4j.arange(2 * 3 * 4 * 5).castTo(Nd4j.dataType()).reshape('c', 2, 3, 4, 5);
  }
}
