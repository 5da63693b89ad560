package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.zip.GZIPInputStream;

/**
 * A file to download as {@code .gz}, identified by its uncompressed content.
 *
 * <p>Mirrors compress the same content differently, so the checksum is that of the content.
 *
 * @param name file name without {@code .gz}
 * @param contentBytes length of the content, uncompressed
 * @param sha256 SHA-256 of the uncompressed content, lower-case hexadecimal
 */
record RemoteFile(String name, int contentBytes, String sha256) {

  private static final int CHUNK_BYTES = 1 << 16;
  private static final int GZIP_OVERHEAD_BYTES = 1 << 16;

  /**
   * Returns the largest possible size of the download: the content uncompressed in a gzip frame.
   */
  long mostCompressedBytes() {
    return (long) contentBytes + GZIP_OVERHEAD_BYTES;
  }

  /** Refuses a downloaded file with different content; {@code origin} names it in errors. */
  void verify(Path compressed, URI origin) {
    MessageDigest digest = sha256Digest();
    long found = 0;
    try (InputStream in = new GZIPInputStream(Files.newInputStream(compressed), CHUNK_BYTES)) {
      byte[] chunk = new byte[CHUNK_BYTES];
      for (int read = in.read(chunk); read >= 0 && found <= contentBytes; read = in.read(chunk)) {
        digest.update(chunk, 0, read);
        found += read;
      }
    } catch (IOException e) {
      throw new DataException(
          "%s: sent no valid gzip file (%s); name another mirror with --download URL"
              .formatted(origin, e.getMessage()),
          e);
    }
    String hash = HexFormat.of().formatHex(digest.digest());
    if (found != contentBytes || !hash.equals(sha256)) {
      throw new DataException(
          ("%s: content has %s%s bytes and SHA-256 %s, expected %s bytes and %s; "
                  + "nothing was kept, name another mirror with --download URL")
              .formatted(
                  origin, found > contentBytes ? "over " : "", found, hash, contentBytes, sha256));
    }
  }

  private static MessageDigest sha256Digest() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }
}
