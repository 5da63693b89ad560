package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Model;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * The hash of a model's parameters, as 16 hexadecimal digits: the first 64 bits of the SHA-256 over
 * the exchange vector's little-endian float32 bytes. Equal hashes mean equal bits.
 */
public final class ParameterHash {

  private static final int CHUNK_ELEMENTS = 1 << 16;
  private static final int BYTES = 8;

  private ParameterHash() {}

  /** Returns the hash of the model's parameters. Call it on the model's thread. */
  public static String of(Model model) {
    MessageDigest digest = sha256();
    ByteBuffer chunk =
        ByteBuffer.allocate(CHUNK_ELEMENTS * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    int length = model.layout().length();
    for (int first = 0; first < length; first += CHUNK_ELEMENTS) {
      int count = Math.min(CHUNK_ELEMENTS, length - first);
      chunk.clear().limit(count * Float.BYTES);
      model.readParameters(first, chunk.asFloatBuffer());
      digest.update(chunk);
    }
    return HexFormat.of().formatHex(digest.digest(), 0, BYTES);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("this Java has no SHA-256, which every Java must have", e);
    }
  }
}
