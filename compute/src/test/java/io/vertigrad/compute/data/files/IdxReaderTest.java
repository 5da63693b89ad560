package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.images;
import static io.vertigrad.compute.data.files.SampleFiles.labels;
import static io.vertigrad.compute.data.files.SampleFiles.write;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.SplitMix64;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IdxReaderTest {

  private static final byte[] TWO_IMAGES = images(0x803, 2, 1, 3, new byte[] {1, 2, 3, 4, 5, -1});

  @TempDir private Path folder;

  @Test
  void shouldReadTheSameImagesWhenRawAndCompressed() {
    var raw = IdxReader.images(write(folder.resolve("a"), TWO_IMAGES));
    var compressed = IdxReader.images(write(folder.resolve("a.gz"), gzip(TWO_IMAGES)));

    assertEquals(2, raw.count());
    assertEquals(1, raw.rows());
    assertEquals(3, raw.columns());
    assertArrayEquals(new byte[] {1, 2, 3, 4, 5, -1}, raw.pixels());
    assertArrayEquals(raw.pixels(), compressed.pixels());
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "x.gz"})
  void shouldRefuseEveryTruncationWhenCutAtAnyByte(String name) {
    for (int length = 0; length < TWO_IMAGES.length; length++) {
      byte[] cut = Arrays.copyOf(TWO_IMAGES, length);
      Path path = write(folder.resolve(name), name.endsWith(".gz") ? gzip(cut) : cut);

      String message = imagesRefusal(path);

      assertTrue(message.startsWith(path + ": truncated or damaged: "), message);
      assertTrue(message.endsWith(length < 16 ? "expected 16" : "expected 6"), message);
    }
  }

  @Test
  void shouldRefuseContentThatTheHeapHasNoRoomForBeforeItIsRead() {
    Path path = write(folder.resolve("x.gz"), gzip(new byte[100_000]));

    try (DataFile file = DataFile.open(path)) {
      DataException refused =
          assertThrows(
              DataException.class,
              () -> file.requireHeap(549L << 20, "700672 images 28x28", 700L << 20));

      assertEquals(
          path
              + ": 700672 images 28x28 are 549 MiB, expected at most 175, a quarter of the heap:"
              + " give this JVM more with VERTIGRAD_JAVA_OPTS=-Xmx2200m",
          refused.getMessage());
      assertThrows(DataException.class, () -> file.readAll(Integer.MAX_VALUE - 8, 100_000));
    }
  }

  @Test
  void shouldReadNoImagesThatTheHeapHasNoRoomFor() {
    long heap = Runtime.getRuntime().maxMemory();
    int count = (int) (heap / 4 / (1 << 20)) + 1;
    // Noise does not compress, so a file of this size could hold that many images.
    byte[] noise = new byte[(int) (((long) count << 20) / 1_000)];
    new Random(1).nextBytes(noise);
    Path path = write(folder.resolve("x.gz"), gzip(images(0x803, count, 1024, 1024, noise)));

    assertTrue(imagesRefusal(path).contains("a quarter of the heap"), imagesRefusal(path));
  }

  @Test
  void shouldReportTheFoundBytesWhenTheBodyIsTruncated() {
    Path raw = write(folder.resolve("x"), Arrays.copyOf(TWO_IMAGES, 20));
    Path compressed = write(folder.resolve("x.gz"), gzip(Arrays.copyOf(TWO_IMAGES, 20)));

    assertEquals(
        raw
            + ": truncated or damaged: at most 4 bytes of 2 images 1x3 behind offset 16, "
            + "expected 6",
        imagesRefusal(raw));
    assertEquals(
        compressed + ": truncated or damaged: 4 bytes of 2 images 1x3 behind offset 16, expected 6",
        imagesRefusal(compressed));
  }

  @Test
  void shouldReportTheMeaningOfAnotherMagicNumber() {
    Path labels = write(folder.resolve("l"), labels(0x801, 8, new byte[8]));
    Path renamed = write(folder.resolve("z"), gzip(TWO_IMAGES));
    Path images = write(folder.resolve("i"), TWO_IMAGES);

    assertEquals(
        labels + ": magic number is 0x00000801 (IDX labels), expected 0x00000803 (IDX images)",
        imagesRefusal(labels));
    assertEquals(
        images + ": magic number is 0x00000803 (IDX images), expected 0x00000801 (IDX labels)",
        labelsRefusal(images));
    assertEquals(
        renamed
            + ": magic number is 0x1f8b0800 (gzip: the name must end in .gz), "
            + "expected 0x00000803 (IDX images)",
        imagesRefusal(renamed));
  }

  @Test
  void shouldRefuseBytesBehindTheLastImage() {
    byte[] longer = Arrays.copyOf(TWO_IMAGES, 25);
    Path raw = write(folder.resolve("x"), longer);
    Path compressed = write(folder.resolve("x.gz"), gzip(longer));

    assertEquals(raw + ": holds 25 bytes, expected 22 and nothing behind them", imagesRefusal(raw));
    assertEquals(
        compressed + ": holds more than 22 bytes, expected 22 and nothing behind them",
        imagesRefusal(compressed));
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "x.gz"})
  void shouldAllocateNothingWhenTheHeaderAnnouncesTerabytes(String name) {
    byte[] lie = images(0x803, Integer.MAX_VALUE, 1024, 1024, new byte[] {1});
    Path path = write(folder.resolve(name), name.endsWith(".gz") ? gzip(lie) : lie);

    String message = imagesRefusal(path);

    assertTrue(message.startsWith(path + ": truncated or damaged: at most "), message);
    assertTrue(message.endsWith("expected 2251799812636672"), message);
  }

  @Test
  void shouldNameTheFieldWhenCountOrSidesAreOutOfRange() {
    Path none = write(folder.resolve("n"), images(0x803, 0, 1, 1));
    Path negative = write(folder.resolve("m"), images(0x803, -1, 1, 1));
    Path flat = write(folder.resolve("f"), images(0x803, 1, 0, 1));
    Path wide = write(folder.resolve("w"), images(0x803, 1, 1, 5000));

    assertEquals(none + ": the header announces 0 items, expected at least 1", imagesRefusal(none));
    assertEquals(
        negative + ": the header announces 4294967295 items, expected at least 1",
        imagesRefusal(negative));
    assertEquals(flat + ": the header announces 0 rows, expected 1 to 1024", imagesRefusal(flat));
    assertEquals(
        wide + ": the header announces 5000 columns, expected 1 to 1024", imagesRefusal(wide));
  }

  @Test
  void shouldNameTheLabelWhenItIsOutOfRange() {
    Path path = write(folder.resolve("l"), labels(0x801, 3, new byte[] {0, 9, 10}));

    assertEquals(path + ": label 2 is 10, expected 0 to 9", labelsRefusal(path));
  }

  @Test
  void shouldReportCorruptionWhenTheGzipIsDamaged() {
    byte[] good = gzip(TWO_IMAGES);
    byte[] flipped = good.clone();
    flipped[good.length - 8] ^= 1;
    Path cut = write(folder.resolve("cut.gz"), Arrays.copyOf(good, good.length - 12));
    Path checksum = write(folder.resolve("crc.gz"), flipped);
    Path raw = write(folder.resolve("raw.gz"), TWO_IMAGES);

    assertEquals(
        cut
            + ": corrupt gzip (Unexpected end of ZLIB input stream), "
            + "expected a complete .gz file; fetch it again",
        imagesRefusal(cut));
    assertTrue(imagesRefusal(checksum).contains(": corrupt gzip (Corrupt GZIP trailer), "));
    assertTrue(imagesRefusal(raw).contains(": corrupt gzip (Not in GZIP format), "));
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "x.gz"})
  @Tag("slow")
  void shouldReadOrRefuseDamagedBytes(String name) {
    byte[] good = name.endsWith(".gz") ? gzip(TWO_IMAGES) : TWO_IMAGES;
    SplitMix64 random = new SplitMix64(11);
    int refused = 0;
    for (int round = 0; round < 500; round++) {
      byte[] damaged = good.clone();
      damaged[random.below(damaged.length)] ^= (byte) (1 + random.below(255));
      damaged[random.below(damaged.length)] ^= (byte) (1 + random.below(255));
      Path path = write(folder.resolve(name), damaged);
      try {
        assertEquals(6, IdxReader.images(path).pixels().length);
      } catch (DataException e) {
        assertTrue(e.getMessage().startsWith(path + ": "), e.getMessage());
        refused++;
      }
    }

    assertTrue(refused > 250, refused + " of 500 refused");
  }

  private static String imagesRefusal(Path path) {
    return assertThrows(DataException.class, () -> IdxReader.images(path)).getMessage();
  }

  private static String labelsRefusal(Path path) {
    return assertThrows(DataException.class, () -> IdxReader.labels(path, 10)).getMessage();
  }
}
