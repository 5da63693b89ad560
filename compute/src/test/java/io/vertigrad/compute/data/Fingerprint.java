package io.vertigrad.compute.data;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Computes SHA-256 over samples bit by bit: their values as big-endian floats, each before its
 * label.
 */
public final class Fingerprint {

  private final MessageDigest digest;

  Fingerprint() {
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the hash of all samples in order. */
  public static String of(Dataset dataset) {
    Fingerprint fingerprint = new Fingerprint();
    for (int i = 0; i < dataset.size(); i++) {
      fingerprint.add(sample(dataset, i), dataset.label(i));
    }
    return fingerprint.hex();
  }

  /** Returns one sample's values. */
  public static float[] sample(Dataset dataset, int index) {
    float[] values = new float[dataset.shape().stream().reduce(1, Math::multiplyExact)];
    dataset.read(index, values, 0);
    return values;
  }

  void add(float[] values, int label) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * (values.length + 1));
    for (float value : values) {
      bytes.putFloat(value);
    }
    digest.update(bytes.putInt(label).array());
  }

  String hex() {
    return HexFormat.of().formatHex(digest.digest());
  }
}
