package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.vertigrad.compute.Batch;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class PadCropFlipTest {

  private static final int SIDE = 32;
  private static final int PADDING = 4;
  private static final int PLACES = 2 * PADDING + 1;

  @Test
  void shouldEqualPaddingTheRawImageBeforeNormalising() {
    byte[] raw = noise(3 * SIDE * SIDE);
    Dataset dataset = images(raw, SIDE, SIDE);
    Augmentation augmentation = padCropFlip(dataset);

    for (int seed = 0; seed < 500; seed++) {
      float[] found = Fingerprint.sample(dataset, 0);
      augmentation.apply(found, 0, dataset.shape(), new SplitMix64(seed));

      byte[] expected = torchvision(raw, SIDE, SIDE, new SplitMix64(seed));
      assertArrayEquals(Fingerprint.sample(images(expected, SIDE, SIDE), 0), found, "seed " + seed);
    }
  }

  @Test
  void shouldLeaveOnlyPaddingWhenTheImageIsShiftedOutOfSight() {
    byte[] raw = noise(3 * 3 * 2);
    Dataset dataset = images(raw, 3, 2);
    Augmentation augmentation = padCropFlip(dataset);

    for (int seed = 0; seed < 500; seed++) {
      float[] found = Fingerprint.sample(dataset, 0);
      augmentation.apply(found, 0, dataset.shape(), new SplitMix64(seed));

      byte[] expected = torchvision(raw, 3, 2, new SplitMix64(seed));
      assertArrayEquals(Fingerprint.sample(images(expected, 3, 2), 0), found, "seed " + seed);
    }
  }

  @Test
  void shouldDrawEveryCropAndMirrorImageEquallyOften() {
    PadCropFlip augmentation = new PadCropFlip(PADDING, -1);
    List<Integer> shape = List.of(1, SIDE, SIDE);
    int[] counts = new int[2 * PLACES * PLACES];

    for (int seed = 0; seed < 100 * counts.length; seed++) {
      float[] image = numbered();
      augmentation.apply(image, 0, shape, new SplitMix64(7, seed));
      int left = (int) image[SIDE * SIDE / 2 + SIDE / 2 - 1];
      int right = (int) image[SIDE * SIDE / 2 + SIDE / 2];
      int row = left / SIDE - SIDE / 2 + PADDING;
      int column = Math.min(left, right) % SIDE - SIDE / 2 + 1 + PADDING;
      counts[(row * PLACES + column) * 2 + (left < right ? 0 : 1)]++;
    }

    for (int count : counts) {
      // The expected count is 100 with deviation 10; the tolerance is five deviations.
      assertEquals(100, count, 50);
    }
  }

  @Test
  void shouldRepeatASampleInItsEpochAndChangeItInTheNext() {
    Dataset dataset = images(noise(4 * 3 * SIDE * SIDE), SIDE, SIDE);
    BatchAssembler assembler = new BatchAssembler(dataset, padCropFlip(dataset), 3);

    Batch first = assembler.assemble(new int[] {0, 1, 2, 3}, 0, 4, 0);
    Batch again = assembler.assemble(new int[] {2}, 0, 1, 0);
    Batch next = assembler.assemble(new int[] {2}, 0, 1, 1);

    int length = 3 * SIDE * SIDE;
    float[] second = Arrays.copyOfRange(first.features(), 2 * length, 3 * length);
    assertArrayEquals(second, again.features());
    assertFalse(Arrays.equals(second, next.features()));
  }

  @Test
  void shouldGiveTheSameBytesOnEveryMachineWhenTheSeedIsTheSame() {
    Dataset dataset = images(noise(20 * 3 * SIDE * SIDE), SIDE, SIDE);
    BatchAssembler assembler = new BatchAssembler(dataset, padCropFlip(dataset), 1);
    Fingerprint fingerprint = new Fingerprint();

    for (int sample = 0; sample < dataset.size(); sample++) {
      fingerprint.add(assembler.assemble(new int[] {sample}, 0, 1, 2).features(), sample);
    }

    assertEquals(
        "2e425a7a7a6250a215d37d2be295f16c3b103af0e2d3bb2ce8960d53ac063f21", fingerprint.hex());
  }

  private static Augmentation padCropFlip(Dataset dataset) {
    return new PadCropFlip(PADDING, dataset.black(0), dataset.black(1), dataset.black(2));
  }

  /** Computes RandomCrop((height, width), padding=4) and RandomHorizontalFlip pixel by pixel. */
  private static byte[] torchvision(byte[] raw, int height, int width, SplitMix64 random) {
    int top = random.below(PLACES);
    int left = random.below(PLACES);
    boolean mirrored = random.below(2) == 1;
    byte[] result = new byte[raw.length];
    for (int i = 0; i < raw.length; i++) {
      int column = i % width;
      int row = i / width % height + top - PADDING;
      int from = (mirrored ? width - 1 - column : column) + left - PADDING;
      boolean padding = row < 0 || row >= height || from < 0 || from >= width;
      result[i] = padding ? 0 : raw[(i / (width * height) * height + row) * width + from];
    }
    return result;
  }

  private static Dataset images(byte[] raw, int height, int width) {
    int count = raw.length / (3 * height * width);
    return new ImageDataset(
        raw, new byte[count], count, List.of(3, height, width), 10, Normalisation.CIFAR10);
  }

  private static byte[] noise(int length) {
    SplitMix64 random = new SplitMix64(5);
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) random.below(256);
    }
    return bytes;
  }

  private static float[] numbered() {
    float[] values = new float[SIDE * SIDE];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    return values;
  }
}
