package io.vertigrad.engine.pytorch;

import com.sun.jna.Native;

/**
 * A position on the default stream of a GPU, on which libtorch computes. It comes from NVIDIA's
 * driver, because the presets' class needs those of CUDA on the class path. Any thread may use it;
 * not run on a GPU so far.
 */
final class CudaEvent implements AutoCloseable {

  private static final int WITHOUT_TIMES = 2;
  private static final long DEFAULT_STREAM = 0;

  private final int gpu;
  private final int device;
  private final long context;
  private final long event;

  /** Functions of the driver, which are called several times in a step; pointers are numbers. */
  private static final class Driver {

    static {
      Native.register(Driver.class, NvidiaDriver.LIBRARY);
    }

    static native int cuDeviceGet(int[] device, int number);

    static native int cuDevicePrimaryCtxRetain(long[] context, int device);

    static native int cuDevicePrimaryCtxRelease_v2(int device);

    static native int cuCtxPushCurrent_v2(long context);

    static native int cuCtxPopCurrent_v2(long[] context);

    static native int cuEventCreate(long[] event, int flags);

    static native int cuEventRecord(long event, long stream);

    static native int cuEventSynchronize(long event);

    static native int cuEventDestroy_v2(long event);
  }

  /**
   * Creates an event that has passed.
   *
   * @param gpu number of the GPU, which libtorch uses
   */
  CudaEvent(int gpu) {
    this.gpu = gpu;
    int[] number = new int[1];
    check("find the device", Driver.cuDeviceGet(number, gpu));
    this.device = number[0];
    long[] found = new long[1];
    check("share libtorch's context", Driver.cuDevicePrimaryCtxRetain(found, device));
    this.context = found[0];
    enter();
    int error = Driver.cuEventCreate(found, WITHOUT_TIMES);
    leave("create an event", error);
    this.event = found[0];
  }

  /** Moves the event behind all operations that were started on the GPU so far. */
  void record() {
    enter();
    leave("record an event", Driver.cuEventRecord(event, DEFAULT_STREAM));
  }

  /** Waits until the GPU has executed everything before the event. */
  void await() {
    enter();
    leave("execute what was started", Driver.cuEventSynchronize(event));
  }

  /** Releases the event. After an error of the GPU nothing is left to release. */
  @Override
  public void close() {
    if (Driver.cuCtxPushCurrent_v2(context) == 0) {
      Driver.cuEventDestroy_v2(event);
      Driver.cuCtxPopCurrent_v2(new long[1]);
    }
    Driver.cuDevicePrimaryCtxRelease_v2(device);
  }

  /** Makes the GPU's context, which libtorch shares, that of this thread. */
  private void enter() {
    check("use libtorch's context", Driver.cuCtxPushCurrent_v2(context));
  }

  /** Gives the thread its own context back, and then looks at the error of a call before. */
  private void leave(String attempt, int error) {
    int own = Driver.cuCtxPopCurrent_v2(new long[1]);
    check(attempt, error);
    check("leave libtorch's context", own);
  }

  private void check(String attempt, int error) {
    if (error != 0) {
      String reason = NvidiaDriver.load().error(error);
      throw new IllegalStateException("GPU %s failed to %s: %s".formatted(gpu, attempt, reason));
    }
  }
}
