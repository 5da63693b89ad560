package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import io.vertigrad.compute.GpuUse;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NvidiaManagementTest {

  @Test
  void shouldAddUpTheUseOfTheGpusThatAreAskedFor() {
    NvidiaManagement library = library(0);
    library.find(0);
    library.find(1);
    library.find(1);

    assertEquals(new GpuUse(0.30, 1_000), library.use(Set.of(0)));
    assertEquals(0.30 + 0.95, library.use(List.of(0, 1)).busy(), 1e-12);
    assertEquals(3_000, library.use(List.of(0, 1)).bytes());
    assertEquals(GpuUse.NONE, library.use(Set.of()));
  }

  @Test
  void shouldReportTheMemoryAloneOfAGpuWhoseTimeIsUnknown() {
    NvidiaManagement library = library(0);
    library.find(2);

    assertEquals(new GpuUse(0, 3_000), library.use(Set.of(2)));
  }

  @Test
  void shouldReportNothingWithoutTheLibraryOrForAGpuThatItDoesNotKnow() {
    NvidiaManagement missing =
        new NvidiaManagement(
            () -> {
              throw new UnsatisfiedLinkError("libnvidia-ml.so.1");
            },
            gpu -> "");
    NvidiaManagement refusing = library(9);
    NvidiaManagement unknown = library(0);
    missing.find(0);
    refusing.find(0);
    unknown.find(7);

    assertEquals(GpuUse.NONE, missing.use(Set.of(0)));
    assertEquals(GpuUse.NONE, refusing.use(Set.of(0)));
    assertEquals(GpuUse.NONE, unknown.use(Set.of(7)));
  }

  private static NvidiaManagement library(int initError) {
    return new NvidiaManagement(() -> new FakeLibrary(initError), gpu -> "0000:3" + gpu + ":00.0");
  }

  /** Three GPUs, whose pointers are their numbers from 1; the last one is a part of a GPU. */
  private record FakeLibrary(int initError) implements NvidiaManagement.Functions {

    private static final int[] PERCENT = {30, 95, 0};
    private static final int NOT_SUPPORTED = 3;
    private static final int NOT_FOUND = 6;

    @Override
    public int init() {
      return initError;
    }

    @Override
    public int device(String busAddress, PointerByReference device) {
      int gpu = busAddress.charAt(6) - '0';
      device.setValue(new Pointer(gpu + 1));
      return gpu < PERCENT.length ? 0 : NOT_FOUND;
    }

    @Override
    public int utilization(Pointer device, int[] percent) {
      int gpu = (int) Pointer.nativeValue(device) - 1;
      percent[0] = PERCENT[gpu];
      return gpu < 2 ? 0 : NOT_SUPPORTED;
    }

    @Override
    public int memory(Pointer device, long[] bytes) {
      bytes[0] = 80_000;
      bytes[2] = 1_000 * Pointer.nativeValue(device);
      bytes[1] = bytes[0] - bytes[2];
      return 0;
    }
  }
}
