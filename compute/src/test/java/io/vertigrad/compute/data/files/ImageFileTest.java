package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Reads small pictures of every format and colour model. */
class ImageFileTest {

  /**
   * A picture and its pixels.
   *
   * @param rgb red, green and blue of each pixel, row after row: what Pillow 9.4 reads, on white
   *     where the picture is transparent. Where Pillow clips (grey of 16 bits) or compares the
   *     transparent colour with scaled values, the numbers follow the PNG specification and
   *     Pillow's rule for 16 bits in colour, which takes the upper 8.
   */
  record Sample(String name, int width, int height, byte[] rgb, byte[] content) {

    int value(int channel, int pixel) {
      return rgb[3 * pixel + channel] & 0xFF;
    }

    /** Pillow rounds where it mixes a pixel with the background, this program afterwards. */
    int tolerance() {
      return name.matches("(grey-alpha|rgba|palette).*") ? 1 : 0;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Sample> samples() throws IOException {
    try (InputStream in = ImageFileTest.class.getResourceAsStream("pictures.txt")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .map(line -> line.split(" "))
          .map(
              words ->
                  new Sample(
                      words[0],
                      Integer.parseInt(words[1]),
                      Integer.parseInt(words[2]),
                      HexFormat.of().parseHex(words[3]),
                      Base64.getDecoder().decode(words[4])));
    }
  }

  @ParameterizedTest
  @MethodSource("samples")
  void shouldReadTheStoredValuesOfEveryColourModel(Sample sample) {
    List<Integer> shape = List.of(3, sample.height(), sample.width());

    byte[] found = ImageFile.read(sample.name(), sample.content(), shape, Treatment.ON_WHITE);

    int pixels = sample.height() * sample.width();
    assertEquals(3 * pixels, found.length);
    for (int channel = 0; channel < 3; channel++) {
      for (int i = 0; i < pixels; i++) {
        assertEquals(
            sample.value(channel, i),
            found[channel * pixels + i] & 0xFF,
            sample.tolerance(),
            "channel %d of pixel %d".formatted(channel, i));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("samples")
  void shouldConvertEveryColourModelToGreyByTheSameWeights(Sample sample) {
    List<Integer> shape = List.of(1, sample.height(), sample.width());

    byte[] found = ImageFile.read(sample.name(), sample.content(), shape, Treatment.ON_WHITE);

    for (int i = 0; i < found.length; i++) {
      int red = sample.value(0, i);
      int green = sample.value(1, i);
      int blue = sample.value(2, i);
      int grey = red * 19595 + green * 38470 + blue * 7471 + 0x8000 >> 16;
      assertEquals(grey, found[i] & 0xFF, sample.tolerance(), "pixel " + i);
    }
    assertTrue(found.length > 0);
  }

  /** Rows of a picture that stores 1, 2, 3 above 4, 5, 6: what Pillow's exif_transpose returns. */
  @ParameterizedTest
  @CsvSource({
    "1, 123/456",
    "2, 321/654",
    "3, 654/321",
    "4, 456/123",
    "5, 14/25/36",
    "6, 41/52/63",
    "7, 63/52/41",
    "8, 36/25/14",
  })
  void shouldTurnAPictureUprightByItsExifOrientation(int orientation, String rows)
      throws IOException {
    for (ByteOrder order : List.of(ByteOrder.BIG_ENDIAN, ByteOrder.LITTLE_ENDIAN)) {
      byte[] exif = exif(order, 3, orientation);

      assertEquals(rows, read(pngWith(exif), rows), "PNG, " + order);
      assertEquals(rows, read(jpegWith(exif), rows), "JPEG, " + order);
    }
  }

  @Test
  void shouldCropTheMiddleOfTheUprightPicture() throws IOException {
    byte[] png = pngWith(exif(ByteOrder.BIG_ENDIAN, 3, 6));
    Treatment crop = new Treatment(ImageFile.Fit.CROP, 0);

    assertArrayEquals(new byte[] {50, 20}, ImageFile.read("x", png, List.of(1, 1, 2), crop));
  }

  @Test
  void shouldReadThePictureWhenExifIsUnreadable() throws IOException {
    byte[] whole = exif(ByteOrder.LITTLE_ENDIAN, 3, 6);
    List<byte[]> unreadable = new ArrayList<>();
    for (int length = 0; length < 20; length++) {
      unreadable.add(Arrays.copyOf(whole, length));
    }
    for (int i = 0; i < 8; i++) {
      byte[] changed = whole.clone();
      changed[i] = -1;
      unreadable.add(changed);
    }
    unreadable.add(exif(ByteOrder.BIG_ENDIAN, 3, 0));
    unreadable.add(exif(ByteOrder.BIG_ENDIAN, 3, 9));
    unreadable.add(exif(ByteOrder.BIG_ENDIAN, 2, 6));
    for (byte[] exif : unreadable) {
      assertEquals("123/456", read(jpegWith(exif), "123/456"), Arrays.toString(exif));
      assertEquals("123/456", read(pngWith(exif), "123/456"), Arrays.toString(exif));
    }
  }

  private static String read(byte[] content, String rows) {
    int height = rows.split("/").length;
    int width = rows.indexOf('/');
    List<Integer> shape = List.of(1, height, width);
    byte[] found = ImageFile.read("x", content, shape, Treatment.ON_WHITE);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < found.length; i++) {
      text.append(i > 0 && i % width == 0 ? "/" : "").append(Math.round(found[i] / 10f));
    }
    return text.toString();
  }

  /**
   * Returns EXIF data with a resolution and an orientation, of TIFF's data type 3 (SHORT) or
   * another.
   */
  private static byte[] exif(ByteOrder order, int type, int orientation) {
    ByteBuffer exif = ByteBuffer.allocate(38).order(order);
    exif.putShort((short) (order == ByteOrder.BIG_ENDIAN ? 0x4D4D : 0x4949)).putShort((short) 42);
    exif.putInt(8).putShort((short) 2);
    exif.putShort((short) 0x0100).putShort((short) 4).putInt(1).putInt(3);
    exif.putShort((short) 0x0112).putShort((short) type).putInt(1).putShort((short) orientation);
    return exif.array();
  }

  private static byte[] pngWith(byte[] exif) throws IOException {
    byte[] png = written("png", 1);
    byte[] chunk = new byte[exif.length + 12];
    ByteBuffer out = ByteBuffer.wrap(chunk).putInt(exif.length).put("eXIf".getBytes()).put(exif);
    CRC32 sum = new CRC32();
    sum.update(chunk, 4, exif.length + 4);
    out.putInt((int) sum.getValue());
    return inserted(png, 33, chunk);
  }

  private static byte[] jpegWith(byte[] exif) throws IOException {
    byte[] jpeg = written("jpg", 8);
    byte[] segment = new byte[exif.length + 10];
    ByteBuffer.wrap(segment)
        .putShort((short) 0xFFE1)
        .putShort((short) (exif.length + 8))
        .put("Exif\0\0".getBytes())
        .put(exif);
    return inserted(jpeg, 2, segment);
  }

  private static byte[] inserted(byte[] bytes, int at, byte[] more) {
    byte[] all = Arrays.copyOf(bytes, bytes.length + more.length);
    System.arraycopy(more, 0, all, at, more.length);
    System.arraycopy(bytes, at, all, at + more.length, bytes.length - at);
    return all;
  }

  /** Returns a picture of 10, 20, 30 above 40, 50, 60, each a square of pixels. */
  private static byte[] written(String format, int side) throws IOException {
    BufferedImage image = new BufferedImage(3 * side, 2 * side, BufferedImage.TYPE_BYTE_GRAY);
    for (int i = 0; i < 6 * side * side; i++) {
      int x = i % (3 * side);
      int y = i / (3 * side);
      image.getRaster().setSample(x, y, 0, 10 + 10 * (x / side) + 30 * (y / side));
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    assertTrue(ImageIO.write(image, format, out));
    return out.toByteArray();
  }

  @ParameterizedTest
  @MethodSource("samples")
  void shouldRefuseAFileThatEndsTooEarlyAndReadOneWithMoreBehindIt(Sample sample) {
    List<Integer> shape = List.of(3, 4, 4);
    byte[] whole = sample.content();
    byte[] pixels = ImageFile.read("x", whole, shape, Treatment.ON_WHITE);
    byte[] longer = Arrays.copyOf(whole, whole.length + 100);

    assertArrayEquals(pixels, ImageFile.read("x", longer, shape, Treatment.ON_WHITE));
    for (int length = 0; length < whole.length; length++) {
      byte[] cut = Arrays.copyOf(whole, length);
      try {
        // What fills up the last row of a BMP is no pixel.
        assertArrayEquals(pixels, ImageFile.read("x", cut, shape, Treatment.ON_WHITE));
        assertTrue(sample.name().endsWith(".bmp") && length > whole.length - 4, "cut to " + length);
      } catch (DataException e) {
        assertTrue(e.getMessage().startsWith("x: "), e.getMessage());
      }
    }
  }

  @Test
  void shouldRefusePicturesThatTheDecoderWarnsAbout() throws IOException {
    byte[] jpeg = sample("ycbcr-420.jpg");
    byte[] changed = jpeg.clone();
    // Restarts that are not announced end the data early.
    changed[jpeg.length - 40] = (byte) 0xFF;
    changed[jpeg.length - 39] = (byte) 0xD3;
    assertRefused(changed, "x: a damaged image: Corrupt JPEG data: ");

    byte[] png = sample("rgb8.png");
    changed = png.clone();
    changed[29]++;
    assertRefused(
        changed, "x: a damaged image: the check sum of its chunk IHDR at byte 8 is wrong");
    changed = png.clone();
    changed[png.length - 20]++;
    assertRefused(
        changed, "x: a damaged image: the check sum of its chunk IDAT at byte 33 is wrong");
  }

  /** Pictures of 4 x 4 and 5 x 4 pixels whose blocks are complete and hold fewer. */
  @Test
  void shouldRefusePixelsThatAreMissingThoughTheFileIsWhole() throws IOException {
    Base64.Decoder base64 = Base64.getDecoder();
    byte[] one = base64.decode("R0lGODlhBAAEAJEAAAoKCsgAAADIAAAAyCwAAAAABAAEAAACAkwBADs=");
    byte[] two = base64.decode("R0lGODlhBAAEAJEAAAoKCsgAAADIAAAAyCwAAAAABAAEAAACAkwAADs=");
    byte[] bmp = sample("rle8.bmp");
    ByteBuffer.wrap(bmp).putShort(54 + 4 * 256, (short) 1);
    byte[] whole = sample("palette4.bmp");
    byte[] colours = Arrays.copyOf(whole, whole.length - 56);
    System.arraycopy(whole, 118, colours, 62, whole.length - 118);
    colours[10] = 62;
    colours[46] = 2;

    assertRefused(one, "x: a damaged image: it has 0 of 4 rows; remove it, or save it again");
    assertRefused(two, "x: a damaged image: it has 2 of 4 rows; ");
    assertRefused(bmp, "x: a damaged image: it has 0 of 4 rows; ");
    assertRefused(colours, "x: a damaged image: a pixel has colour ");
  }

  @Test
  void shouldReportTheKindOfAFileThatIsNotRead() {
    assertRefused(new byte[0], "x: is empty, expected PNG, JPEG, GIF, BMP, or IDX");
    assertRefused("BM".getBytes(), "x: is no image, expected PNG");
    assertRefused("hello".getBytes(), "x: is no image, expected PNG");
    assertRefused("RIFF0000WEBPVP8 ".getBytes(), "x: is a WebP image, expected PNG");
    assertRefused("II*\0\10\0\0\0".getBytes(), "x: is a TIFF image, expected PNG");
    assertRefused("\0\0\0\30ftypheic".getBytes(), "x: is a HEIC or AVIF image or a film, expected");
  }

  @Test
  void shouldRefuseMorePixelsThanTheCallerAllowsBeforeDecoding() throws IOException {
    byte[] png = written("png", 10);
    List<Integer> shape = List.of(1, 2, 3);

    assertEquals(6, ImageFile.read("x", png, shape, Treatment.ON_WHITE, 600).length);
    DataException error =
        assertThrows(
            DataException.class, () -> ImageFile.read("x", png, shape, Treatment.ON_WHITE, 599));
    assertEquals("x: has 30 x 20 pixels, expected at most 599 of them", error.getMessage());
  }

  @Test
  void shouldComputeTheMemoryForDecodingFromTheHeader() {
    byte[] content = jpeg(1, 60_000, 40_000);

    long bytes = ImageFile.decodingBytes("photo.jpg", content);

    assertEquals(12 * 60_000L * 40_000L + content.length, bytes);
  }

  @Test
  void shouldRefuseAJpegThatCostsMoreThanItsHeaderSays() {
    byte[] one = jpeg(1, 60_000, 40_000);
    byte[] two = inserted(jpeg(1, 2, 2), 2, Arrays.copyOfRange(one, 2, 15));

    assertRefused(two, "x: a damaged image: it has a second frame, at byte 15");
    assertRefused(jpeg(101, 2, 2), "x: a damaged image: it has more than 100 scans");
  }

  /** Returns a grey JPEG without tables, of empty scans. */
  private static byte[] jpeg(int scans, int width, int height) {
    String frame = "ffc0000b08%04x%04x01011100".formatted(height, width);
    String scan = "ffda0008010100003f00";
    return HexFormat.of().parseHex("ffd8" + frame + scan.repeat(scans) + "ffd9");
  }

  private static byte[] sample(String name) throws IOException {
    return samples()
        .filter(sample -> sample.name().equals(name))
        .findFirst()
        .orElseThrow()
        .content();
  }

  private static void assertRefused(byte[] content, String message) {
    DataException error =
        assertThrows(
            DataException.class,
            () -> ImageFile.read("x", content, List.of(3, 4, 4), Treatment.ON_WHITE));
    assertTrue(error.getMessage().startsWith(message), error.getMessage());
  }
}
