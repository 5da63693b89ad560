package io.vertigrad.launcher.image;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Passes bytes on and hashes them with SHA-256. */
final class HashingOutput extends FilterOutputStream {

  private final MessageDigest hash = sha256();

  HashingOutput(OutputStream out) {
    super(out);
  }

  /** Returns the digest of bytes, as registries write it. */
  static String digest(byte[] bytes) {
    return text(sha256().digest(bytes));
  }

  @Override
  public void write(int one) throws IOException {
    out.write(one);
    hash.update((byte) one);
  }

  @Override
  public void write(byte[] bytes, int from, int length) throws IOException {
    out.write(bytes, from, length);
    hash.update(bytes, from, length);
  }

  /** Returns the digest of all bytes; call it once, after closing. */
  String digest() {
    return text(hash.digest());
  }

  private static String text(byte[] digest) {
    return "sha256:" + HexFormat.of().formatHex(digest);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
