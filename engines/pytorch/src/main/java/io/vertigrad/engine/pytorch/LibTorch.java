package io.vertigrad.engine.pytorch;

import com.sun.jna.Function;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.NativeMemory;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.Context;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.global.torch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The native library of PyTorch, called through its JavaCPP presets. It is started once per
 * process, from the class path.
 */
final class LibTorch {

  private static final Logger LOG = LoggerFactory.getLogger(LibTorch.class);

  private static final String RELEASE = "META-INF/maven/org.bytedeco/pytorch/pom.properties";
  private static final String LOG_LEVEL = "FLAGS_caffe2_log_level";
  private static final int LOG_ERRORS = 2;
  private static final String NO_LIBRARY = "cannot open shared object file";

  /** System property that restricts cuDNN to algorithms that repeat bit for bit. */
  private static final String DETERMINISTIC = "vertigrad.deterministic";

  private static final String OPENBLAS = "libopenblas.so.0";
  private static final String BLAS_THREADS = "openblas_set_num_threads";
  private static final Path STATUS = Path.of("/proc/self/statm");
  private static final long PAGE = 4096;
  private static final int M_TRIM_THRESHOLD = -1;
  private static final int M_MMAP_THRESHOLD = -3;
  private static final int LARGEST_BLOCK = 1 << 30;

  private static volatile LibTorch started;
  private static Function blasThreads;

  // JavaCPP reads this when its first class is initialised. It keeps its own logger: through SLF4J
  // it logs two lines for each native object where the application's root logger is at DEBUG.
  static {
    // By default it fails allocations when the process has four times the heap's memory.
    setDefault("org.bytedeco.javacpp.maxphysicalbytes", "0");
  }

  private final int threads;
  private final int gpus;
  private final List<String> missing;

  private LibTorch(int threads, int gpus, List<String> missing) {
    this.threads = threads;
    this.gpus = gpus;
    this.missing = missing;
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
      int gpus = gpus();
      List<String> missing = keepFreedMemory();
      load(threads);
      started = new LibTorch(threads, gpus, missing);
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
   * Sets the number of threads that the calling thread computes on. libtorch keeps it per thread,
   * OpenBLAS, which computes its matrix products, per process.
   *
   * <p>Also switches the graph optimizer off. It speeds up the forward pass but slows the backward
   * pass by more (ResNet-20 takes a fifth longer with it), and it recompiles whenever the size of a
   * batch changes.
   */
  static void computeOn(int threads) {
    torch.set_num_threads(threads);
    if (blasThreads != null) {
      blasThreads.invokeVoid(new Object[] {threads});
    }
    torch.setGraphExecutorOptimize(false);
    GradMode.set_enabled(false);
  }

  /**
   * Returns the GPUs that the libtorch on the class path can use. The library need not have
   * started.
   */
  static Cuda cuda() {
    return new Cuda(NativeLibraries.forCuda(), NvidiaDriver::load);
  }

  /**
   * Returns the folder in which natives are unpacked.
   *
   * @throws IOException when no folder can be written
   */
  static Path cache() throws IOException {
    return NativeLibraries.folder();
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
  static Map<String, String> platform(Device device) {
    Map<String, String> facts = versions();
    if (device.gpu()) {
      facts.putAll(ofGpu(device));
    }
    return facts;
  }

  private static Map<String, String> ofGpu(Device device) {
    Map<String, String> facts = new TreeMap<>();
    try {
      Gpu gpu = cuda().check(device).get(0);
      facts.put("gpu", gpu.name());
      facts.put("capability", gpu.capability());
    } catch (IllegalArgumentException none) {
      LOG.debug("{} is not described", device, none);
    }
    NvidiaDriver.version().ifPresent(version -> facts.put("driver", version));
    return facts;
  }

  /** Returns the library's name and version, such as {@code libtorch 2.10.0 cuda 13.1}. */
  static String library() {
    Map<String, String> found = versions();
    return "libtorch %s %s"
        .formatted(found.get("libtorch"), found.getOrDefault("cuda", ""))
        .strip();
  }

  Map<String, String> describe() {
    Map<String, String> facts = versions();
    facts.put("backend", "libtorch " + facts.remove("libtorch"));
    if (gpus > 0) {
      NvidiaDriver.version().ifPresent(version -> facts.put("driver", version));
      for (Gpu gpu : cuda().gpus()) {
        facts.put(
            "cuda:" + gpu.number(), GpuCheck.HERE.obstacle(gpu).orElse(gpu.text() + ", computes"));
      }
    }
    facts.put("devices", gpus == 0 ? "processor" : "processor, " + Cuda.counted(gpus));
    facts.put("threads", Integer.toString(threads));
    facts.put("missing", missing.isEmpty() ? "nothing" : String.join("; ", missing));
    return facts;
  }

  /**
   * Returns the versions of libtorch and of the presets, as in {@code 2.10.0-1.5.13}, and if
   * libtorch has started, those of CUDA and cuDNN that it was built for.
   */
  private static Map<String, String> versions() {
    Properties release = new Properties();
    try (InputStream in = LibTorch.class.getClassLoader().getResourceAsStream(RELEASE)) {
      if (in != null) {
        release.load(in);
      }
    } catch (IOException e) {
      LOG.debug("{} cannot be read", RELEASE, e);
    }
    String[] parts = release.getProperty("version", "unknown").split("-", 2);
    Map<String, String> versions = new TreeMap<>();
    versions.put("libtorch", parts[0] + (NativeLibraries.forCuda() ? " cuda" : " cpu"));
    versions.put("presets", parts[parts.length - 1]);
    if (running() && NativeLibraries.forCuda()) {
      versions.put("cuda", version(Context.versionCUDART(), 1_000, 10));
      versions.put("cudnn", version(Context.versionCuDNN(), 10_000, 100));
    }
    return versions;
  }

  /** Returns for example 13.1 for 13010, of a thousand for each major and ten for each minor. */
  static String version(long number, int major, int minor) {
    return number / major + "." + number % major / minor;
  }

  /**
   * Returns the number of GPUs. Natives for CUDA cannot be loaded without a driver, even for the
   * processor.
   */
  private static int gpus() {
    Cuda cuda = cuda();
    try {
      return cuda.present() ? cuda.gpus().size() : 0;
    } catch (IllegalArgumentException none) {
      throw unavailable(none.getMessage(), none);
    }
  }

  private static void load(int threads) {
    if (!NativeLibraries.present()) {
      throw unavailable(
          "libtorch is not on the class path: put org.bytedeco:pytorch, openblas and javacpp with"
              + " the classifier %s there".formatted(Loader.getPlatform()),
          null);
    }
    try {
      NativeLibraries.unpack();
      Path binding = Path.of(Loader.load(torch.class));
      quieten(binding.resolveSibling(System.mapLibraryName("c10")));
      blasThreads = blasThreads(binding.resolveSibling(OPENBLAS));
      torch.set_num_threads(threads);
      computeInOneTask();
      if (Boolean.getBoolean(DETERMINISTIC)) {
        torch.globalContext().setDeterministicCuDNN(true);
      }
    } catch (IOException e) {
      throw unavailable(e.getMessage(), e);
    } catch (LinkageError | RuntimeException e) {
      throw unavailable(reason(root(e), NativeLibraries.forCuda()), e);
    }
  }

  /** Returns what went wrong, and what to do where a library of CUDA is missing. */
  static String reason(String failure, boolean cuda) {
    return cuda && failure.contains(NO_LIBRARY)
        ? failure
            + "; libtorch needs CUDA, cuDNN and NCCL: install NVIDIA's packages, or name their"
            + " folders in LD_LIBRARY_PATH"
        : failure;
  }

  /** Switches off the threads for tasks of a module that could run side by side. */
  private static void computeInOneTask() {
    try {
      torch.set_num_interop_threads(1);
    } catch (RuntimeException e) {
      LOG.debug("the application has used these threads already", e);
    }
  }

  /** Returns OpenBLAS's function that sets its number of threads, or null. */
  private static Function blasThreads(Path openBlas) {
    try {
      return NativeLibrary.getInstance(openBlas.toString()).getFunction(BLAS_THREADS);
    } catch (UnsatisfiedLinkError e) {
      LOG.debug("the threads of OpenBLAS cannot be set", e);
      return null;
    }
  }

  /** Limits libtorch's log to errors: it warns about some calls on standard error. */
  private static void quieten(Path core) {
    try {
      NativeLibrary.getInstance(core.toString())
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

  private static void setDefault(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }
}
