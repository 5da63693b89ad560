package io.vertigrad.engine.dl4j;

import io.vertigrad.engine.dl4j.kernels.OneDnn;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.factory.Nd4jBackend.NoAvailableBackendException;
import org.nd4j.nativeblas.NativeOpsHolder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** ND4J's native library. It is started once per process, with settings for speed. */
final class Backend {

  private static final Logger LOG = LoggerFactory.getLogger(Backend.class);
  private static final String RELEASE = "/META-INF/maven/org.nd4j/nd4j-api/pom.properties";

  private static volatile Backend started;

  private final int threads;
  private final List<String> missing;
  private final boolean helpers;

  private Backend(int threads, List<String> missing, boolean helpers) {
    this.threads = threads;
    this.missing = missing;
    this.helpers = helpers;
  }

  /**
   * Returns the backend. The first call starts it.
   *
   * @param threads number of threads that one model may compute on; later calls use the first
   *     caller's number
   * @throws IllegalArgumentException with one sentence for the user when it cannot start
   */
  static synchronized Backend start(int threads) {
    if (started == null) {
      List<String> missing = NativeEnvironment.prepare(threads);
      load(threads);
      started = new Backend(threads, missing, ConvolutionCheck.helpersWork());
      started.report();
      NativeMemoryWatchdog.start();
    } else if (started.threads != threads) {
      LOG.warn(
          "dl4j computes on {} thread(s) per model since this process started, not on {}",
          started.threads,
          threads);
    }
    return started;
  }

  /** Returns true once the backend has started. Never waits for a start that is in progress. */
  static boolean running() {
    return started != null;
  }

  Map<String, String> describe() {
    Map<String, String> facts = new TreeMap<>();
    facts.put("backend", Nd4j.getBackend().getClass().getSimpleName());
    facts.put("nd4j", version());
    facts.put("helpers", helpers ? "oneDNN" : "none");
    facts.put("convolutions", convolutions());
    if (OneDnn.isAvailable()) {
      facts.put(
          "convolutionSpeed",
          "1.2 to 1.5 times that of engine pytorch, as measured with AVX-512"
              + " (docs/measurements/pytorch.md)");
    }
    facts.put("threads", Integer.toString(threads));
    facts.put("blasThreads", Integer.toString(Nd4j.factory().blas().getMaxThreads()));
    facts.put("blasKernels", String.valueOf(Processor.local().openBlasCore()));
    facts.put("missing", missing.isEmpty() ? "nothing" : String.join("; ", missing));
    return facts;
  }

  private String convolutions() {
    return OneDnn.isAvailable()
        ? "oneDNN, called directly for channels in multiples of 16"
        : "those of DL4J; with oneDNN's own library deep networks are up to twice as fast";
  }

  /** Reads the version that Maven wrote into ND4J's jar; the jar's manifest has none. */
  static String version() {
    Properties release = new Properties();
    try (InputStream in = Nd4j.class.getResourceAsStream(RELEASE)) {
      if (in != null) {
        release.load(in);
      }
    } catch (IOException e) {
      LOG.debug("{} cannot be read", RELEASE, e);
    }
    return release.getProperty("version", "unknown");
  }

  private static void load(int threads) {
    CudaDriver.obstacle()
        .ifPresent(
            obstacle -> {
              throw unavailable(obstacle, null);
            });
    try {
      Nd4j.getExecutioner();
      NativeOpsHolder.getInstance().getDeviceNativeOps().setOmpNumThreads(threads);
      Nd4j.factory().blas().setMaxThreads(threads);
      Nd4j.getEnvironment().setMaxThreads(threads);
      Nd4j.getEnvironment().setMaxMasterThreads(threads);
    } catch (LinkageError | RuntimeException e) {
      throw unavailable(e);
    }
  }

  /** Describes in one sentence why ND4J did not start. */
  static IllegalArgumentException unavailable(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      if (root instanceof NoAvailableBackendException) {
        break;
      }
      root = root.getCause();
    }
    String reason =
        root instanceof NoAvailableBackendException || root.getMessage() == null
            ? "no ND4J backend on the class path can run here"
            : root.getMessage().strip().lines().findFirst().orElse("unknown reason");
    return unavailable(reason, failure);
  }

  private static IllegalArgumentException unavailable(String reason, Throwable cause) {
    return new IllegalArgumentException(
        "engine dl4j cannot start: %s; a build with -Pcuda needs an NVIDIA GPU with CUDA 11.6, "
                .formatted(reason)
            + "build without -Pcuda to compute on the processor",
        cause);
  }

  private void report() {
    if (!missing.isEmpty()) {
      LOG.warn("dl4j runs without its fast settings: {}", String.join("; ", missing));
    }
    if (!helpers && Nd4j.getEnvironment().isCPU()) {
      LOG.warn("dl4j found no oneDNN: convolutions will be 3 to 11 times slower");
    }
  }
}
