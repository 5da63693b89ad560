package io.vertigrad.engine.pytorch.graph;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;

/**
 * A zip file whose directory is checked when it is opened, and each entry's length and checksum
 * when it is read. It may lie in another one, as a file of {@code torch.save} does in an archive of
 * {@code torch.export}. Memory is taken only for what the file really holds. Use it from one
 * thread.
 *
 * <p>A file is refused if two entries have the same name or overlap, if a name leads out of the
 * archive, if an entry is encrypted or compressed by another method than deflate, or if the
 * compressed entries grow to more than 64 MiB and 16 times the file.
 */
public final class CheckedZip {

  private static final int LOCAL = 0x04034b50;
  private static final int CENTRAL = 0x02014b50;
  private static final int END = 0x06054b50;
  private static final int END_64 = 0x06064b50;
  private static final int LOCATOR_64 = 0x07064b50;

  private static final int LOCAL_BYTES = 30;
  private static final int CENTRAL_BYTES = 46;
  private static final int END_BYTES = 22;
  private static final int END_64_BYTES = 56;
  private static final int LOCATOR_64_BYTES = 20;
  private static final int MOST_COMMENT = 0xffff;
  private static final long ELSEWHERE = 0xffffffffL;

  private static final int STORED = 0;
  private static final int DEFLATED = 8;
  private static final int ENCRYPTED = 1;

  private static final int MOST_DIRECTORY = 64 << 20;
  private static final int MOST_NESTED = 1 << 30;
  private static final long MOST_GROWN = 64 << 20;
  private static final long MOST_GROWTH = 16;
  private static final int TILE = 1 << 16;

  /**
   * Reads an open file.
   *
   * @param <T> what it makes of it
   */
  @FunctionalInterface
  public interface Reader<T> {

    /**
     * Reads a file, which is closed afterwards.
     *
     * @throws ArchiveException when it cannot be used
     * @throws IOException when it cannot be read
     */
    T read(CheckedZip zip) throws IOException;
  }

  /** Reads bytes at a position, as {@link FileChannel#read(ByteBuffer, long)} does. */
  @FunctionalInterface
  private interface Source {
    int read(ByteBuffer target, long position) throws IOException;
  }

  /**
   * An entry.
   *
   * @param header position of its local header
   * @param data position of its first byte
   * @param packed bytes in the file
   * @param size bytes when unpacked
   */
  private record Entry(
      String name, int method, long header, long data, long packed, long size, long crc) {}

  private final Source source;
  private final long base;
  private final long length;
  private final String prefix;
  private final Map<String, Entry> entries = new LinkedHashMap<>();

  private CheckedZip(Source source, long base, long length, String prefix) throws IOException {
    this.source = source;
    this.base = base;
    this.length = length;
    this.prefix = prefix;
    readDirectory();
  }

  /**
   * Opens a file, checks its directory, and has it read.
   *
   * @param kind what the file should be, such as {@code a TorchScript module}
   * @param advice how to make such a file
   * @throws IllegalArgumentException when it is missing, no zip file, or cannot be read or used;
   *     the message begins with {@code model FILE:}
   */
  public static <T> T open(Path file, String kind, String advice, Reader<T> reader) {
    try {
      if (!Files.isRegularFile(file)) {
        throw new ArchiveException("no such file, expected %s; %s".formatted(kind, advice));
      }
      try (FileChannel channel = FileChannel.open(file)) {
        checkMagic(channel, kind, advice);
        return reader.read(new CheckedZip(channel::read, 0, channel.size(), ""));
      }
    } catch (ArchiveException e) {
      throw new IllegalArgumentException("model %s: %s".formatted(file, e.getMessage()), e);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "model %s: cannot be read: %s".formatted(file, e.getMessage()), e);
    }
  }

  private static void checkMagic(FileChannel channel, String kind, String advice)
      throws IOException {
    ByteBuffer head = ByteBuffer.allocate(2);
    channel.read(head, 0);
    if (head.position() == 0) {
      throw new ArchiveException("is empty, expected %s; %s".formatted(kind, advice));
    }
    if (head.get(0) != 'P' || head.get(1) != 'K') {
      String found = (head.get(0) & 0xff) == 0x80 ? "is a pickle, not " + kind : "is no zip file";
      throw new ArchiveException(found + "; " + advice);
    }
  }

  /** Returns the names of the entries that are no folders, in the order of the directory. */
  public List<String> names() {
    return List.copyOf(entries.keySet());
  }

  /** Returns true when there is an entry of this name. */
  public boolean has(String name) {
    return entries.containsKey(name);
  }

  /**
   * Returns the number of bytes that an entry has when it is unpacked.
   *
   * @throws ArchiveException when there is no such entry
   */
  public long size(String name) throws ArchiveException {
    return entry(name).size;
  }

  /**
   * Reads an entry.
   *
   * @param most bytes that it may have
   * @throws ArchiveException when it is missing, damaged or longer
   */
  public byte[] read(String name, int most) throws IOException {
    long size = size(name);
    if (size > most) {
      throw refused(
          String.format(
              Locale.ROOT, "has %s of %,d bytes, expected at most %,d", name, size, most));
    }
    return check(name, (int) size);
  }

  /**
   * Reads an entry to its end, compares its length and checksum, and returns its first bytes.
   *
   * @param kept number of bytes to return at most
   * @throws ArchiveException when it is missing or damaged
   */
  public byte[] check(String name, int kept) throws IOException {
    Entry entry = entry(name);
    byte[] first = new byte[(int) Math.min(kept, entry.size)];
    CRC32 crc = new CRC32();
    long count = 0;
    Inflater inflater = new Inflater(true);
    try (InputStream in = unpacked(entry, inflater)) {
      byte[] tile = new byte[TILE];
      // One more byte than the size that was checked is enough to know that there are too many.
      while (count <= entry.size) {
        int some = in.read(tile, 0, (int) Math.min(TILE, entry.size + 1 - count));
        if (some < 0) {
          break;
        }
        if (count < first.length) {
          System.arraycopy(tile, 0, first, (int) count, (int) Math.min(some, first.length - count));
        }
        crc.update(tile, 0, some);
        count += some;
      }
    } catch (ZipException | EOFException e) {
      throw cut("%s: %s".formatted(name, e.getMessage()));
    } finally {
      inflater.end();
    }
    if (count != entry.size) {
      throw refused(
          "is damaged: %s has %s %s bytes, expected %s; copy it again"
              .formatted(name, count > entry.size ? "more than" : "only", count, entry.size));
    }
    if (crc.getValue() != entry.crc) {
      throw refused(
          "is damaged: %s has checksum %08x, expected %08x; copy it again"
              .formatted(name, crc.getValue(), entry.crc));
    }
    return first;
  }

  /**
   * Opens an entry that is a zip file itself, after its checksum was compared. It can be read as
   * long as this one.
   *
   * @throws ArchiveException when it is missing, damaged or no zip file
   */
  public CheckedZip nested(String name) throws IOException {
    Entry entry = entry(name);
    String inside = prefix + name + " ";
    if (entry.method == STORED) {
      check(name, 0);
      return new CheckedZip(source, base + entry.data, entry.size, inside);
    }
    byte[] bytes = read(name, MOST_NESTED);
    Source memory =
        (target, position) -> {
          int some = (int) Math.min(target.remaining(), bytes.length - position);
          target.put(bytes, (int) position, some);
          return some;
        };
    return new CheckedZip(memory, 0, bytes.length, inside);
  }

  private ArchiveException refused(String what) {
    return new ArchiveException(prefix + what);
  }

  private Entry entry(String name) throws ArchiveException {
    Entry entry = entries.get(name);
    if (entry == null) {
      throw refused("has no %s: it is damaged, or not complete".formatted(name));
    }
    return entry;
  }

  private ArchiveException cut(String what) {
    return refused("is damaged or was cut short (%s): copy it again".formatted(what));
  }

  private InputStream unpacked(Entry entry, Inflater inflater) {
    InputStream packed = new Window(entry.data, entry.packed);
    if (entry.method == STORED) {
      return packed;
    }
    // An inflater without zlib's header may ask for one byte more than there is.
    InputStream padded = new SequenceInputStream(packed, new ByteArrayInputStream(new byte[1]));
    return new InflaterInputStream(padded, inflater, TILE);
  }

  /** The bytes of a part of the file. */
  private final class Window extends InputStream {

    private long position;
    private final long end;

    Window(long position, long count) {
      this.position = position;
      this.end = position + count;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int from, int count) throws IOException {
      int some = (int) Math.min(count, end - position);
      if (some == 0) {
        return count == 0 ? 0 : -1;
      }
      int got = source.read(ByteBuffer.wrap(target, from, some), base + position);
      if (got <= 0) {
        throw cut("it ends at byte " + position);
      }
      position += got;
      return got;
    }
  }

  /** Reads a part of the file whose length was checked. */
  private ByteBuffer bytes(long position, int count) throws IOException {
    if (position < 0 || position > length - count) {
      throw cut("bytes %s to %s of %s".formatted(position, position + count, length));
    }
    ByteBuffer bytes = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
    while (bytes.hasRemaining()) {
      if (source.read(bytes, base + position + bytes.position()) <= 0) {
        throw cut("it ends at byte " + (position + bytes.position()));
      }
    }
    return bytes.flip();
  }

  /** Where the directory is. */
  private record Directory(long position, long bytes, long count) {}

  private void readDirectory() throws IOException {
    Directory directory = directory();
    if (directory.bytes > MOST_DIRECTORY
        || directory.bytes < 0
        || directory.count < 0
        || directory.count > directory.bytes / CENTRAL_BYTES) {
      throw cut(
          "a directory of %s entries in %s bytes".formatted(directory.count, directory.bytes));
    }
    ByteBuffer bytes = bytes(directory.position, (int) directory.bytes);
    for (long i = 0; i < directory.count; i++) {
      readEntry(bytes, directory.position);
    }
    if (bytes.hasRemaining()) {
      throw cut("a directory of more than %s entries".formatted(directory.count));
    }
    checkSizes();
    entries.keySet().removeIf(name -> name.endsWith("/"));
  }

  private Directory directory() throws IOException {
    int tail = (int) Math.min(length, END_BYTES + MOST_COMMENT);
    ByteBuffer bytes = bytes(length - tail, tail);
    int at = tail - END_BYTES;
    while (at >= 0 && bytes.getInt(at) != END) {
      at--;
    }
    if (at < 0) {
      throw cut("it has no directory at its end");
    }
    if ((bytes.getShort(at + 20) & 0xffff) != tail - END_BYTES - at) {
      throw cut("bytes follow its end");
    }
    long end = length - tail + at;
    Directory directory = directory64(end);
    if (directory == null) {
      directory =
          new Directory(
              bytes.getInt(at + 16) & ELSEWHERE,
              bytes.getInt(at + 12) & ELSEWHERE,
              bytes.getShort(at + 10) & 0xffff);
    }
    if (directory.position < 0
        || directory.bytes < 0
        || directory.position > end
        || directory.bytes > end - directory.position) {
      throw cut(
          "a directory of %s bytes at %s of %s"
              .formatted(directory.bytes, directory.position, length));
    }
    return directory;
  }

  /** Returns the directory of a file with long numbers, or null when the file has none. */
  private Directory directory64(long end) throws IOException {
    if (end < LOCATOR_64_BYTES) {
      return null;
    }
    ByteBuffer locator = bytes(end - LOCATOR_64_BYTES, LOCATOR_64_BYTES);
    if (locator.getInt(0) != LOCATOR_64) {
      return null;
    }
    ByteBuffer record = bytes(locator.getLong(8), END_64_BYTES);
    if (record.getInt(0) != END_64) {
      throw cut("its directory is not at %s".formatted(locator.getLong(8)));
    }
    return new Directory(record.getLong(48), record.getLong(40), record.getLong(32));
  }

  private void readEntry(ByteBuffer bytes, long directory) throws IOException {
    int at = bytes.position();
    if (bytes.remaining() < CENTRAL_BYTES || bytes.getInt(at) != CENTRAL) {
      throw cut("entry %s of its directory".formatted(entries.size()));
    }
    int nameBytes = bytes.getShort(at + 28) & 0xffff;
    int extraBytes = bytes.getShort(at + 30) & 0xffff;
    int all = CENTRAL_BYTES + nameBytes + extraBytes + (bytes.getShort(at + 32) & 0xffff);
    if (all > bytes.remaining()) {
      throw cut("entry %s of its directory".formatted(entries.size()));
    }
    byte[] rawName = new byte[nameBytes];
    bytes.get(at + CENTRAL_BYTES, rawName);
    String name = name(rawName);
    long[] numbers = {
      bytes.getInt(at + 24) & ELSEWHERE,
      bytes.getInt(at + 20) & ELSEWHERE,
      bytes.getInt(at + 42) & ELSEWHERE
    };
    readExtra(name, numbers, bytes.slice(at + CENTRAL_BYTES + nameBytes, extraBytes));
    int method = bytes.getShort(at + 10) & 0xffff;
    if ((bytes.getShort(at + 8) & ENCRYPTED) != 0) {
      throw refused("has %s encrypted, expected an archive without a password".formatted(name));
    }
    if (method != STORED && method != DEFLATED) {
      throw refused(
          "has %s compressed by method %s, expected none or deflate".formatted(name, method));
    }
    long header = numbers[2];
    long data = data(name, rawName, header, directory);
    Entry entry =
        new Entry(
            name, method, header, data, numbers[1], numbers[0], bytes.getInt(at + 16) & ELSEWHERE);
    if (entry.packed < 0
        || entry.size < 0
        || entry.packed > directory - data
        || method == STORED && entry.packed != entry.size) {
      throw refused(
          "is damaged: %s has %s bytes of %s where %s are; copy it again"
              .formatted(name, entry.packed, entry.size, directory - data));
    }
    if (entries.put(name, entry) != null) {
      throw refused("has two entries %s, expected one".formatted(name));
    }
    bytes.position(at + all);
  }

  private String name(byte[] raw) throws ArchiveException {
    String name;
    try {
      name = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(raw)).toString();
    } catch (CharacterCodingException e) {
      throw cut("the name of entry %s is no UTF-8".formatted(entries.size()));
    }
    boolean outside =
        name.isEmpty()
            || name.startsWith("/")
            || name.indexOf('\\') >= 0
            || name.matches("(?s)[A-Za-z]:.*")
            || List.of(name.split("/")).contains("..");
    if (outside || name.chars().anyMatch(Character::isISOControl)) {
      throw refused(
          "has an entry with the name \"%s\", expected a path within the archive".formatted(name));
    }
    return name;
  }

  /** Replaces size, packed size and position of an entry by the long ones that it may have. */
  private void readExtra(String name, long[] numbers, ByteBuffer extra) throws ArchiveException {
    extra.order(ByteOrder.LITTLE_ENDIAN);
    while (extra.remaining() >= 4) {
      int kind = extra.getShort() & 0xffff;
      int count = extra.getShort() & 0xffff;
      if (count > extra.remaining()) {
        throw cut("the directory's entry " + name);
      }
      ByteBuffer field = extra.slice(extra.position(), count).order(ByteOrder.LITTLE_ENDIAN);
      extra.position(extra.position() + count);
      for (int i = 0; i < numbers.length && kind == 1; i++) {
        if (numbers[i] == ELSEWHERE && field.remaining() >= Long.BYTES) {
          numbers[i] = field.getLong();
        }
      }
    }
  }

  /** Returns the position of an entry's first byte, which its local header says. */
  private long data(String name, byte[] rawName, long header, long directory) throws IOException {
    int headerBytes = LOCAL_BYTES + rawName.length;
    if (header < 0 || header > directory - headerBytes) {
      throw cut("%s begins at %s".formatted(name, header));
    }
    ByteBuffer local = bytes(header, headerBytes);
    boolean same =
        local.getInt(0) == LOCAL
            && (local.getShort(26) & 0xffff) == rawName.length
            && Arrays.equals(local.array(), LOCAL_BYTES, headerBytes, rawName, 0, rawName.length);
    long data = header + headerBytes + (local.getShort(28) & 0xffff);
    if (!same || data > directory) {
      throw cut("%s is not at %s".formatted(name, header));
    }
    return data;
  }

  private void checkSizes() throws ArchiveException {
    List<Entry> ordered =
        entries.values().stream().sorted(Comparator.comparingLong(Entry::header)).toList();
    long grown = 0;
    for (int i = 0; i < ordered.size(); i++) {
      Entry one = ordered.get(i);
      if (i > 0) {
        Entry before = ordered.get(i - 1);
        if (before.data + before.packed > one.header) {
          throw refused(
              "is damaged: %s and %s overlap; copy it again".formatted(before.name, one.name));
        }
      }
      if (one.method == DEFLATED) {
        // A single size may be near the largest number, so the sum is compared after each.
        grown = Math.min(one.size, Long.MAX_VALUE / 2) + grown;
        if (grown > MOST_GROWN + MOST_GROWTH * length) {
          throw refused(
              String.format(
                  Locale.ROOT,
                  "has compressed entries that grow to more than %,d bytes with %s, in a file of"
                      + " %,d; zip it without compression",
                  MOST_GROWN + MOST_GROWTH * length,
                  one.name,
                  length));
        }
      }
    }
  }
}
