package io.vertigrad.engine.pytorch;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import com.sun.jna.ptr.PointerByReference;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * NVIDIA's driver. It knows the GPUs of this machine before any library of CUDA is loaded, and
 * takes no memory of a GPU to describe it.
 */
final class NvidiaDriver {

  /** Name of the driver's library. */
  static final String LIBRARY = Platform.isWindows() ? "nvcuda" : "libcuda.so.1";

  private static final Logger LOG = LoggerFactory.getLogger(NvidiaDriver.class);
  private static final Path VERSION_FILE = Path.of("/proc/driver/nvidia/version");
  private static final Pattern VERSION =
      Pattern.compile("Kernel Module.*?\\s(\\d+\\.\\d+(?:\\.\\d+)?)\\b");
  private static final int CAPABILITY_MAJOR = 75;
  private static final int CAPABILITY_MINOR = 76;
  private static final int NAME_BYTES = 256;

  private final Functions functions;

  NvidiaDriver(Functions functions) {
    this.functions = functions;
  }

  /** The functions of the driver that are called here; each returns an error, or 0. */
  interface Functions {

    int init();

    int count(int[] count);

    int name(byte[] name, int gpu);

    int attribute(int[] value, int attribute, int gpu);

    int totalMemory(long[] bytes, int gpu);

    int busAddress(byte[] address, int gpu);

    /** Returns the driver's text for an error. */
    String error(int number);
  }

  /**
   * Returns this machine's driver.
   *
   * @throws UnsatisfiedLinkError if there is none
   */
  static NvidiaDriver load() {
    return new NvidiaDriver(new Library());
  }

  /**
   * Returns the GPUs that {@code CUDA_VISIBLE_DEVICES} leaves.
   *
   * @return in CUDA's order
   * @throws IllegalStateException with the driver's error
   */
  List<Gpu> gpus() {
    int[] count = new int[1];
    int error = functions.init();
    error = error == 0 ? functions.count(count) : error;
    if (error != 0) {
      throw new IllegalStateException(functions.error(error));
    }
    List<Gpu> found = new ArrayList<>();
    for (int gpu = 0; gpu < count[0]; gpu++) {
      found.add(gpu(gpu));
    }
    return found;
  }

  /** Returns the address of a GPU on the PCI bus, such as {@code 0000:3b:00.0}. */
  String busAddress(int gpu) {
    byte[] address = new byte[NAME_BYTES];
    functions.busAddress(address, gpu);
    return Native.toString(address);
  }

  /** Returns the driver's text for the error of a call. */
  String error(int number) {
    return functions.error(number);
  }

  private Gpu gpu(int number) {
    byte[] name = new byte[NAME_BYTES];
    int[] major = new int[1];
    int[] minor = new int[1];
    long[] bytes = new long[1];
    String known = functions.name(name, number) == 0 ? Native.toString(name) : "unknown GPU";
    functions.attribute(major, CAPABILITY_MAJOR, number);
    functions.attribute(minor, CAPABILITY_MINOR, number);
    functions.totalMemory(bytes, number);
    return new Gpu(number, known, major[0], minor[0], bytes[0]);
  }

  /** Returns the driver's version, such as {@code 580.65.06}, if Linux names it. */
  static Optional<String> version() {
    try {
      return version(Files.readString(VERSION_FILE));
    } catch (IOException e) {
      LOG.debug("{} cannot be read", VERSION_FILE, e);
      return Optional.empty();
    }
  }

  /** Returns the version in the text that the driver's kernel module gives. */
  static Optional<String> version(String text) {
    Matcher found = VERSION.matcher(text);
    return found.find() ? Optional.of(found.group(1)) : Optional.empty();
  }

  /** The driver's library. */
  private static final class Library implements Functions {

    private final NativeLibrary library = NativeLibrary.getInstance(LIBRARY);

    @Override
    public int init() {
      return call("cuInit", 0);
    }

    @Override
    public int count(int[] count) {
      return call("cuDeviceGetCount", count);
    }

    @Override
    public int name(byte[] name, int gpu) {
      return call("cuDeviceGetName", name, name.length, handle(gpu));
    }

    @Override
    public int attribute(int[] value, int attribute, int gpu) {
      return call("cuDeviceGetAttribute", value, attribute, handle(gpu));
    }

    @Override
    public int totalMemory(long[] bytes, int gpu) {
      return call("cuDeviceTotalMem_v2", bytes, handle(gpu));
    }

    @Override
    public int busAddress(byte[] address, int gpu) {
      return call("cuDeviceGetPCIBusId", address, address.length, handle(gpu));
    }

    @Override
    public String error(int number) {
      PointerByReference text = new PointerByReference();
      boolean known = call("cuGetErrorString", number, text) == 0;
      return known ? text.getValue().getString(0) : "CUDA error " + number;
    }

    private int handle(int gpu) {
      int[] handle = new int[1];
      return call("cuDeviceGet", handle, gpu) == 0 ? handle[0] : gpu;
    }

    private int call(String function, Object... arguments) {
      return library.getFunction(function).invokeInt(arguments);
    }
  }
}
