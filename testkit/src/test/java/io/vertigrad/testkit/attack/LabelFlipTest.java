package io.vertigrad.testkit.attack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class LabelFlipTest {

  @Test
  void shouldMirrorLabelsWhenTheyAreFlipped() {
    assertEquals(9, LabelFlip.MIRRORED.flip(0, 10));
    assertEquals(2, LabelFlip.MIRRORED.flip(7, 10));
  }

  @Test
  void shouldStartAgainWhenLastLabelIsShifted() {
    assertEquals(4, LabelFlip.SHIFTED.flip(3, 10));
    assertEquals(0, LabelFlip.SHIFTED.flip(9, 10));
  }

  @Test
  void shouldRefuseLabelWhenThereIsNoSuchClass() {
    assertThrows(IllegalArgumentException.class, () -> LabelFlip.SHIFTED.flip(10, 10));
    assertThrows(IllegalArgumentException.class, () -> LabelFlip.MIRRORED.flip(-1, 10));
  }
}
