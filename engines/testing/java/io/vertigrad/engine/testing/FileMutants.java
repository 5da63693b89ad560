package io.vertigrad.engine.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Damages files of models, each in one way or a few, and holds their readers to an answer: a model,
 * or one sentence that names the file. {@code -Dvertigrad.mutants=N} makes more of them.
 */
public final class FileMutants {

  private static final int COUNT = Integer.getInteger("vertigrad.mutants", 300);
  private static final int LONGEST_SENTENCE = 1_000;
  private static final long[] EXTREMES = {
    0, 1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32, 1L << 40
  };
  private static final byte[] TEXT = "0123456789,:[]{}\"-eE.".getBytes(StandardCharsets.UTF_8);

  private final byte[] whole;
  private final SplittableRandom random;

  private FileMutants(byte[] whole, long seed) {
    this.whole = whole;
    this.random = new SplittableRandom(seed);
  }

  /** Reads a file as the engine does, and closes what it made. */
  @FunctionalInterface
  public interface Reader {
    void read(Path file) throws Exception;
  }

  /**
   * Has a reader read mutants of a file.
   *
   * @param file is overwritten with each of them
   * @param seed of the damages
   * @param refusal the beginning of every sentence that refuses one
   * @return how many were refused
   */
  public static int read(Path file, long seed, String refusal, Reader reader) throws Exception {
    byte[] whole = Files.readAllBytes(file);
    FileMutants mutants = new FileMutants(whole, seed);
    Map<String, Integer> sentences = new HashMap<>();
    int refused = 0;
    for (int i = 0; i < COUNT; i++) {
      byte[] mutant = mutants.next();
      Files.write(file, mutant);
      try {
        reader.read(file);
      } catch (IllegalArgumentException e) {
        refused++;
        String message = e.getMessage();
        assertTrue(message.startsWith(refusal), () -> "mutant says " + message);
        assertEquals(1, message.lines().count(), message);
        assertTrue(message.length() <= LONGEST_SENTENCE, message);
        sentences.merge(message.replaceAll("[0-9]+", "N"), 1, Integer::sum);
      } catch (Exception | Error e) {
        Path kept = Files.write(Files.createTempFile("mutant", ".bin"), mutant);
        throw new AssertionError("mutant %d of seed %d, kept as %s: %s".formatted(i, seed, kept, e), e);
      }
    }
    Files.write(file, whole);
    if (COUNT > 1_000) {
      System.out.printf("%s: %,d of %,d mutants refused%n", file.getFileName(), refused, COUNT);
      sentences.entrySet().stream()
          .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
          .limit(30)
          .forEach(entry -> System.out.printf("  %5d %s%n", entry.getValue(), entry.getKey()));
    }
    return refused;
  }

  /** How many mutants {@link #read} makes. */
  public static int count() {
    return COUNT;
  }

  private byte[] next() throws IOException {
    byte[] bytes = whole.clone();
    switch (random.nextInt(6)) {
      case 0 -> {
        return Arrays.copyOf(bytes, random.nextInt(bytes.length));
      }
      case 1 -> {
        for (int n = 1 + random.nextInt(8); n > 0; n--) {
          bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
      }
      case 2 -> {
        for (int n = 1 + random.nextInt(4); n > 0; n--) {
          put(bytes, random.nextInt(bytes.length), EXTREMES[random.nextInt(EXTREMES.length)]);
        }
      }
      case 3 -> replaceText(bytes);
      case 4 -> {
        int from = random.nextInt(bytes.length);
        int to = random.nextInt(bytes.length);
        int length = random.nextInt(Math.min(512, bytes.length - Math.max(from, to)) + 1);
        System.arraycopy(bytes, from, bytes, to, length);
      }
      default -> {
        // A small number that counts something, found by its zeros, becomes another.
        for (int n = 1 + random.nextInt(3); n > 0; n--) {
          int at = random.nextInt(bytes.length);
          while (at < bytes.length - 1 && !(bytes[at] > 0 && bytes[at + 1] == 0)) {
            at++;
          }
          bytes[at] = (byte) random.nextInt(256);
        }
      }
    }
    return bytes;
  }

  private void put(byte[] bytes, int at, long value) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    int width = 1 << random.nextInt(4);
    if (at + width > bytes.length) {
      return;
    }
    switch (width) {
      case 1 -> buffer.put(at, (byte) value);
      case 2 -> buffer.putShort(at, (short) value);
      case 4 -> buffer.putInt(at, (int) value);
      default -> buffer.putLong(at, value);
    }
  }

  /** Changes characters where the file holds text, such as the description of layers. */
  private void replaceText(byte[] bytes) {
    for (int n = 1 + random.nextInt(6); n > 0; n--) {
      int at = random.nextInt(bytes.length);
      while (at < bytes.length - 1 && !(bytes[at] >= '0' && bytes[at] <= '9' && bytes[at + 1] >= ' ')) {
        at++;
      }
      bytes[at] = TEXT[random.nextInt(TEXT.length)];
    }
  }
}
