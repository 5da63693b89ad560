package io.vertigrad.engine.pytorch;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import io.vertigrad.compute.GpuUse;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The use of GPUs according to NVIDIA's management library (NVML), which comes with the driver. It
 * numbers GPUs differently from CUDA, so a GPU is found by its address on the PCI bus.
 *
 * <p>Thread-safe.
 */
final class NvidiaManagement {

  /** The management library of this machine. */
  static final NvidiaManagement HERE =
      new NvidiaManagement(Library::new, gpu -> NvidiaDriver.load().busAddress(gpu));

  private static final Logger LOG = LoggerFactory.getLogger(NvidiaManagement.class);
  private static final double PERCENT = 100;

  private final Supplier<Functions> library;
  private final Function<Integer, String> busAddress;
  private final Map<Integer, Pointer> found = new ConcurrentHashMap<>();
  private Optional<Functions> functions;

  /**
   * Describes a management library that is loaded with the first GPU.
   *
   * @param library loads it, or throws an {@code UnsatisfiedLinkError}
   * @param busAddress returns the address of a GPU on the PCI bus, by its number in CUDA
   */
  NvidiaManagement(Supplier<Functions> library, Function<Integer, String> busAddress) {
    this.library = library;
    this.busAddress = busAddress;
  }

  /** The functions of the library that are called here; each returns an error, or 0. */
  interface Functions {

    int init();

    int device(String busAddress, PointerByReference device);

    /** Writes the shares of time in percent: computing, reading or writing its memory. */
    int utilization(Pointer device, int[] percent);

    /** Writes total, free and used memory. */
    int memory(Pointer device, long[] bytes);
  }

  /**
   * Finds a GPU, so that {@link #use} can read it; takes up to a second. Does nothing if the
   * library is missing or does not know the GPU.
   *
   * @param gpu its number in CUDA
   */
  synchronized void find(int gpu) {
    if (functions == null) {
      functions = load();
    }
    if (functions.isPresent() && !found.containsKey(gpu)) {
      PointerByReference device = new PointerByReference();
      int error = functions.get().device(busAddress.apply(gpu), device);
      if (error == 0) {
        found.put(gpu, device.getValue());
      } else {
        LOG.debug("the use of GPU {} stays unknown: NVML error {}", gpu, error);
      }
    }
  }

  private Optional<Functions> load() {
    try {
      Functions loaded = library.get();
      int error = loaded.init();
      if (error == 0) {
        return Optional.of(loaded);
      }
      LOG.debug("the use of GPUs stays unknown: NVML error {}", error);
    } catch (UnsatisfiedLinkError missing) {
      LOG.debug("the use of GPUs stays unknown", missing);
    }
    return Optional.empty();
  }

  /**
   * Returns the use of these GPUs, 0 for those that were not found. A part of a GPU (MIG) reports
   * its memory alone.
   *
   * @param gpus their numbers in CUDA
   */
  GpuUse use(Collection<Integer> gpus) {
    double busy = 0;
    long used = 0;
    for (int gpu : gpus) {
      Pointer device = found.get(gpu);
      if (device != null) {
        int[] percent = new int[2];
        long[] bytes = new long[3];
        busy += functions.get().utilization(device, percent) == 0 ? percent[0] / PERCENT : 0;
        used += functions.get().memory(device, bytes) == 0 ? bytes[2] : 0;
      }
    }
    return new GpuUse(busy, used);
  }

  /** NVIDIA's library. */
  private static final class Library implements Functions {

    private final NativeLibrary library =
        NativeLibrary.getInstance(Platform.isWindows() ? "nvml" : "libnvidia-ml.so.1");

    @Override
    public int init() {
      return call("nvmlInit_v2");
    }

    @Override
    public int device(String busAddress, PointerByReference device) {
      return call("nvmlDeviceGetHandleByPciBusId_v2", busAddress, device);
    }

    @Override
    public int utilization(Pointer device, int[] percent) {
      return call("nvmlDeviceGetUtilizationRates", device, percent);
    }

    @Override
    public int memory(Pointer device, long[] bytes) {
      return call("nvmlDeviceGetMemoryInfo", device, bytes);
    }

    private int call(String function, Object... arguments) {
      return library.getFunction(function).invokeInt(arguments);
    }
  }
}
