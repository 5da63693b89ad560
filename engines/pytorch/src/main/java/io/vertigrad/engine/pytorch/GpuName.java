package io.vertigrad.engine.pytorch;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The name of a GPU and the version of its driver, as NVIDIA's driver gives them. */
final class GpuName {

  private static final Logger LOG = LoggerFactory.getLogger(GpuName.class);
  static final String DRIVER = "libcuda.so.1";
  private static final Path DRIVER_VERSION = Path.of("/proc/driver/nvidia/version");
  private static final Pattern VERSION =
      Pattern.compile("Kernel Module.*?\\s(\\d+\\.\\d+(?:\\.\\d+)?)\\b");
  private static final int NAME_BYTES = 256;

  private GpuName() {}

  /** Returns {@code gpu} and {@code driver}, each if the machine names it. */
  static Map<String, String> of(int number) {
    Map<String, String> found = new TreeMap<>();
    name(number).ifPresent(name -> found.put("gpu", name));
    try {
      driver(Files.readString(DRIVER_VERSION)).ifPresent(one -> found.put("driver", one));
    } catch (IOException e) {
      LOG.debug("{} cannot be read", DRIVER_VERSION, e);
    }
    return found;
  }

  private static Optional<String> name(int number) {
    try {
      NativeLibrary driver = NativeLibrary.getInstance(DRIVER);
      int[] device = new int[1];
      byte[] name = new byte[NAME_BYTES];
      boolean known =
          driver.getFunction("cuInit").invokeInt(new Object[] {0}) == 0
              && driver.getFunction("cuDeviceGet").invokeInt(new Object[] {device, number}) == 0
              && driver
                      .getFunction("cuDeviceGetName")
                      .invokeInt(new Object[] {name, name.length, device[0]})
                  == 0;
      return known ? Optional.of(Native.toString(name)) : Optional.empty();
    } catch (UnsatisfiedLinkError none) {
      return Optional.empty();
    }
  }

  /** Returns the version in the text that the driver's kernel module gives. */
  static Optional<String> driver(String text) {
    Matcher found = VERSION.matcher(text);
    return found.find() ? Optional.of(found.group(1)) : Optional.empty();
  }
}
