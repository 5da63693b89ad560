package io.vertigrad.engine.pytorch;

import ai.djl.Device;
import ai.djl.ndarray.NDManager;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.jni.JniUtils;
import ai.djl.pytorch.jni.LibUtils;
import ai.djl.util.Utils;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import io.vertigrad.compute.NativeMemory;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The native library of PyTorch. It is started once per process, from the class path and never from
 * the network: DJL would otherwise download a missing library and report its use.
 */
final class LibTorch {

  private static final Logger LOG = LoggerFactory.getLogger(LibTorch.class);

  private static final String NATIVES = "native/lib/pytorch.properties";
  private static final String BINDINGS = "jnilib/pytorch.properties";
  private static final String ENGINE = "pytorch-engine.properties";
  private static final String CORE = System.mapLibraryName("c10");
  private static final String LOG_LEVEL = "FLAGS_caffe2_log_level";
  private static final int LOG_ERRORS = 2;
  private static final Path STATUS = Path.of("/proc/self/statm");
  private static final long PAGE = 4096;
  private static final int M_TRIM_THRESHOLD = -1;
  private static final int M_MMAP_THRESHOLD = -3;
  private static final int LARGEST_BLOCK = 1 << 30;

  private static volatile LibTorch started;

  private final int threads;
  private final int gpus;
  private final List<String> missing;
  private final Properties engine;

  private LibTorch(int threads, int gpus, List<String> missing, Properties engine) {
    this.threads = threads;
    this.gpus = gpus;
    this.missing = missing;
    this.engine = engine;
  }

  /** The function of the C library that changes the running process. */
  private static final class CLibrary {

    static {
      Native.register(CLibrary.class, "c");
    }

    static native int mallopt(int parameter, int value);
  }

  /**
   * Returns the library. The first call starts it.
   *
   * @param threads number of threads that the caller's model may compute on
   * @throws IllegalArgumentException with one sentence for the user when it cannot start
   */
  static synchronized LibTorch start(int threads) {
    if (started == null) {
      Properties engine = properties(ENGINE);
      stayOffline(engine);
      setDefault("ai.djl.pytorch.num_interop_threads", "1");
      setDefault("ai.djl.pytorch.num_threads", Integer.toString(threads));
      int gpus = gpus();
      List<String> missing = keepFreedMemory();
      load();
      started = new LibTorch(threads, gpus, missing, engine);
      if (!missing.isEmpty()) {
        LOG.warn("pytorch runs without its fast settings: {}", String.join("; ", missing));
      }
    }
    return started;
  }

  /** Returns true once the library has started. Never waits for a start that is in progress. */
  static boolean running() {
    return started != null;
  }

  /**
   * Sets the number of threads that the calling thread computes on; libtorch keeps it per thread.
   *
   * <p>Also switches the graph optimizer off. It speeds up the forward pass but slows the backward
   * pass by more (ResNet-20 takes a fifth longer with it), and it recompiles whenever the size of a
   * batch changes.
   */
  static void computeOn(int threads) {
    JniUtils.setNumThreads(threads);
    JniUtils.setGraphExecutorOptimize(false);
    JniUtils.setGradMode(false);
  }

  /** Returns a new owner of native arrays on a device. Closing it frees them. */
  static PtNDManager manager(Device device) {
    return (PtNDManager) NDManager.newBaseManager(device, "PyTorch");
  }

  /**
   * Returns the GPUs that the libtorch on the class path can use. The library need not have
   * started.
   */
  static Cuda cuda() {
    return new Cuda(properties(NATIVES), cache());
  }

  /** Returns the folder in which natives are unpacked. */
  static Path cache() {
    return Utils.getEngineCacheDir("pytorch");
  }

  /**
   * Returns the physical memory of the process; libtorch does not report the size of its arrays.
   */
  static NativeMemory memory() {
    try {
      long pages = Long.parseLong(Files.readString(STATUS).split(" ")[1]);
      return new NativeMemory(0, pages * PAGE);
    } catch (IOException | RuntimeException e) {
      return NativeMemory.UNKNOWN;
    }
  }

  /** Returns the versions on the class path and, for a GPU, its name and driver. Starts nothing. */
  static Map<String, String> platform(io.vertigrad.compute.Device device) {
    Map<String, String> facts = new TreeMap<>();
    facts.put("libtorch", version());
    facts.put("djl", properties(ENGINE).getProperty("djl_version", "unknown"));
    if (device.gpu()) {
      facts.putAll(GpuName.of(device.number().orElse(0)));
    }
    return facts;
  }

  private static String version() {
    if (System.getenv("PYTORCH_LIBRARY_PATH") != null) {
      return "of PYTORCH_LIBRARY_PATH";
    }
    Properties natives = properties(NATIVES);
    return "%s %s"
        .formatted(
            natives.getProperty("version", "unknown").replaceFirst("-.*", ""),
            natives.getProperty("flavor", ""))
        .strip();
  }

  Map<String, String> describe() {
    Map<String, String> facts = new TreeMap<>();
    facts.put("backend", "libtorch " + properties(NATIVES).getProperty("version", "unknown"));
    facts.put("djl", engine.getProperty("djl_version", "unknown"));
    facts.put("devices", gpus == 0 ? "processor" : "processor, " + Cuda.counted(gpus));
    facts.put("threads", Integer.toString(threads));
    facts.put("missing", missing.isEmpty() ? "nothing" : String.join("; ", missing));
    return facts;
  }

  /** Checks that all natives are on the class path in matching versions, and keeps DJL offline. */
  private static void stayOffline(Properties engine) {
    System.setProperty("ai.djl.offline", "true");
    System.setProperty("OPT_OUT_TRACKING", "true");
    String version = engine.getProperty("pytorch_version", "");
    String asked = System.getenv("PYTORCH_VERSION");
    if (asked != null && !asked.isEmpty() && !version.startsWith(asked)) {
      throw unavailable(
          "the environment variable PYTORCH_VERSION is %s, expected %s: unset it"
              .formatted(asked, version),
          null);
    }
    if (System.getenv("PYTORCH_LIBRARY_PATH") == null) {
      String natives = properties(NATIVES).getProperty("version", "none");
      if (!natives.startsWith(version)) {
        throw unavailable(
            "libtorch on the class path is %s, expected %s: put ai.djl.pytorch:pytorch-native-cpu there"
                .formatted(natives, version),
            null);
      }
    }
    String bindings = properties(BINDINGS).getProperty("jni_version", "none");
    String expected = version + "-" + engine.getProperty("djl_version");
    if (!bindings.startsWith(expected)) {
      throw unavailable(
          "ai.djl.pytorch:pytorch-jni on the class path is %s, expected %s"
              .formatted(bindings, expected),
          null);
    }
  }

  /**
   * Returns the number of GPUs. Natives for CUDA cannot be loaded without a driver, even for the
   * processor.
   */
  private static int gpus() {
    Cuda cuda = cuda();
    try {
      return cuda.present() ? cuda.count() : 0;
    } catch (IllegalArgumentException none) {
      throw unavailable(none.getMessage(), none);
    }
  }

  /**
   * Loads the natives. Processes do it one after another: the first unpacks the natives for the
   * others.
   */
  private static void load() {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(LibTorch.class.getClassLoader());
    try {
      Path folder = cache();
      Files.createDirectories(folder);
      try (FileChannel file =
              FileChannel.open(
                  folder.resolve("vertigrad.lock"),
                  StandardOpenOption.CREATE,
                  StandardOpenOption.WRITE);
          FileLock alone = file.lock()) {
        LOG.debug("libtorch in {}, lock {}", folder, alone);
        manager(Device.cpu()).close();
        quieten();
      }
    } catch (IOException | LinkageError | RuntimeException e) {
      throw unavailable(root(e), e);
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  /**
   * Limits libtorch's log to errors: DJL's binding makes calls that libtorch warns about on
   * standard error.
   */
  private static void quieten() {
    try {
      NativeLibrary.getInstance(Path.of(LibUtils.getLibtorchPath(), CORE).toString())
          .getGlobalVariableAddress(LOG_LEVEL)
          .setInt(0, LOG_ERRORS);
    } catch (UnsatisfiedLinkError e) {
      LOG.debug("libtorch's warnings cannot be turned off", e);
    }
  }

  private static IllegalArgumentException unavailable(String reason, Throwable cause) {
    return new IllegalArgumentException("engine pytorch cannot start: " + reason, cause);
  }

  private static String root(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String message = root.getMessage();
    return message == null || message.isBlank()
        ? root.toString()
        : message.strip().lines().findFirst().orElse(message);
  }

  /**
   * Makes the C library keep freed memory: returning large blocks to the system costs page faults
   * at every step.
   */
  private static List<String> keepFreedMemory() {
    List<String> missing = new ArrayList<>();
    if (!Platform.isLinux() || System.getenv("MALLOC_MMAP_THRESHOLD_") != null) {
      return missing;
    }
    try {
      boolean kept =
          CLibrary.mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK) == 1
              && CLibrary.mallopt(M_TRIM_THRESHOLD, Integer.MAX_VALUE) == 1;
      if (!kept) {
        missing.add("mallopt was refused (deep networks up to a third slower)");
      }
    } catch (UnsatisfiedLinkError e) {
      missing.add("the C library refused (" + e.getMessage() + ")");
    }
    return missing;
  }

  private static Properties properties(String resource) {
    Properties found = new Properties();
    URL url = LibTorch.class.getClassLoader().getResource(resource);
    if (url != null) {
      try (InputStream in = url.openStream()) {
        found.load(in);
      } catch (IOException e) {
        LOG.debug("{} cannot be read", url, e);
      }
    }
    return found;
  }

  private static void setDefault(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }
}
