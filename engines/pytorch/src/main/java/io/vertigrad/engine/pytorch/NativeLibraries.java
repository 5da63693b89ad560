package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.settings.FailureReason;
import java.io.IOException;
import java.net.JarURLConnection;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.Loader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The native libraries of the presets on the class path, and the folder into which JavaCPP unpacks
 * them.
 *
 * <p>All of them are unpacked before the first one is loaded. JavaCPP itself unpacks and loads one
 * after the other. A library is then loaded before those that it needs are beside it, so the
 * system's loader looks elsewhere and may find another version: Debian has PyTorch's in {@code
 * /usr/lib}, and a process with both crashes.
 */
final class NativeLibraries {

  private static final Logger LOG = LoggerFactory.getLogger(NativeLibraries.class);
  private static final String GPU = "-gpu";
  private static final int MEGABYTE = 1_000_000;
  private static final long REPORT_SECONDS = 3;

  /** Shared libraries without those for Java that this engine does not use. */
  private static final Pattern LIBRARY =
      Pattern.compile("(?!libjni(openblas_full|torch_gloo|torch_nccl))[^/]+\\.so(\\.\\d+)*");

  private NativeLibraries() {}

  /** A library on the class path that JavaCPP has to unpack. */
  private record Packed(URL source, Path target, long bytes, long time) {

    boolean isUnpacked() throws IOException {
      return Files.exists(target)
          && Files.size(target) == bytes
          && Files.getLastModifiedTime(target).toMillis() == time;
    }

    long unpackedBytes() {
      return Math.min(bytes, target.toFile().length());
    }
  }

  /** Returns true if libtorch is on the class path for this platform. */
  static boolean present() {
    return has("") || forCuda();
  }

  /** Returns true if the libtorch on the class path was built for CUDA. */
  static boolean forCuda() {
    return has(GPU);
  }

  private static boolean has(String extension) {
    String name = "org/bytedeco/pytorch/%s%s/".formatted(Loader.getPlatform(), extension);
    return loader().getResource(name + System.mapLibraryName("c10")) != null;
  }

  /**
   * Returns the folder in which libraries are unpacked.
   *
   * @throws IOException when no folder can be written
   */
  static Path folder() throws IOException {
    return Loader.getCacheDir().toPath();
  }

  /**
   * Unpacks all libraries that are not unpacked yet, and logs the progress. Processes do it one
   * after the other.
   *
   * @throws IOException with one sentence for the user when the folder cannot be written or the
   *     disk is full
   */
  static void unpack() throws IOException {
    List<Packed> missing = missing();
    if (!missing.isEmpty()) {
      // Another process may have unpacked some of them meanwhile.
      unpackAlone(folder(), bytes(missing), () -> unpack(missing()));
    }
  }

  /** Writes the libraries into the folder. */
  interface Unpacking {
    void run() throws IOException;
  }

  /**
   * Unpacks while no other process does.
   *
   * @param bytes that the libraries take in the folder
   * @throws IOException with one sentence for the user, which names folder and size
   */
  static void unpackAlone(Path folder, long bytes, Unpacking unpacking) throws IOException {
    try (FileChannel file =
            FileChannel.open(
                folder.resolve("vertigrad-unpack.lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        FileLock alone = file.lock()) {
      LOG.debug("unpacking alone: {}", alone);
      unpacking.run();
    } catch (IOException e) {
      throw new IOException(
          ("libtorch (%s MB) cannot be unpacked into %s: %s; name a folder with room that this user"
                  + " can write with -Dorg.bytedeco.javacpp.cachedir=FOLDER, for the start script in"
                  + " VERTIGRAD_JAVA_OPTS")
              .formatted(bytes / MEGABYTE, folder, FailureReason.of(e)),
          e);
    }
  }

  private static long bytes(List<Packed> libraries) {
    return libraries.stream().mapToLong(Packed::bytes).sum();
  }

  private static void unpack(List<Packed> missing) throws IOException {
    if (missing.isEmpty()) {
      return;
    }
    long all = bytes(missing);
    LOG.info("unpacking libtorch into {}, {} MB, once", folder(), all / MEGABYTE);
    ScheduledExecutorService reports =
        Executors.newSingleThreadScheduledExecutor(
            work -> {
              Thread thread = new Thread(work, "vertigrad-unpack");
              thread.setDaemon(true);
              return thread;
            });
    reports.scheduleAtFixedRate(
        () -> {
          long done = missing.stream().mapToLong(Packed::unpackedBytes).sum();
          LOG.info("unpacking libtorch: {} %", 100 * done / all);
        },
        REPORT_SECONDS,
        REPORT_SECONDS,
        TimeUnit.SECONDS);
    try {
      for (Packed one : missing) {
        Loader.cacheResource(one.source());
      }
    } finally {
      reports.shutdownNow();
    }
    LOG.info("unpacked libtorch");
  }

  private static List<Packed> missing() throws IOException {
    String platform = Loader.getPlatform();
    List<Packed> missing = new ArrayList<>();
    for (String packed :
        List.of(
            "org/bytedeco/openblas/" + platform,
            "org/bytedeco/cuda/" + platform,
            "org/bytedeco/pytorch/" + platform,
            "org/bytedeco/pytorch/" + platform + GPU)) {
      for (URL folder : Collections.list(loader().getResources(packed + "/"))) {
        if (folder.openConnection() instanceof JarURLConnection jar) {
          addMissing(jar, packed + "/", missing);
        }
      }
    }
    return missing;
  }

  private static void addMissing(JarURLConnection jar, String prefix, List<Packed> missing)
      throws IOException {
    Path cache = folder().resolve(Path.of(jar.getJarFile().getName()).getFileName());
    for (JarEntry entry : Collections.list(jar.getJarFile().entries())) {
      String name = entry.getName();
      if (name.startsWith(prefix) && LIBRARY.matcher(name.substring(prefix.length())).matches()) {
        URL source = new URL("jar:%s!/%s".formatted(jar.getJarFileURL(), name));
        Packed packed = new Packed(source, cache.resolve(name), entry.getSize(), entry.getTime());
        if (!packed.isUnpacked()) {
          missing.add(packed);
        }
      }
    }
  }

  private static ClassLoader loader() {
    return Loader.class.getClassLoader();
  }
}
