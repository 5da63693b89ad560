package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.Json;
import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.stream.ImageInputStream;

/**
 * Reads single images that belong to no data set, PNG, JPEG, GIF, BMP or IDX, in the size and with
 * the channels of a model's input.
 *
 * <p>An image of another size is scaled to the model's input, and each new pixel is the mean of the
 * area it covers; an image of the same size keeps its bytes. Colours become grey by the weights of
 * ITU-R BT.601, grey becomes three equal channels, and transparent pixels show a background.
 */
public final class ImageFile {

  /** Most pixels of one image; a larger one is a mistake, or an attempt to fill the memory. */
  private static final long MOST_PIXELS = 50_000_000;

  private static final int IDX_BYTE_TYPE = 0x08;
  private static final int GREY = 1;
  private static final int COLOURS = 3;

  /** Pixels channel after channel, row after row, from 0 to 255. */
  private record Pixels(int channels, int height, int width, float[] values) {}

  /** The treatment of an image whose proportions differ from the model's input. */
  enum Fit {
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
        float[] values = new float[size];
        for (int k = 0; k < size; k++) {
          values[k] = found.pixels()[i * size + k] & 0xFF;
        }
        images.add(
            fitted(
                new Pixels(GREY, found.rows(), found.columns(), values), shape, treatment.fit()));
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
   * @return the image's bytes, channel after channel, row after row
   * @throws DataException when the bytes are no image, or when the model's input is not an image
   */
  public static byte[] read(String name, byte[] bytes, List<Integer> shape, Treatment treatment) {
    requireImage(name, shape);
    return fitted(
        picture(name, new ByteArrayInputStream(bytes), treatment.background()),
        shape,
        treatment.fit());
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
    return fitted(
        picture(file.toString(), file.toFile(), treatment.background()), shape, treatment.fit());
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

  /** Reads an image from a {@code File} or an {@code InputStream}. */
  private static Pixels picture(String file, Object source, int background) {
    try (ImageInputStream in = ImageIO.createImageInputStream(source)) {
      Iterator<ImageReader> readers = ImageIO.getImageReaders(in);
      if (!readers.hasNext()) {
        throw new DataException(
            file + ": is no image, expected PNG, JPEG, GIF, BMP, or IDX (raw or .gz)");
      }
      ImageReader reader = readers.next();
      try {
        reader.setInput(in, true, true);
        long size = (long) reader.getWidth(0) * reader.getHeight(0);
        if (size > MOST_PIXELS) {
          throw new DataException(
              "%s: has %d x %d pixels, expected at most %d of them"
                  .formatted(file, reader.getWidth(0), reader.getHeight(0), MOST_PIXELS));
        }
        return pixels(reader.read(0), background);
      } finally {
        reader.dispose();
      }
    } catch (DataException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      // Java's image readers throw many kinds of exceptions on invalid bytes.
      throw new DataException(
          "%s: a damaged image: %s; expected PNG, JPEG, GIF, BMP, or IDX (raw or .gz)"
              .formatted(
                  file, e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage()),
          e);
    }
  }

  private static Pixels pixels(BufferedImage image, int background) {
    int height = image.getHeight();
    int width = image.getWidth();
    Raster raster = image.getRaster();
    if (raster.getNumBands() == 1 && !(image.getColorModel() instanceof IndexColorModel)) {
      // Uses the stored values: getRGB would convert grey from Java's linear scale.
      float scale = 255f / ((1 << raster.getSampleModel().getSampleSize(0)) - 1);
      float[] values = raster.getSamples(0, 0, width, height, 0, (float[]) null);
      for (int i = 0; i < values.length; i++) {
        values[i] *= scale;
      }
      return new Pixels(GREY, height, width, values);
    }
    int plane = height * width;
    int[] colours = image.getRGB(0, 0, width, height, null, 0, width);
    float[] values = new float[COLOURS * plane];
    for (int i = 0; i < plane; i++) {
      float opaque = (colours[i] >>> 24) / 255f;
      for (int channel = 0; channel < COLOURS; channel++) {
        int shift = 16 - 8 * channel;
        values[channel * plane + i] =
            opaque * (colours[i] >> shift & 0xFF) + (1 - opaque) * (background >> shift & 0xFF);
      }
    }
    return new Pixels(COLOURS, height, width, values);
  }

  private static byte[] fitted(Pixels whole, List<Integer> shape, Fit fit) {
    Pixels from = fit == Fit.CROP ? middle(whole, shape.get(1), shape.get(2)) : whole;
    int plane = from.height() * from.width();
    Pixels channels = from;
    if (shape.get(0) == GREY && from.channels() == COLOURS) {
      float[] grey = new float[plane];
      for (int i = 0; i < plane; i++) {
        grey[i] =
            0.299f * from.values()[i]
                + 0.587f * from.values()[plane + i]
                + 0.114f * from.values()[2 * plane + i];
      }
      channels = new Pixels(GREY, from.height(), from.width(), grey);
    }
    int height = shape.get(1);
    int width = shape.get(2);
    byte[] bytes = new byte[shape.get(0) * height * width];
    for (int channel = 0; channel < shape.get(0); channel++) {
      int source = channels.channels() == GREY ? 0 : channel * plane;
      float[] scaled = scaled(channels, source, height, width);
      for (int i = 0; i < scaled.length; i++) {
        bytes[channel * height * width + i] = (byte) Math.round(Math.min(255, scaled[i]));
      }
    }
    return bytes;
  }

  /**
   * Returns the largest middle part of an image with these proportions, rounded to whole pixels.
   */
  private static Pixels middle(Pixels from, int height, int width) {
    int rows = (int) Math.min(from.height(), Math.round((double) from.width() * height / width));
    int columns = (int) Math.min(from.width(), Math.round((double) from.height() * width / height));
    rows = Math.max(1, rows);
    columns = Math.max(1, columns);
    int top = (from.height() - rows) / 2;
    int left = (from.width() - columns) / 2;
    float[] values = new float[from.channels() * rows * columns];
    for (int line = 0; line < from.channels() * rows; line++) {
      int row = line / rows * from.height() + top + line % rows;
      System.arraycopy(from.values(), row * from.width() + left, values, line * columns, columns);
    }
    return new Pixels(from.channels(), rows, columns, values);
  }

  /**
   * Scales columns first, then rows: each new pixel is the mean of the old pixels that it covers.
   */
  private static float[] scaled(Pixels from, int offset, int height, int width) {
    float[] narrow = new float[from.height() * width];
    for (int row = 0; row < from.height(); row++) {
      int at = offset + row * from.width();
      for (int x = 0; x < width; x++) {
        narrow[row * width + x] = mean(from.values(), at, 1, from.width(), x, width);
      }
    }
    float[] scaled = new float[height * width];
    for (int x = 0; x < width; x++) {
      for (int y = 0; y < height; y++) {
        scaled[y * width + x] = mean(narrow, x, width, from.height(), y, height);
      }
    }
    return scaled;
  }

  /**
   * Returns the mean of a line of {@code count} values over part {@code index} of {@code parts}.
   */
  private static float mean(
      float[] values, int offset, int stride, int count, int index, int parts) {
    double begin = (double) index * count / parts;
    double end = (double) (index + 1) * count / parts;
    double sum = 0;
    for (int i = (int) begin; i < Math.min(count, Math.ceil(end)); i++) {
      double covered = Math.min(end, i + 1) - Math.max(begin, i);
      sum += covered * values[offset + i * stride];
    }
    return (float) (sum / (end - begin));
  }
}
