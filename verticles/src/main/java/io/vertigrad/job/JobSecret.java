package io.vertigrad.job;

import io.vertigrad.compute.settings.SettingsException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Set;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The secret with which a process proves that it belongs to a job: 32 random bytes that every
 * member's process reads from a file. It is never sent or printed. Only HMAC-SHA256 codes of
 * messages and names derived from it are sent. May be called by any thread.
 */
public final class JobSecret {

  /** Length in bytes of a code from {@link #sign}. */
  public static final int CODE_BYTES = 32;

  private static final int SECRET_BYTES = 32;
  private static final int NAME_BYTES = 16;
  private static final int MOST_FILE_BYTES = 256;
  private static final String ALGORITHM = "HmacSHA256";
  private static final Set<PosixFilePermission> OWNER =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  /** A file of another user, as root's that Kubernetes mounts for a group of the process. */
  private static final Set<PosixFilePermission> OWNER_AND_GROUP =
      EnumSet.of(
          PosixFilePermission.OWNER_READ,
          PosixFilePermission.OWNER_WRITE,
          PosixFilePermission.GROUP_READ);

  /** The secret of jobs without one. Everybody knows it, so that both ends work the same way. */
  private static final JobSecret NONE =
      new JobSecret("no secret".getBytes(StandardCharsets.US_ASCII));

  /** A code in progress for each thread: finding the algorithm anew costs more than the code. */
  private final ThreadLocal<Mac> macs;

  private JobSecret(byte[] bytes) {
    SecretKeySpec key = new SecretKeySpec(bytes, ALGORITHM);
    macs = ThreadLocal.withInitial(() -> mac(key));
  }

  private static Mac mac(SecretKeySpec key) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return mac;
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("every Java has " + ALGORITHM, impossible);
    }
  }

  /**
   * Returns the secret of jobs without one. It proves nothing.
   *
   * @return a secret that everybody knows
   */
  public static JobSecret none() {
    return NONE;
  }

  /**
   * Creates a secret without a file, for a job whose members all run in one process.
   *
   * @return a new, random secret
   */
  public static JobSecret random() {
    return new JobSecret(fresh());
  }

  /**
   * Reads the secret of a job, or creates one if there is no such file. A new file appears complete
   * and with mode 0600, or not at all.
   *
   * @param file path of the file, in a folder that exists
   * @return the secret in the file
   * @throws SettingsException if the file cannot be read or written, or contains no secret
   */
  public static JobSecret createOrRead(Path file) {
    if (!Files.exists(file)) {
      create(file);
    }
    return read(file);
  }

  /**
   * Reads the secret of this user's clusters on this machine, for jobs that do not name a secret
   * file: {@code .vertigrad/secret} in the user's home folder. It is created at the first use. Only
   * the user can read it.
   *
   * @return the secret of the user who runs this process
   * @throws SettingsException if the file cannot be read or written, or others may read it
   */
  public static JobSecret ofUser() {
    Path folder = Path.of(System.getProperty("user.home"), ".vertigrad");
    try {
      Files.createDirectories(folder);
    } catch (IOException unwritable) {
      throw new SettingsException(
          "%s cannot be made (%s), and the job names no secret; name a file in cluster.secretFile"
              .formatted(folder, unwritable),
          unwritable);
    }
    return createOrRead(folder.resolve("secret"));
  }

  /**
   * Reads the secret of a job.
   *
   * @param file path of the file
   * @return the secret in the file
   * @throws SettingsException if the file is missing, contains no secret, or others may read it
   */
  public static JobSecret read(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new SettingsException(
          "%s: found no file, expected the job's secret: the file secret of the run's folder, copied"
                  .formatted(file)
              + " from the machine where the job was started");
    }
    try {
      checkPermissions(file);
      if (Files.size(file) > MOST_FILE_BYTES) {
        throw malformed(file, Files.size(file) + " bytes", null);
      }
      String text = Files.readString(file, StandardCharsets.ISO_8859_1).strip();
      if (text.length() != SECRET_BYTES * 2) {
        throw malformed(file, text.length() + " characters", null);
      }
      return new JobSecret(HexFormat.of().parseHex(text));
    } catch (IllegalArgumentException noDigits) {
      // The exception's message is left out because it quotes the text.
      throw malformed(file, "something else", null);
    } catch (IOException unreadable) {
      throw new SettingsException(
          "%s: the job's secret cannot be read: %s".formatted(file, unreadable), unreadable);
    }
  }

  /**
   * Computes the code of a message.
   *
   * @param purpose what the code is for; a code for one purpose is invalid for another
   * @param parts the message; their positions do not change
   * @return 32 bytes that cannot be computed without the secret
   */
  public byte[] sign(String purpose, ByteBuffer... parts) {
    Mac mac = macs.get();
    // A thread that failed in the middle has left a part of another message.
    mac.reset();
    byte[] name = purpose.getBytes(StandardCharsets.UTF_8);
    mac.update(length(name.length));
    mac.update(name);
    for (ByteBuffer part : parts) {
      mac.update(length(part.remaining()));
      mac.update(part.duplicate());
    }
    return mac.doFinal();
  }

  /**
   * Returns whether two codes are equal, in a time that does not depend on where they differ.
   *
   * @param found one code
   * @param expected the other
   * @return true if they are equal
   */
  public static boolean equal(byte[] found, byte[] expected) {
    return MessageDigest.isEqual(found, expected);
  }

  /**
   * Derives a name that cannot be computed without the secret and does not reveal it.
   *
   * @param purpose what the name is for
   * @return 32 hexadecimal digits
   */
  public String name(String purpose) {
    return HexFormat.of().formatHex(sign("name of " + purpose), 0, NAME_BYTES);
  }

  /** Reveals nothing of the secret. */
  @Override
  public String toString() {
    return this == NONE ? "no secret" : "a secret";
  }

  private static void create(Path file) {
    Path absolute = file.toAbsolutePath();
    Path draft =
        absolute.resolveSibling(
            file.getFileName() + "." + HexFormat.of().toHexDigits(new SecureRandom().nextLong()));
    try {
      Set<StandardOpenOption> fresh =
          EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      try (var channel = Files.newByteChannel(draft, fresh, ownerOnly(absolute))) {
        byte[] text =
            (HexFormat.of().formatHex(fresh()) + "\n").getBytes(StandardCharsets.US_ASCII);
        ByteBuffer left = ByteBuffer.wrap(text);
        while (left.hasRemaining()) {
          channel.write(left);
        }
      }
      place(draft, absolute);
    } catch (IOException unwritable) {
      throw new SettingsException(
          "%s: the job's secret cannot be written: %s".formatted(file, unwritable), unwritable);
    }
  }

  /**
   * Publishes the file. If several processes create it at once, one succeeds and the others read
   * its file.
   */
  private static void place(Path draft, Path file) throws IOException {
    try {
      Files.createLink(file, draft);
      Files.delete(draft);
    } catch (FileAlreadyExistsException made) {
      Files.delete(draft);
    } catch (UnsupportedOperationException noLinks) {
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  private static FileAttribute<?>[] ownerOnly(Path file) {
    return hasPermissions(file)
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(OWNER)}
        : new FileAttribute<?>[0];
  }

  private static void checkPermissions(Path file) throws IOException {
    if (!hasPermissions(file)) {
      return;
    }
    PosixFileAttributes attributes = Files.readAttributes(file, PosixFileAttributes.class);
    Set<PosixFilePermission> found = attributes.permissions();
    boolean own = attributes.owner().equals(userOf(file));
    if (!(own ? OWNER : OWNER_AND_GROUP).containsAll(found)) {
      throw new SettingsException(
          "%s: found mode %s, expected that nobody but its owner can read it: chmod 600 %s"
              .formatted(file, PosixFilePermissions.toString(found), file));
    }
  }

  /** Returns the user who runs this process; null if the system has no name for it. */
  private static UserPrincipal userOf(Path file) throws IOException {
    try {
      return file.getFileSystem()
          .getUserPrincipalLookupService()
          .lookupPrincipalByName(System.getProperty("user.name"));
    } catch (UserPrincipalNotFoundException nameless) {
      return null;
    }
  }

  private static boolean hasPermissions(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  private static SettingsException malformed(Path file, String found, Throwable cause) {
    return new SettingsException(
        "%s: found %s, expected the job's secret, %s hexadecimal digits"
            .formatted(file, found, SECRET_BYTES * 2),
        cause);
  }

  private static byte[] fresh() {
    byte[] bytes = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(bytes);
    return bytes;
  }

  private static byte[] length(int bytes) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(bytes).array();
  }
}
