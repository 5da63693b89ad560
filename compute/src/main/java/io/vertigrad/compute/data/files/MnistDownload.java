package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.UUID;

/**
 * Downloads the MNIST files that are missing, and checks that their content is MNIST.
 *
 * <p>A file is written to a {@code .part} file, its content is checked, and then it is moved into
 * place in one step. So a killed or concurrent download leaves no partial file under the real name.
 */
public final class MnistDownload {

  /** The mirror of the original files that TensorFlow and torchvision use. */
  public static final URI DEFAULT_MIRROR =
      URI.create("https://storage.googleapis.com/cvdf-datasets/mnist/");

  private static final long TIMEOUT_MILLIS = 300_000;

  private static final List<RemoteFile> FILES =
      List.of(
          new RemoteFile(
              "train-images-idx3-ubyte",
              47_040_016,
              "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
          new RemoteFile(
              "train-labels-idx1-ubyte",
              60_008,
              "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
          new RemoteFile(
              "t10k-images-idx3-ubyte",
              7_840_016,
              "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
          new RemoteFile(
              "t10k-labels-idx1-ubyte",
              10_008,
              "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"));

  /**
   * Workers of one process open the data together: the second one finds the files that the first
   * has fetched.
   */
  private static final Object ONE_AT_A_TIME = new Object();

  private final URI base;
  private final List<RemoteFile> files;
  private final long timeoutMillis;

  MnistDownload(URI base, List<RemoteFile> files, long timeoutMillis) {
    if (!List.of("http", "https").contains(String.valueOf(base.getScheme()))) {
      throw new DataException(
          "%s: cannot be downloaded from, expected an address such as %s"
              .formatted(base, DEFAULT_MIRROR));
    }
    this.base = base.getPath().endsWith("/") ? base : URI.create(base + "/");
    this.files = List.copyOf(files);
    this.timeoutMillis = timeoutMillis;
  }

  /**
   * Creates a download of {@code <base>/train-images-idx3-ubyte.gz} and the three other files.
   *
   * @param base address of a folder
   * @return a download that has not begun
   */
  public static MnistDownload from(URI base) {
    return new MnistDownload(base, FILES, TIMEOUT_MILLIS);
  }

  /**
   * Fetches the files that are neither in {@code root} nor in its subfolder {@code mnist/} into
   * that subfolder.
   *
   * @param root folder of the data set
   * @throws DataException with the address, what was received and what was expected
   */
  public void into(Path root) {
    List<String> subfolders = List.of(MnistProvider.SUBFOLDER);
    DataFolder folder = new DataFolder(root, subfolders, "fetch them again");
    synchronized (ONE_AT_A_TIME) {
      for (RemoteFile file : files) {
        if (folder.find(file.name()).isEmpty()) {
          fetch(file, root.resolve(MnistProvider.SUBFOLDER));
        }
      }
    }
  }

  private void fetch(RemoteFile file, Path folder) {
    URI address = base.resolve(file.name() + ".gz");
    Path part = folder.resolve("%s.%s.part".formatted(file.name(), UUID.randomUUID()));
    try {
      Files.createDirectories(folder);
      try {
        new HttpFetch(address, timeoutMillis).into(part, file.mostCompressedBytes());
        file.verify(part, address);
        Path target = folder.resolve(file.name() + ".gz");
        Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(part);
      }
    } catch (IOException e) {
      throw new DataException("%s: cannot be written: %s".formatted(folder, e), e);
    }
  }
}
