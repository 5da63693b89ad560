package io.vertigrad.launcher.image;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/**
 * A written layer.
 *
 * @param file the compressed tar file
 * @param digest its digest, which names it in the image
 * @param contentDigest digest of the tar file before compression
 */
record Blob(Path file, String digest, String contentDigest) {

  private static final int GZIP_FIRST = 0x1f;

  /** Returns a layer that somebody else has written, as a tar file, compressed or not. */
  static Blob of(Path tar) throws IOException {
    String packed = digest(Files.newInputStream(tar));
    return new Blob(tar, packed, isCompressed(tar) ? digest(unpacked(tar)) : packed);
  }

  /** Returns whether the file is compressed with gzip. */
  boolean compressed() {
    return !digest.equals(contentDigest);
  }

  private static boolean isCompressed(Path tar) throws IOException {
    try (InputStream in = Files.newInputStream(tar)) {
      return in.read() == GZIP_FIRST;
    }
  }

  private static InputStream unpacked(Path tar) throws IOException {
    return new GZIPInputStream(new BufferedInputStream(Files.newInputStream(tar)));
  }

  private static String digest(InputStream bytes) throws IOException {
    try (bytes;
        HashingOutput hash = new HashingOutput(OutputStream.nullOutputStream())) {
      bytes.transferTo(hash);
      return hash.digest();
    }
  }
}
