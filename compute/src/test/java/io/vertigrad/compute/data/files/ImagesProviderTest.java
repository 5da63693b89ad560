package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImagesProviderTest {

  private static final Map<String, Object> GREY_2X2 =
      Map.of("height", 2, "width", 2, "channels", 1, "normalization", "raw");

  @TempDir private Path root;

  @Test
  void shouldTakeClassesInTurnAndInTheOrderOfTheirNames() throws IOException {
    for (String name : List.of("train/cat/a", "train/cat/b", "train/bird/a", "train/dog/a")) {
      png(name, grey(2, 2, name.length(), 0, 0, 0));
    }
    png("test/dog/a", grey(2, 2, 9, 0, 0, 0));
    Files.writeString(root.resolve("train/cat/notes.txt"), "not a picture");
    Files.writeString(root.resolve("train/cat/.hidden.png"), "not a picture");

    Dataset train = open(Split.TRAIN, GREY_2X2);
    Dataset test = open(Split.TEST, GREY_2X2);

    assertEquals(List.of(1, 2, 2), train.shape());
    assertEquals(3, train.classes());
    assertArrayEquals(new int[] {0, 1, 2, 1}, labels(train));
    assertArrayEquals(new int[] {2}, labels(test));
    assertEquals("train/bird/a".length(), read(train, 0)[0]);
    Map<String, Object> two = new TreeMap<>(GREY_2X2);
    two.put("train", 2);
    assertArrayEquals(new int[] {0, 1}, labels(open(Split.TRAIN, two)));
    assertEquals(4, new ImagesProvider().samples(config(GREY_2X2), Split.TRAIN));
  }

  @Test
  void shouldKeepEveryGreyValueWhenTheSizeIsTheModels() throws IOException {
    int[] values = IntStream.range(0, 256).toArray();
    png("train/a/1", grey(16, 16, values));
    Map<String, Object> options =
        Map.of("height", 16, "width", 16, "channels", 1, "normalization", "raw");

    float[] found = read(open(Split.TRAIN, options), 0);

    for (int i = 0; i < 256; i++) {
      assertEquals(i, found[i]);
    }
  }

  @Test
  void shouldKeepColoursPlaneByPlaneAndTurnThemGreyByBt601() throws IOException {
    BufferedImage image = new BufferedImage(2, 1, BufferedImage.TYPE_INT_ARGB);
    image.setRGB(0, 0, 0xFF102030);
    image.setRGB(1, 0, 0x00FFFFFF);
    png("train/a/1", image);

    float[] colours =
        read(open(Split.TRAIN, Map.of("height", 1, "width", 2, "normalization", "raw")), 0);
    float[] standard = read(open(Split.TRAIN, Map.of("height", 1, "width", 2)), 0);
    Map<String, Object> grey =
        Map.of("height", 1, "width", 2, "channels", 1, "normalization", "raw");

    assertArrayEquals(new float[] {0x10, 255, 0x20, 255, 0x30, 255}, colours);
    assertEquals((0x10 / 255f - 0.5f) / 0.5f, standard[0]);
    assertEquals(
        Math.round(0.299 * 16 + 0.587 * 32 + 0.114 * 48), read(open(Split.TRAIN, grey), 0)[0]);
  }

  @Test
  void shouldTakeTheMeanOfTheAreaWhenAnImageIsLarger() throws IOException {
    png("train/a/1", grey(4, 4, 0, 4, 8, 8, 8, 12, 8, 8, 100, 100, 1, 2, 100, 100, 3, 4));
    png("train/a/2", grey(3, 3, 0, 90, 180, 0, 90, 180, 0, 90, 180));

    Dataset train = open(Split.TRAIN, GREY_2X2);

    assertArrayEquals(new float[] {6, 8, 100, 3}, read(train, 0));
    // (0 + 90 / 2) / 1.5 and (90 / 2 + 180) / 1.5
    assertArrayEquals(new float[] {30, 150, 30, 150}, read(train, 1));
  }

  @Test
  void shouldStretchOrTakeTheMiddleWhenProportionsDiffer() throws IOException {
    png("train/a/1", grey(1, 4, 10, 20, 30, 40));
    Map<String, Object> crop = new TreeMap<>(GREY_2X2);
    crop.put("fit", "crop");
    crop.put("height", 1);
    Map<String, Object> square = new TreeMap<>(crop);
    square.put("width", 1);

    assertArrayEquals(new float[] {15, 35, 15, 35}, read(open(Split.TRAIN, GREY_2X2), 0));
    assertArrayEquals(new float[] {20, 30}, read(open(Split.TRAIN, crop), 0));
    assertArrayEquals(new float[] {20}, read(open(Split.TRAIN, square), 0));
  }

  @Test
  void shouldReportWrongFolders() throws IOException {
    assertRefused("train: cannot be listed: NoSuchFileException; name the folder with --data DIR");
    Files.createDirectories(root.resolve("train"));
    assertRefused("train: holds 0 folders, expected one for each class, at most 256");
    Files.createDirectories(root.resolve("train/a"));
    assertRefused("train: holds no image, expected files that end in one of .png, .jpg");
    png("train/a/1", grey(2, 2, 1, 2, 3, 4));
    png("test/b/1", grey(2, 2, 1, 2, 3, 4));
    DataException error =
        assertThrows(
            DataException.class, () -> new ImagesProvider().check(config(GREY_2X2), Split.TEST));
    assertTrue(error.getMessage().contains("there is no class 'b' in"), error.getMessage());
    Files.writeString(root.resolve("train/a/2.png"), "no picture");
    assertRefused("2.png: is no image, expected PNG, JPEG, GIF, BMP");
    SettingsException channels =
        assertThrows(SettingsException.class, () -> open(Split.TRAIN, Map.of("channels", 2)));
    assertTrue(channels.getMessage().contains("channels is 2, expected 1"), channels.getMessage());
  }

  @Test
  void shouldRefuseAnImageThatWouldFillTheMemoryBeforeItIsDecoded() throws IOException {
    png("train/a/1", grey(2, 2, 1, 2, 3, 4));
    Path file = root.resolve("train/a/1.png");
    byte[] bytes = Files.readAllBytes(file);
    // Changes width and height in the header, and its checksum.
    ByteBuffer.wrap(bytes).putInt(16, 100_000).putInt(20, 100_000);
    CRC32 sum = new CRC32();
    sum.update(bytes, 12, 17);
    ByteBuffer.wrap(bytes).putInt(29, (int) sum.getValue());
    Files.write(file, bytes);

    assertRefused("has 100000 x 100000 pixels, expected at most 50000000 of them");
  }

  @Test
  @Tag("slow")
  void shouldReadOrRefuseWhenPicturesAreDamaged() throws IOException {
    BufferedImage image = new BufferedImage(20, 20, BufferedImage.TYPE_INT_RGB);
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 400; i++) {
      image.setRGB(i % 20, i / 20, random.nextInt());
    }
    for (String format : List.of("png", "jpg", "gif", "bmp")) {
      Path file = root.resolve("picture." + format);
      assertTrue(ImageIO.write(image, format, file.toFile()), format);
      byte[] whole = Files.readAllBytes(file);
      for (int i = 0; i < 300; i++) {
        byte[] bytes = whole.clone();
        for (int n = 1 + random.nextInt(5); n > 0; n--) {
          bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
        boolean cut = random.nextInt(3) == 0;
        Files.write(file, cut ? Arrays.copyOf(bytes, random.nextInt(bytes.length)) : bytes);
        try {
          ImageFile.read(file, List.of(3, 8, 8), ImageFile.Treatment.ON_BLACK);
        } catch (DataException e) {
          assertTrue(e.getMessage().startsWith(file + ": "), e.getMessage());
        }
      }
    }
  }

  @Test
  void shouldShowTheBackgroundWherePicturesAreTransparent() throws IOException {
    BufferedImage image = new BufferedImage(2, 1, BufferedImage.TYPE_INT_ARGB);
    image.setRGB(0, 0, 0x00000000);
    image.setRGB(1, 0, 0x80000000);
    png("train/a/1", image);

    assertArrayEquals(new float[] {255, 127, 255, 127, 255, 127}, on("white"), 0.5f);
    assertArrayEquals(new float[] {0, 0, 0, 0, 0, 0}, on("black"));
    assertArrayEquals(new float[] {255, 127, 128, 64, 0, 0}, on("#ff8000"), 0.5f);
    SettingsException wrong = assertThrows(SettingsException.class, () -> on("ff8000"));
    assertEquals(
        "data set 'images': background is \"ff8000\", expected white, black or #rrggbb, such as"
            + " #ff0000 for red",
        wrong.getMessage());
  }

  private float[] on(String background) {
    return read(
        open(
            Split.TRAIN,
            Map.of("height", 1, "width", 2, "normalization", "raw", "background", background)),
        0);
  }

  @Test
  void shouldWarnOfClassesWhoseImagesAreConstantOrIdentical() throws IOException {
    for (int i = 0; i < 3; i++) {
      png("train/constant/" + i, grey(2, 2, i, i, i, i));
      png("train/different/" + i, grey(2, 2, 1, 2, 3, i));
    }
    for (int i = 0; i < 18; i++) {
      png("train/identical/" + (char) ('a' + i), grey(2, 2, 1, 2, 3, 4));
    }

    List<String> warnings = new ImagesProvider().warnings(config(GREY_2X2));

    assertEquals(2, warnings.size(), warnings.toString());
    assertTrue(
        warnings
            .get(0)
            .startsWith(
                root.resolve("train/constant")
                    + ": all 3 images of class 'constant' have one colour each once scaled to [1, 2,"
                    + " 2]"),
        warnings.get(0));
    assertTrue(
        warnings.get(1).contains("the first 16 of 18 images of class 'identical' are identical"),
        warnings.get(1));
  }

  @Test
  void shouldTestOnAShareOfEachClassWhereThereIsNoTestFolder() throws IOException {
    for (int i = 0; i < 10; i++) {
      png("train/cat/" + i, grey(2, 2, 1, 2, 3, i));
      png("train/dog/" + i, grey(2, 2, 1, 2, 3, 100 + i));
    }
    Map<String, Object> options = new TreeMap<>(GREY_2X2);
    DataException missing = assertThrows(DataException.class, () -> open(Split.TEST, GREY_2X2));
    options.put("testShare", 0.2);

    Dataset train = open(Split.TRAIN, options);
    Dataset test = open(Split.TEST, options);

    assertTrue(missing.getMessage().contains("set data.testShare"), missing.getMessage());
    assertEquals(List.of("cat", "dog"), train.classNames());
    assertEquals(List.of("cat", "dog"), new ImagesProvider().classNames(config(options)));
    assertEquals(16, train.size());
    assertArrayEquals(new int[] {0, 1, 0, 1}, labels(test));
    List<Float> all = new ArrayList<>();
    for (Dataset split : List.of(train, test)) {
      IntStream.range(0, split.size()).forEach(i -> all.add(read(split, i)[3]));
    }
    assertEquals(20, all.stream().distinct().count(), "every image is in one split");
  }

  @Test
  void shouldRefuseAClassWithoutPicturesAndSkipHiddenFolders() throws IOException {
    png("train/cat/1", grey(2, 2, 1, 2, 3, 4));
    png("train/.ipynb_checkpoints/1", grey(2, 2, 1, 2, 3, 4));
    Files.createDirectories(root.resolve("train/cow"));
    Files.createDirectories(root.resolve("train/dog"));
    Files.writeString(root.resolve("train/dog/a.webp"), "a picture");

    assertRefused(
        root.resolve("train/cow")
            + ": holds no picture, as 1 more folders; every folder of train/");

    png("train/cow/1", grey(2, 2, 1, 2, 3, 4));
    assertRefused(root.resolve("train/dog") + ": holds no picture; every folder of train/ is a");

    png("train/dog/1", grey(2, 2, 1, 2, 3, 4));
    assertEquals(List.of("cat", "cow", "dog"), open(Split.TRAIN, GREY_2X2).classNames());
  }

  @Test
  void shouldWarnOfClassesThatAreNotTestedAndOfFilesThatAreNotRead() throws IOException {
    for (String name : List.of("train/cat/1", "train/cow/1", "train/dog/1", "test/cow/1")) {
      png(name, grey(2, 2, 1, 2, 3, 4));
    }
    Files.createDirectories(root.resolve("test/cat"));
    for (String name : List.of("train/cat/Thumbs.db", "train/cat/.DS_Store", "test/list.txt")) {
      Files.writeString(root.resolve(name), "no picture");
    }
    Files.createDirectories(root.resolve("train/cow/more"));
    Files.writeString(root.resolve("train/dog/2.webp"), "a picture");

    List<String> warnings = new ImagesProvider().warnings(config(GREY_2X2));

    assertEquals(
        List.of(
            root
                + ": the test set has no picture of 2 of the 3 classes, such as 'cat', so tests say"
                + " nothing about them",
            root.resolve("train")
                + ": 2 files or folders are not read, such as cow/more; pictures lie in the folder"
                + " of their class, in files that end in one of .png, .jpg, .jpeg, .gif, .bmp",
            root.resolve("test")
                + ": 1 file or folder is not read, such as list.txt; pictures lie in the folder"
                + " of their class, in files that end in one of .png, .jpg, .jpeg, .gif, .bmp"),
        warnings);
  }

  private void assertRefused(String message) {
    DataException error = assertThrows(DataException.class, () -> open(Split.TRAIN, GREY_2X2));
    assertTrue(error.getMessage().contains(message), error.getMessage());
  }

  private Dataset open(Split split, Map<String, Object> options) {
    return new ImagesProvider().open(config(options), split);
  }

  private DataConfig config(Map<String, Object> options) {
    return SampleFiles.in("images", root, options);
  }

  private static float[] read(Dataset data, int index) {
    float[] values = new float[data.shape().stream().reduce(1, Math::multiplyExact)];
    data.read(index, values, 0);
    return values;
  }

  private static int[] labels(Dataset data) {
    return IntStream.range(0, data.size()).map(data::label).toArray();
  }

  private void png(String name, BufferedImage image) throws IOException {
    Path file = root.resolve(name + ".png");
    Files.createDirectories(file.getParent());
    ImageIO.write(image, "png", file.toFile());
  }

  private static BufferedImage grey(int height, int width, int... values) {
    BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_BYTE_GRAY);
    for (int i = 0; i < values.length; i++) {
      image.getRaster().setSample(i % width, i / width, 0, values[i]);
    }
    return image;
  }
}
