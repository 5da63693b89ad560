package io.vertigrad.engine.pytorch;

import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * A position on the default stream of a GPU, on which libtorch computes. It comes from NVIDIA's
 * driver, because the presets' class needs those of CUDA on the class path. Any thread may use it;
 * not run on a GPU so far.
 */
final class CudaEvent implements AutoCloseable {

  private static final int WITHOUT_TIMES = 2;
  private static final Pointer DEFAULT_STREAM = Pointer.NULL;

  private final NativeLibrary driver = NativeLibrary.getInstance(GpuName.DRIVER);
  private final int gpu;
  private final int device;
  private final Pointer context;
  private final Pointer event;

  /**
   * Creates an event that has passed.
   *
   * @param gpu number of the GPU, which libtorch uses
   */
  CudaEvent(int gpu) {
    this.gpu = gpu;
    int[] found = new int[1];
    call("cuDeviceGet", found, gpu);
    this.device = found[0];
    PointerByReference used = new PointerByReference();
    call("cuDevicePrimaryCtxRetain", used, device);
    this.context = used.getValue();
    PointerByReference created = new PointerByReference();
    inContext(() -> call("cuEventCreate", created, WITHOUT_TIMES));
    this.event = created.getValue();
  }

  /** Moves the event behind all operations that were started on the GPU so far. */
  void record() {
    inContext(() -> call("cuEventRecord", event, DEFAULT_STREAM));
  }

  /** Waits until the GPU has executed everything before the event. */
  void await() {
    inContext(() -> call("cuEventSynchronize", event));
  }

  @Override
  public void close() {
    inContext(() -> call("cuEventDestroy_v2", event));
    call("cuDevicePrimaryCtxRelease_v2", device);
  }

  /** Calls with the GPU's context, which libtorch shares, in place of the thread's own. */
  private void inContext(Runnable calls) {
    call("cuCtxPushCurrent_v2", context);
    try {
      calls.run();
    } finally {
      call("cuCtxPopCurrent_v2", new PointerByReference());
    }
  }

  private void call(String function, Object... arguments) {
    int error = driver.getFunction(function).invokeInt(arguments);
    if (error != 0) {
      throw new IllegalStateException(
          "GPU %d: %s failed: %s".formatted(gpu, function, Cuda.reason(driver, error)));
    }
  }
}
