package io.vertigrad.compute.data.files;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.zip.CRC32;

/**
 * The container of a picture, read from its first byte to its last before any pixel is decoded.
 * Java's decoders skip check sums, stop at the end of incomplete files and apply colour profiles;
 * so this class checks that the file is whole, and leaves profiles out.
 *
 * @param format format that the content has, whatever the file's name ends in
 * @param width columns as stored, at least 1
 * @param height rows as stored, at least 1
 * @param orientation EXIF orientation from 1 (upright) to 8; 1 if there is none or it is unreadable
 * @param model colour model of a JPEG; null for other formats, whose decoder knows it
 * @param transparentGrey transparent value of a grey PNG of less than 8 bits, scaled to 8, which
 *     Java's decoder overlooks; -1 if there is none
 * @param left column of a GIF's first frame in the whole picture; 0 for other formats
 * @param top row of a GIF's first frame in the whole picture; 0 for other formats
 * @param content what the decoder gets
 */
record ImageHeader(
    Format format,
    int width,
    int height,
    int orientation,
    JpegModel model,
    int transparentGrey,
    int left,
    int top,
    byte[] content) {

  /** The formats that are read. */
  enum Format {
    PNG,
    JPEG,
    GIF,
    BMP
  }

  /** What the components of a JPEG are. */
  enum JpegModel {
    GREY,
    RGB,
    YCBCR,
    CMYK,
    YCCK
  }

  /** Content that contradicts its format; the message is a clause about the file. */
  static final class DamageException extends IOException {

    private static final long serialVersionUID = 1;

    DamageException(String message, Object... arguments) {
      super(String.format(Locale.ROOT, message, arguments));
    }
  }

  /** Content of another format; the message is a clause about the file. */
  static final class OtherFormatException extends IOException {

    private static final long serialVersionUID = 1;

    OtherFormatException(String message) {
      super(message);
    }
  }

  private static final long PNG_SIGNATURE = 0x89504E470D0A1A0AL;

  /** Most scans of a JPEG; a progressive one has about ten, and each decodes all of its pixels. */
  private static final int MOST_SCANS = 100;

  private static final int PNG_BITS = 24;
  private static final int TAG_ORIENTATION = 0x0112;
  private static final int UPRIGHT = 1;

  /**
   * Reads a file's container.
   *
   * @throws OtherFormatException when the content is of no format that is read
   * @throws DamageException when the content ends too early or contradicts its format
   */
  static ImageHeader of(byte[] bytes) throws OtherFormatException, DamageException {
    ByteBuffer in = ByteBuffer.wrap(bytes);
    try {
      if (bytes.length >= 8 && in.getLong(0) == PNG_SIGNATURE) {
        return png(in, bytes);
      }
      if (startsWith(bytes, 0, "\u00FF\u00D8\u00FF")) {
        return jpeg(in);
      }
      if (startsWith(bytes, 0, "GIF87a") || startsWith(bytes, 0, "GIF89a")) {
        return gif(in.order(ByteOrder.LITTLE_ENDIAN), bytes);
      }
      if (startsWith(bytes, 0, "BM") && bytes.length > 2) {
        return bmp(in.order(ByteOrder.LITTLE_ENDIAN), bytes);
      }
    } catch (BufferUnderflowException | IndexOutOfBoundsException | IllegalArgumentException e) {
      throw new DamageException("it ends too early, after %d bytes", bytes.length);
    }
    throw new OtherFormatException(otherFormat(bytes));
  }

  private static String otherFormat(byte[] bytes) {
    if (bytes.length == 0) {
      return "is empty";
    }
    if (startsWith(bytes, 0, "II*\0") || startsWith(bytes, 0, "MM\0*")) {
      return "is a TIFF image";
    }
    if (startsWith(bytes, 0, "RIFF") && startsWith(bytes, 8, "WEBP")) {
      return "is a WebP image";
    }
    if (startsWith(bytes, 4, "ftyp")) {
      return "is a HEIC or AVIF image or a film";
    }
    return "is no image";
  }

  private static boolean startsWith(byte[] bytes, int at, String text) {
    if (bytes.length < at + text.length()) {
      return false;
    }
    return new String(bytes, at, text.length(), StandardCharsets.ISO_8859_1).equals(text);
  }

  private static ImageHeader png(ByteBuffer in, byte[] bytes) throws DamageException {
    int width = 0;
    int height = 0;
    int orientation = UPRIGHT;
    int transparentGrey = -1;
    in.position(8);
    for (String chunk = ""; !chunk.equals("IEND"); ) {
      int length = in.getInt();
      int begin = in.position() + 4;
      chunk = new String(bytes, in.position(), 4, StandardCharsets.ISO_8859_1);
      in.position(begin + checkedLength(length, in.remaining() - 8));
      CRC32 sum = new CRC32();
      sum.update(bytes, begin - 4, length + 4);
      if ((int) sum.getValue() != in.getInt()) {
        throw new DamageException(
            "the check sum of its chunk %s at byte %d is wrong", name(chunk), begin - 8);
      }
      if (width == 0) {
        if (!chunk.equals("IHDR") || length != 13) {
          throw new DamageException("its first chunk is %s, not IHDR", name(chunk));
        }
        width = checkedSide(in.getInt(begin));
        height = checkedSide(in.getInt(begin + 4));
      } else if (chunk.equals("eXIf")) {
        orientation = orientation(ByteBuffer.wrap(bytes, begin, length).slice());
      } else if (chunk.equals("tRNS") && isGreyOfLessThan8Bits(bytes) && length == 2) {
        transparentGrey = in.getShort(begin) * 255 / ((1 << bytes[PNG_BITS]) - 1);
      }
    }
    return new ImageHeader(
        Format.PNG, width, height, orientation, null, transparentGrey, 0, 0, bytes);
  }

  private static boolean isGreyOfLessThan8Bits(byte[] png) {
    return png[PNG_BITS] > 0 && png[PNG_BITS] < 8 && png[PNG_BITS + 1] == 0;
  }

  /** Returns a chunk's name without control characters. */
  private static String name(String chunk) {
    return chunk.replaceAll("[^A-Za-z]", "?");
  }

  private static int checkedLength(int length, int most) throws DamageException {
    if (length < 0 || length > most) {
      throw new DamageException(
          "it ends too early, within its pixels or another part of %d bytes", length & 0xFFFFFFFFL);
    }
    return length;
  }

  private static int checkedSide(int pixels) throws DamageException {
    if (pixels < 1) {
      throw new DamageException("a side has %d pixels, expected at least 1", pixels & 0xFFFFFFFFL);
    }
    return pixels;
  }

  /**
   * Reads the segments of a JPEG. Its content for the decoder lacks comments, thumbnails and colour
   * profiles, and what follows the first picture.
   */
  private static ImageHeader jpeg(ByteBuffer in) throws DamageException {
    ByteArrayOutputStream content = new ByteArrayOutputStream(in.capacity());
    int[] components = {};
    int width = 0;
    int height = 0;
    int orientation = 0;
    int scans = 0;
    boolean jfif = false;
    int transform = -1;
    in.position(2);
    content.write(in.array(), 0, 2);
    while (true) {
      int begin = in.position();
      int marker = marker(in);
      if (marker == 0xD9) {
        content.write(in.array(), begin, in.position() - begin);
        break;
      }
      int data = in.position() + 2;
      int length = (in.getShort() & 0xFFFF) - 2;
      if (length < 0 || length > in.remaining()) {
        throw new DamageException("it ends too early, within the segment at byte %d", begin);
      }
      ByteBuffer segment = in.slice(data, length);
      in.position(data + length);
      boolean keep = marker < 0xE0 || marker > 0xEF && marker != 0xFE;
      if (isFrame(marker)) {
        if (width > 0) {
          // The decoder would take the first, whose size may be another one.
          throw new DamageException("it has a second frame, at byte %d", begin);
        }
        if (segment.get(0) != 8) {
          throw new DamageException("it has %d bits a value, expected 8", segment.get(0));
        }
        height = checkedSide(segment.getShort(1) & 0xFFFF);
        width = checkedSide(segment.getShort(3) & 0xFFFF);
        components = new int[segment.get(5) & 0xFF];
        for (int i = 0; i < components.length; i++) {
          components[i] = segment.get(6 + 3 * i) & 0xFF;
        }
      } else if (marker == 0xE0 && startsWith(in.array(), data, "JFIF\0") && length >= 14) {
        jfif = true;
      } else if (marker == 0xE1 && startsWith(in.array(), data, "Exif\0\0") && length >= 6) {
        orientation = orientation == 0 ? orientation(segment.slice(6, length - 6)) : orientation;
      } else if (marker == 0xEE && startsWith(in.array(), data, "Adobe") && length >= 12) {
        transform = segment.get(11) & 0xFF;
        keep = true;
      }
      if (marker == 0xDA) {
        scans++;
        if (scans > MOST_SCANS) {
          throw new DamageException("it has more than %d scans", MOST_SCANS);
        }
        skipEntropyCodedData(in);
      }
      if (keep) {
        content.write(in.array(), begin, in.position() - begin);
      }
    }
    if (width == 0) {
      throw new DamageException("it has no pixels");
    }
    return new ImageHeader(
        Format.JPEG,
        width,
        height,
        Math.max(UPRIGHT, orientation),
        model(components, jfif, transform),
        -1,
        0,
        0,
        content.toByteArray());
  }

  /** Returns the next marker, which any number of bytes 0xFF may precede. */
  private static int marker(ByteBuffer in) throws DamageException {
    int at = in.position();
    if ((in.get() & 0xFF) != 0xFF) {
      throw new DamageException("there is no marker at byte %d", at);
    }
    int marker = 0xFF;
    while (marker == 0xFF) {
      marker = in.get() & 0xFF;
    }
    return marker;
  }

  private static boolean isFrame(int marker) {
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
  }

  /** Moves to the first marker that is no restart. */
  private static void skipEntropyCodedData(ByteBuffer in) {
    while (true) {
      if (in.get() == (byte) 0xFF) {
        int next = in.get(in.position()) & 0xFF;
        if (next != 0 && next != 0xFF && (next < 0xD0 || next > 0xD7)) {
          in.position(in.position() - 1);
          return;
        }
      }
    }
  }

  /** Follows the rules of libjpeg for files that do not name their colour model. */
  private static JpegModel model(int[] components, boolean jfif, int transform)
      throws DamageException {
    switch (components.length) {
      case 1:
        return JpegModel.GREY;
      case 3:
        boolean named = components[0] == 'R' && components[1] == 'G' && components[2] == 'B';
        boolean rgb = !jfif && (transform == 0 || transform < 0 && named);
        return rgb ? JpegModel.RGB : JpegModel.YCBCR;
      case 4:
        return transform == 2 ? JpegModel.YCCK : JpegModel.CMYK;
      default:
        throw new DamageException("it has %d components, expected 1, 3 or 4", components.length);
    }
  }

  /**
   * Reads the blocks of a GIF. The picture is the first frame on its screen, as in other programs
   * that show one.
   */
  private static ImageHeader gif(ByteBuffer in, byte[] bytes) throws DamageException {
    int width = in.getShort(6) & 0xFFFF;
    int height = in.getShort(8) & 0xFFFF;
    int left = -1;
    int top = -1;
    in.position(13 + tableBytes(in.get(10)));
    for (int block = in.get() & 0xFF; block != 0x3B; block = in.get() & 0xFF) {
      if (block == 0x2C) {
        int at = in.position();
        if (left < 0) {
          left = in.getShort(at) & 0xFFFF;
          top = in.getShort(at + 2) & 0xFFFF;
          width = Math.max(width, left + checkedSide(in.getShort(at + 4) & 0xFFFF));
          height = Math.max(height, top + checkedSide(in.getShort(at + 6) & 0xFFFF));
        }
        in.position(at + 10 + tableBytes(in.get(at + 8)));
      } else if (block == 0x21) {
        in.position(in.position() + 1);
      } else {
        throw new DamageException("there is no block at byte %d", in.position() - 1);
      }
      for (int length = in.get() & 0xFF; length > 0; length = in.get() & 0xFF) {
        in.position(in.position() + length);
      }
    }
    if (left < 0) {
      throw new DamageException("it has no frame");
    }
    return new ImageHeader(Format.GIF, width, height, UPRIGHT, null, -1, left, top, bytes);
  }

  private static int tableBytes(byte flags) {
    return flags < 0 ? 3 << (flags & 7) + 1 : 0;
  }

  private static ImageHeader bmp(ByteBuffer in, byte[] bytes) throws DamageException {
    int headerBytes = in.getInt(14);
    boolean old = headerBytes == 12;
    int width = checkedSide(old ? in.getShort(18) & 0xFFFF : in.getInt(18));
    int height = checkedSide(old ? in.getShort(20) & 0xFFFF : Math.abs(in.getInt(22)));
    int bits = in.getShort(old ? 24 : 28) & 0xFFFF;
    int compression = old ? 0 : in.getInt(30);
    if (compression == 4 || compression == 5) {
      throw new DamageException("it is a JPEG or PNG within a BMP");
    }
    long rowBytes = ((long) width * bits + 7) / 8;
    long storedBytes = (rowBytes + 3) / 4 * 4 * (height - 1) + rowBytes;
    int pixelsAt = in.getInt(10);
    if (compression == 1 || compression == 2) {
      in.position(pixelsAt);
      checkRuns(in, width, height, bits);
    } else if ((pixelsAt & 0xFFFFFFFFL) + storedBytes > bytes.length) {
      throw new DamageException("it ends too early, after %d bytes", bytes.length);
    }
    return new ImageHeader(Format.BMP, width, height, UPRIGHT, null, -1, 0, 0, bytes);
  }

  /**
   * Checks that a BMP's runs lead to the last pixel; those that they skip have the first colour.
   */
  private static void checkRuns(ByteBuffer in, int width, int height, int bits)
      throws DamageException {
    int x = 0;
    int y = 0;
    while (true) {
      int count = in.get() & 0xFF;
      int value = in.get() & 0xFF;
      if (count > 0) {
        x += count;
      } else if (value == 0) {
        x = 0;
        y++;
      } else if (value == 1) {
        break;
      } else if (value == 2) {
        x += in.get() & 0xFF;
        y += in.get() & 0xFF;
      } else {
        x += value;
        int stored = bits == 8 ? value : (value + 1) / 2;
        in.position(in.position() + (stored + 1) / 2 * 2);
      }
    }
    if (y < height - 1 || y == height - 1 && x < width) {
      throw new DamageException("it has %d of %d rows", y, height);
    }
  }

  /**
   * Returns the orientation that EXIF data state, 1 if they state none or cannot be read: what an
   * editor left of them is no reason to refuse a picture.
   *
   * @param exif a TIFF header and its directories
   */
  private static int orientation(ByteBuffer exif) {
    try {
      int order = exif.getShort(0);
      if (order == 0x4949) {
        exif.order(ByteOrder.LITTLE_ENDIAN);
      } else if (order != 0x4D4D) {
        return UPRIGHT;
      }
      if (exif.getShort(2) != 42) {
        return UPRIGHT;
      }
      int directory = exif.getInt(4);
      int entries = exif.getShort(directory) & 0xFFFF;
      for (int i = 0; i < entries; i++) {
        int entry = directory + 2 + 12 * i;
        if ((exif.getShort(entry) & 0xFFFF) == TAG_ORIENTATION) {
          int value =
              switch (exif.getShort(entry + 2)) {
                case 1 -> exif.get(entry + 8);
                case 3 -> exif.getShort(entry + 8);
                case 4 -> exif.getInt(entry + 8);
                default -> UPRIGHT;
              };
          return value >= 1 && value <= 8 ? value : UPRIGHT;
        }
      }
      return UPRIGHT;
    } catch (IndexOutOfBoundsException e) {
      return UPRIGHT;
    }
  }
}
