package io.vertigrad.compute.data.files;

import java.awt.image.BufferedImage;
import java.awt.image.ColorModel;
import java.awt.image.IndexColorModel;
import java.awt.image.Raster;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import javax.imageio.event.IIOReadUpdateListener;
import javax.imageio.stream.ImageInputStream;
import javax.imageio.stream.MemoryCacheImageInputStream;

/**
 * A decoded picture, turned upright. Its rows are converted one at a time to values from 0 to 255.
 *
 * <p>Java only decodes: the values are those that the file stores, and no colour space, profile or
 * gamma of Java or of the file changes them. Values of 16 bits become their upper 8 bits, palettes
 * become their colours, YCbCr, CMYK and YCCK become RGB by the formulas of libjpeg and Pillow.
 * Where pixels are transparent, the background shows. Not thread-safe.
 */
final class DecodedImage implements ImageFile.Rows {

  private static final int GREY = 1;
  private static final int COLOURS = 3;
  private static final int OPAQUE = 255;
  private static final int TRANSPARENT = 0;

  /** Kinds of samples, in the order of the raster's bands. */
  private enum Model {
    PALETTE,
    GREY,
    GREY_ALPHA,
    RGB,
    RGBA,
    YCBCR,
    CMYK,
    YCCK
  }

  private final ImageHeader header;
  private final Raster raster;
  private final Model model;
  private final int[] palette;
  private final int[] bits;
  private final int background;
  private final int surroundings;
  private final boolean transposed;
  private final boolean farLineFirst;
  private final boolean reversed;
  private final boolean greyOnly;

  /** Samples of one line of the raster, pixel after pixel. */
  private int[] samples;

  private DecodedImage(
      ImageHeader header, Raster raster, Model model, int[] palette, int background) {
    this.header = header;
    this.raster = raster;
    this.model = model;
    this.palette = palette;
    this.bits = raster.getSampleModel().getSampleSize();
    this.background = background;
    this.surroundings = surroundings(palette);
    int orientation = header.orientation();
    this.transposed = orientation >= 5;
    this.farLineFirst = List.of(3, 4, 7, 8).contains(orientation);
    this.reversed = List.of(2, 3, 6, 7).contains(orientation);
    boolean greyBackground =
        (background >> 16 & 0xFF) == (background & 0xFF)
            && (background >> 8 & 0xFF) == (background & 0xFF);
    this.greyOnly = model == Model.GREY || model == Model.GREY_ALPHA && greyBackground;
  }

  /**
   * Decodes a picture.
   *
   * @param header container of the picture
   * @param background colour behind transparent pixels, {@code 0xRRGGBB}
   * @throws IOException when the decoder fails, or warns of anything
   */
  static DecodedImage of(ImageHeader header, int background) throws IOException {
    ImageReader reader = reader(header.format());
    List<String> warnings = new ArrayList<>();
    try (ImageInputStream in =
        new MemoryCacheImageInputStream(new ByteArrayInputStream(header.content()))) {
      reader.addIIOReadWarningListener((source, warning) -> warnings.add(warning));
      reader.setInput(in, true, true);
      DecodedImage image;
      if (header.format() == ImageHeader.Format.JPEG) {
        image = jpeg(header, reader.readRaster(0, null), background);
      } else {
        AtomicInteger rows = new AtomicInteger();
        reader.addIIOReadUpdateListener(countingInto(rows));
        BufferedImage read = reader.read(0);
        // The decoder of GIF neither fails nor warns when rows are missing.
        if (header.format() == ImageHeader.Format.GIF && rows.get() < read.getHeight()) {
          throw new ImageHeader.DamageException(
              "it has %d of %d rows", rows.get(), read.getHeight());
        }
        image = of(header, read.getRaster(), read.getColorModel(), background);
      }
      if (!warnings.isEmpty()) {
        throw new ImageHeader.DamageException("%s", warnings.get(0));
      }
      return image;
    } finally {
      reader.dispose();
    }
  }

  /** Returns a listener that adds the height of each update; of its six methods one matters. */
  private static IIOReadUpdateListener countingInto(AtomicInteger rows) {
    Class<?> listener = IIOReadUpdateListener.class;
    return (IIOReadUpdateListener)
        Proxy.newProxyInstance(
            DecodedImage.class.getClassLoader(),
            new Class<?>[] {listener},
            (proxy, method, arguments) -> {
              if (method.getName().equals("imageUpdate")) {
                rows.addAndGet((int) arguments[5]);
              }
              return null;
            });
  }

  /** Returns the JDK's own decoder, so that no library on the class path changes values. */
  private static ImageReader reader(ImageHeader.Format format) throws IOException {
    Iterator<ImageReader> readers = ImageIO.getImageReadersByFormatName(format.name());
    while (readers.hasNext()) {
      ImageReader reader = readers.next();
      if (reader.getClass().getModule() == ImageIO.class.getModule()) {
        return reader;
      }
    }
    throw new IOException("this Java has no reader of " + format);
  }

  private static DecodedImage jpeg(ImageHeader header, Raster raster, int background) {
    Model model =
        switch (header.model()) {
          case GREY -> Model.GREY;
          case RGB -> Model.RGB;
          case YCBCR -> Model.YCBCR;
          case CMYK -> Model.CMYK;
          case YCCK -> Model.YCCK;
        };
    return new DecodedImage(header, raster, model, null, background);
  }

  private static DecodedImage of(
      ImageHeader header, Raster raster, ColorModel colours, int background)
      throws ImageHeader.DamageException {
    if (colours instanceof IndexColorModel indexed) {
      int[] palette = new int[indexed.getMapSize()];
      indexed.getRGBs(palette);
      requireColours(raster, palette.length);
      return new DecodedImage(header, raster, Model.PALETTE, palette, background);
    }
    Model model =
        switch (raster.getNumBands()) {
          case 1 -> Model.GREY;
          case 2 -> Model.GREY_ALPHA;
          case 3 -> Model.RGB;
          default -> Model.RGBA;
        };
    return new DecodedImage(header, raster, model, null, background);
  }

  /** Checks that every pixel has a colour of the palette. */
  private static void requireColours(Raster raster, int colours)
      throws ImageHeader.DamageException {
    if (colours >= 1 << raster.getSampleModel().getSampleSize(0)) {
      return;
    }
    int[] row = null;
    for (int y = 0; y < raster.getHeight(); y++) {
      row = raster.getPixels(0, y, raster.getWidth(), 1, row);
      for (int index : row) {
        if (index >= colours) {
          throw new ImageHeader.DamageException(
              "a pixel has colour %d, and its palette has %d", index, colours);
        }
      }
    }
  }

  /** Returns the colour around a GIF's first frame: transparent if it has that, or the first. */
  private static int surroundings(int[] palette) {
    if (palette == null) {
      return TRANSPARENT;
    }
    for (int colour : palette) {
      if (colour >>> 24 == 0) {
        return colour;
      }
    }
    return palette[0];
  }

  @Override
  public int channels() {
    return greyOnly ? GREY : COLOURS;
  }

  @Override
  public int height() {
    return transposed ? header.width() : header.height();
  }

  @Override
  public int width() {
    return transposed ? header.height() : header.width();
  }

  @Override
  public void row(int y, float[] values) {
    int line = farLineFirst ? height() - 1 - y : y;
    int width = width();
    // The frame of a GIF may be smaller than its screen; other formats have no margins.
    int lines = transposed ? raster.getWidth() : raster.getHeight();
    int length = transposed ? raster.getHeight() : raster.getWidth();
    int frameLine = line - header.top();
    boolean within = frameLine >= 0 && frameLine < lines;
    if (within) {
      samples =
          transposed
              ? raster.getPixels(frameLine, 0, 1, length, samples)
              : raster.getPixels(0, frameLine, length, 1, samples);
    }
    for (int i = 0; i < width; i++) {
      int at = i - header.left();
      int colour = within && at >= 0 && at < length ? colour(at * bits.length) : surroundings;
      put(colour, values, reversed ? width - 1 - i : i, width);
    }
  }

  private void put(int colour, float[] values, int x, int width) {
    float opaque = (colour >>> 24) / 255f;
    int channels = channels();
    for (int channel = 0; channel < channels; channel++) {
      int shift = 16 - 8 * channel;
      int value = colour >> shift & 0xFF;
      values[channel * width + x] =
          opaque == 1 ? value : opaque * value + (1 - opaque) * (background >> shift & 0xFF);
    }
  }

  /** Returns a pixel as {@code 0xAARRGGBB}. */
  private int colour(int at) {
    return switch (model) {
      case PALETTE -> palette[samples[at]];
      case GREY -> grey(sample(at, 0), OPAQUE);
      case GREY_ALPHA -> grey(sample(at, 0), alphaOfGrey(at));
      case RGB -> colour(sample(at, 0), sample(at, 1), sample(at, 2), OPAQUE);
      case RGBA -> colour(sample(at, 0), sample(at, 1), sample(at, 2), sample(at, 3));
      case YCBCR -> ofYcbcr(samples[at], samples[at + 1], samples[at + 2]);
      case CMYK -> inverted(samples[at], samples[at + 1], samples[at + 2], samples[at + 3]);
      case YCCK -> {
        int rgb = ofYcbcr(samples[at], samples[at + 1], samples[at + 2]);
        yield inverted(
            255 - (rgb >> 16 & 0xFF), 255 - (rgb >> 8 & 0xFF), 255 - (rgb & 0xFF), samples[at + 3]);
      }
    };
  }

  private int alphaOfGrey(int at) {
    int transparent = header.transparentGrey();
    if (transparent < 0) {
      return sample(at, 1);
    }
    return sample(at, 0) == transparent ? TRANSPARENT : OPAQUE;
  }

  private static int grey(int value, int alpha) {
    return colour(value, value, value, alpha);
  }

  private static int colour(int red, int green, int blue, int alpha) {
    return alpha << 24 | red << 16 | green << 8 | blue;
  }

  /** Returns a sample as 8 bits: the upper 8 of more bits, fewer bits scaled and rounded down. */
  private int sample(int at, int band) {
    int value = samples[at + band];
    int size = bits[band];
    if (size == 8) {
      return value;
    }
    return size > 8 ? value >> size - 8 : value * 255 / ((1 << size) - 1);
  }

  /** Converts by the fixed-point formula of libjpeg. */
  private static int ofYcbcr(int y, int blueness, int redness) {
    int cb = blueness - 128;
    int cr = redness - 128;
    int half = 1 << 15;
    return colour(
        clamped(y + (91_881 * cr + half >> 16)),
        clamped(y + (-22_554 * cb - 46_802 * cr + half >> 16)),
        clamped(y + (116_130 * cb + half >> 16)),
        OPAQUE);
  }

  private static int clamped(int value) {
    return Math.max(0, Math.min(255, value));
  }

  /** Converts inks, which JPEG files store inverted as Adobe's programs do, by Pillow's formula. */
  private static int inverted(int cyan, int magenta, int yellow, int black) {
    return colour(printed(cyan, black), printed(magenta, black), printed(yellow, black), OPAQUE);
  }

  private static int printed(int invertedInk, int light) {
    int product = (255 - invertedInk) * light + 128;
    return clamped(light - ((product >> 8) + product >> 8));
  }
}
