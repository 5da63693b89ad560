package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.regex.Pattern;

/**
 * Reads single images that belong to no data set, PNG, JPEG, GIF, BMP or IDX, in the size and with
 * the channels of a model's input.
 *
 * <p>An image of another size is scaled to the model's input, and each new pixel is the mean of the
 * area it covers; an image of the same size keeps its bytes. Colours become grey by the weights of
 * ITU-R BT.601, grey becomes three equal channels, and transparent pixels show a background. The
 * EXIF orientation is applied, colour profiles are not. A damaged image is refused, even where a
 * decoder would only warn.
 */
public final class ImageFile {

  /** Most pixels of one image; a larger one is a mistake, or an attempt to fill the memory. */
  private static final long MOST_PIXELS = 50_000_000;

  /** Most rows and columns, those of the other formats for PNG and BMP, too. */
  private static final int MOST_PIXELS_A_SIDE = 65_535;

  /** Most memory that decoding takes for each pixel: four channels, and three times as JPEG. */
  private static final int BYTES_PER_PIXEL = 12;

  private static final int MEGABYTE = 1_000_000;

  /** Megabytes that decoding may take in all threads together: half of the heap. */
  private static final int MOST_MEGABYTES =
      (int) Math.min(Integer.MAX_VALUE, Runtime.getRuntime().maxMemory() / 2 / MEGABYTE);

  private static final Semaphore MEGABYTES = new Semaphore(MOST_MEGABYTES, true);

  private static final int MOST_FILE_BYTES = 1 << 29;

  private static final int IDX_BYTE_TYPE = 0x08;
  private static final int GREY = 1;
  private static final int COLOURS = 3;

  /** An image whose rows are read one at a time, grey or red, green and blue. */
  interface Rows {

    /** Returns 1 for grey, or 3. */
    int channels();

    /** Returns the number of rows. */
    int height();

    /** Returns the number of pixels of a row. */
    int width();

    /** Writes row {@code y}, from 0, channel after channel, each value from 0 to 255. */
    void row(int y, float[] values);
  }

  /** A part of an image. */
  private record Area(int top, int left, int rows, int columns) {}

  /** A grey image of one byte a pixel among others. */
  private record GreyRows(byte[] pixels, int offset, int height, int width) implements Rows {

    @Override
    public int channels() {
      return GREY;
    }

    @Override
    public void row(int y, float[] values) {
      for (int x = 0; x < width; x++) {
        values[x] = pixels[offset + y * width + x] & 0xFF;
      }
    }
  }

  /** The treatment of an image whose proportions differ from the model's input. */
  public enum Fit {
    /** Keeps the whole image and changes its proportions. */
    STRETCH,
    /** Keeps the middle of the image, cut to the model's proportions. */
    CROP
  }

  /**
   * The treatment of pictures before their bytes become inputs.
   *
   * @param fit treatment of pictures whose proportions differ from the model's input
   * @param background colour behind transparent pixels, {@code 0xRRGGBB}
   */
  public record Treatment(Fit fit, int background) {

    private static final Pattern COLOUR = Pattern.compile("#[0-9a-fA-F]{6}");
    private static final int WHITE = 0xFFFFFF;

    /** Stretches pictures, and shows black behind transparent pixels. */
    public static final Treatment ON_BLACK = new Treatment(Fit.STRETCH, 0);

    /** Stretches pictures, and shows white behind transparent pixels. */
    public static final Treatment ON_WHITE = new Treatment(Fit.STRETCH, WHITE);

    /**
     * Reads the options {@code fit}, which is {@code stretch} (default) or {@code crop}, and {@code
     * background}, which is {@code white} (default), {@code black} or {@code #rrggbb}.
     *
     * @param options options of a data set
     * @return the treatment
     * @throws io.vertigrad.compute.settings.SettingsException when one of them has another value
     */
    public static Treatment of(Settings options) {
      String fit = options.choice("fit", "stretch", "stretch", "crop");
      String colour = options.string("background", "white");
      if (!List.of("white", "black").contains(colour) && !COLOUR.matcher(colour).matches()) {
        throw options.refuse(
            "background",
            "is %s, expected white, black or #rrggbb, such as #ff0000 for red"
                .formatted(Json.encode(colour)));
      }
      int background =
          switch (colour) {
            case "white" -> WHITE;
            case "black" -> 0;
            default -> Integer.parseInt(colour.substring(1), 16);
          };
      return new Treatment(Fit.valueOf(fit.toUpperCase(Locale.ROOT)), background);
    }
  }

  private ImageFile() {}

  /**
   * Reads all images of a file: one from PNG, JPEG, GIF and BMP, all from IDX, raw or {@code .gz}.
   *
   * @param file file of images
   * @param shape shape of the model's input, {@code [channels, height, width]} with 1 or 3 channels
   * @param treatment treatment of other proportions and transparent pixels
   * @return each image's bytes, channel after channel, row after row
   * @throws DataException when the file cannot be read or holds no image, or when the model's input
   *     is not an image
   */
  public static List<byte[]> read(Path file, List<Integer> shape, Treatment treatment) {
    requireImage(file.toString(), shape);
    List<byte[]> images = new ArrayList<>();
    if (isIdx(file)) {
      IdxReader.Images found = IdxReader.images(file);
      int size = found.rows() * found.columns();
      for (int i = 0; i < found.count(); i++) {
        Rows image = new GreyRows(found.pixels(), i * size, found.rows(), found.columns());
        images.add(fitted(image, shape, treatment.fit()));
      }
    } else {
      images.add(picture(file, shape, treatment));
    }
    return images;
  }

  /**
   * Reads one image, PNG, JPEG, GIF or BMP, from its bytes.
   *
   * @param name name of the image in messages
   * @param bytes content of the file
   * @param shape shape of the model's input, {@code [channels, height, width]} with 1 or 3 channels
   * @param treatment treatment of other proportions and transparent pixels
   * @param mostPixels most pixels that the image may have, checked before any is decoded; decoding
   *     takes up to 8 bytes for each
   * @return the image's bytes, channel after channel, row after row
   * @throws DataException when the bytes are no image or one with more pixels, or when the model's
   *     input is not an image
   */
  public static byte[] read(
      String name, byte[] bytes, List<Integer> shape, Treatment treatment, long mostPixels) {
    requireImage(name, shape);
    ImageHeader header = header(name, bytes, Math.min(MOST_PIXELS, mostPixels));
    int megabytes = (int) (decodingBytes(header) / MEGABYTE) + 1;
    if (megabytes > MOST_MEGABYTES) {
      throw new DataException(
          "%s: has %s x %s pixels, which take %s MB to decode, expected at most %s MB: half of the heap (-Xmx)"
              .formatted(name, header.width(), header.height(), megabytes, MOST_MEGABYTES));
    }
    MEGABYTES.acquireUninterruptibly(megabytes);
    try {
      return fitted(picture(name, header, treatment.background()), shape, treatment.fit());
    } finally {
      MEGABYTES.release(megabytes);
    }
  }

  /** Reads one image of at most 50 million pixels from its bytes. */
  public static byte[] read(String name, byte[] bytes, List<Integer> shape, Treatment treatment) {
    return read(name, bytes, shape, treatment, MOST_PIXELS);
  }

  /**
   * Returns the memory that decoding an image takes, from its header alone.
   *
   * @param name name of the image in messages
   * @param bytes content of the file
   * @return the most bytes that {@link #read(String, byte[], List, Treatment)} takes beside the
   *     content
   * @throws DataException when the bytes are no image
   */
  public static long decodingBytes(String name, byte[] bytes) {
    return decodingBytes(header(name, bytes, Long.MAX_VALUE));
  }

  private static long decodingBytes(ImageHeader header) {
    return (long) header.width() * header.height() * BYTES_PER_PIXEL + header.content().length;
  }

  private static void requireImage(String name, List<Integer> shape) {
    if (shape.size() != 3 || shape.get(0) != GREY && shape.get(0) != COLOURS) {
      throw new DataException(
          "%s: the model takes samples of shape %s, expected [1 or 3, height, width] for an image"
              .formatted(name, shape));
    }
  }

  /** Reads one image that is not an IDX file. */
  static byte[] picture(Path file, List<Integer> shape, Treatment treatment) {
    try (DataFile in = DataFile.open(file)) {
      return read(file.toString(), in.readAll(MOST_FILE_BYTES), shape, treatment);
    }
  }

  private static boolean isIdx(Path file) {
    if (file.toString().endsWith(".gz")) {
      return true;
    }
    try (InputStream in = Files.newInputStream(file)) {
      byte[] begin = in.readNBytes(3);
      return begin.length == 3 && begin[0] == 0 && begin[1] == 0 && begin[2] == IDX_BYTE_TYPE;
    } catch (IOException e) {
      throw DataFile.failure(file, e);
    }
  }

  /** Checks a picture's container and its size. */
  private static ImageHeader header(String file, byte[] bytes, long mostPixels) {
    try {
      ImageHeader header = ImageHeader.of(bytes);
      int width = header.width();
      int height = header.height();
      if ((long) width * height > mostPixels) {
        throw new DataException(
            "%s: has %s x %s pixels, expected at most %s of them"
                .formatted(file, width, height, mostPixels));
      }
      if (Math.max(width, height) > MOST_PIXELS_A_SIDE) {
        throw new DataException(
            "%s: has %s x %s pixels, expected at most %s on each side"
                .formatted(file, width, height, MOST_PIXELS_A_SIDE));
      }
      return header;
    } catch (ImageHeader.OtherFormatException e) {
      throw new DataException(
          "%s: %s, expected PNG, JPEG, GIF, BMP, or IDX (raw or .gz)"
              .formatted(file, e.getMessage()),
          e);
    } catch (IOException e) {
      throw damaged(file, e);
    }
  }

  private static Rows picture(String file, ImageHeader header, int background) {
    try {
      return DecodedImage.of(header, background);
    } catch (IOException | RuntimeException e) {
      // Java's image readers throw many kinds of exceptions on invalid bytes.
      throw damaged(file, e);
    }
  }

  private static DataException damaged(String file, Exception why) {
    return new DataException(
        "%s: a damaged image: %s; remove it, or save it again with an image editor"
            .formatted(
                file, why.getMessage() == null ? why.getClass().getSimpleName() : why.getMessage()),
        why);
  }

  /** Scales an image: columns of each row first, then rows. */
  private static byte[] fitted(Rows image, List<Integer> shape, Fit fit) {
    int channels = shape.get(0);
    int height = shape.get(1);
    int width = shape.get(2);
    Area area = fit == Fit.CROP ? middle(image, height, width) : whole(image);
    int planes = Math.min(image.channels(), channels);
    float[] row = new float[image.channels() * image.width()];
    float[] line = new float[planes * width];
    double[] sums = new double[planes * height * width];
    int first = 0;
    for (int i = 0; i < area.rows(); i++) {
      image.row(area.top() + i, row);
      if (planes < image.channels()) {
        makeGrey(row, image.width());
      }
      while (Math.ceil(edge(area.rows(), first + 1, height)) <= i) {
        first++;
      }
      for (int k = 0; k < line.length; k++) {
        int from = k / width * image.width() + area.left();
        line[k] = mean(row, from, area.columns(), k % width, width);
      }
      for (int y = first; y < height && (int) edge(area.rows(), y, height) <= i; y++) {
        double begin = edge(area.rows(), y, height);
        double end = edge(area.rows(), y + 1, height);
        double covered = covered(i, begin, end);
        for (int k = 0; k < line.length; k++) {
          sums[(k / width * height + y) * width + k % width] += covered * line[k];
        }
      }
    }
    byte[] bytes = new byte[channels * height * width];
    for (int i = 0; i < bytes.length; i++) {
      int y = i / width % height;
      double rows = edge(area.rows(), y + 1, height) - edge(area.rows(), y, height);
      float value = (float) (sums[i % sums.length] / rows);
      bytes[i] = (byte) Math.round(Math.min(255, value));
    }
    return bytes;
  }

  private static void makeGrey(float[] row, int width) {
    for (int x = 0; x < width; x++) {
      row[x] = 0.299f * row[x] + 0.587f * row[width + x] + 0.114f * row[2 * width + x];
    }
  }

  private static Area whole(Rows image) {
    return new Area(0, 0, image.height(), image.width());
  }

  /**
   * Returns the largest middle part of an image with these proportions, rounded to whole pixels.
   */
  private static Area middle(Rows from, int height, int width) {
    int rows = (int) Math.min(from.height(), Math.round((double) from.width() * height / width));
    int columns = (int) Math.min(from.width(), Math.round((double) from.height() * width / height));
    rows = Math.max(1, rows);
    columns = Math.max(1, columns);
    return new Area((from.height() - rows) / 2, (from.width() - columns) / 2, rows, columns);
  }

  /**
   * Returns the mean of a line of {@code count} values over part {@code index} of {@code parts}.
   */
  private static float mean(float[] values, int offset, int count, int index, int parts) {
    double begin = edge(count, index, parts);
    double end = edge(count, index + 1, parts);
    double sum = 0;
    for (int i = (int) begin; i < Math.min(count, Math.ceil(end)); i++) {
      sum += covered(i, begin, end) * values[offset + i];
    }
    return (float) (sum / (end - begin));
  }

  /** Returns where part {@code index} begins when {@code count} values are cut into parts. */
  private static double edge(int count, int index, int parts) {
    return (double) index * count / parts;
  }

  /** Returns how much of value {@code i} lies between two edges, from 0 to 1. */
  private static double covered(int i, double begin, double end) {
    return Math.min(end, i + 1) - Math.max(begin, i);
  }
}
