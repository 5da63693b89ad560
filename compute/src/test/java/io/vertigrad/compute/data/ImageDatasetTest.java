package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class ImageDatasetTest {

  private static final List<Normalisation> TWO_CHANNELS =
      List.of(new Normalisation(0, 1), new Normalisation(0.5f, 0.25f));

  @Test
  void shouldNormaliseEachChannelByItsOwnNumbersWhenReading() {
    byte[] pixels = {0, (byte) 255, 0, (byte) 255, 51, 102, 51, 102};
    var dataset = new ImageDataset(pixels, new byte[] {3, 4}, 2, List.of(2, 1, 2), 5, TWO_CHANNELS);
    float[] features = new float[6];

    dataset.read(0, features, 1);

    assertArrayEquals(new float[] {0, 0, 1, -2, 2, 0}, features, 1e-6f);
    assertEquals(4, dataset.label(1));
    assertEquals(2, dataset.size());
  }

  @Test
  void shouldAgreeWithTorchvisionWhenNormalisingMnist() {
    float[] table = Normalisation.MNIST.table();

    assertEquals(-0.4242f, table[0], 1e-4f);
    assertEquals(2.8215f, table[255], 1e-4f);
  }

  @Test
  void shouldRefuseAnIndexBehindTheLastSample() {
    var dataset = new ImageDataset(new byte[8], new byte[2], 1, List.of(2, 1, 2), 5, TWO_CHANNELS);

    String message =
        assertThrows(IndexOutOfBoundsException.class, () -> dataset.label(1)).getMessage();

    assertEquals("sample 1, expected one from 0 to 0", message);
  }

  @Test
  void shouldRefuseArraysThatAreTooShort() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new ImageDataset(new byte[7], new byte[2], 2, List.of(2, 1, 2), 5, TWO_CHANNELS));
    assertThrows(IllegalArgumentException.class, () -> new Normalisation(0, 0));
  }
}
