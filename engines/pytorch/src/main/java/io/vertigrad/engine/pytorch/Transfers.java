package io.vertigrad.engine.pytorch;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The copies of parameters, gradients, batches and losses between Java's memory and a device that
 * Java cannot read, and the waits for them. {@link TensorBuffers#values} copies the outputs and
 * gradients of pipeline stages, and outputs for Java's losses: it waits, and is not counted.
 *
 * <p>A copy does not wait. The device executes it after the operations that were started before. It
 * has ended when a {@link Mark} that was set after it has been awaited.
 *
 * <p>A step beside a server has four copies and two waits. Up go the parameters and the batch with
 * its targets. Down come the loss with the counts, for which Java waits while the backward pass may
 * still run, and the gradient with the statistics' differences. A gradient that Java does not read
 * is not copied. A test has one copy up, one down and one wait.
 */
final class Transfers {

  private static final Logger LOG = LoggerFactory.getLogger(Transfers.class);
  private static final AtomicBoolean WARNED = new AtomicBoolean();

  private final Place place;
  private volatile Counts counts = new Counts(0, 0, 0);
  private long marks;
  private long passed;

  /**
   * The transfers of one device so far.
   *
   * @param up copies to the device
   * @param down copies from the device
   * @param waits waits for the device
   */
  record Counts(long up, long down, long waits) {

    Counts plus(int moreUp, int moreDown, int moreWaits) {
      return new Counts(up + moreUp, down + moreDown, waits + moreWaits);
    }
  }

  /**
   * Memory of the processor, both as a buffer and as a tensor. The device reads and writes it
   * without another copy if it is page-locked.
   *
   * @param bytes in native order; not to be used after {@link #close}
   */
  record HostMemory(ByteBuffer bytes, Tensor tensor) implements AutoCloseable {

    @Override
    public void close() {
      tensor.close();
    }
  }

  /** Creates the transfers of a place, which have not begun. */
  Transfers(Place place) {
    this.place = place;
  }

  /** Returns the number of transfers so far; any thread. */
  Counts counts() {
    return counts;
  }

  /** Returns memory of zeros, page-locked for a GPU if that is possible. */
  @SuppressWarnings("try")
  HostMemory hostMemory(ScalarType type, int elements) {
    int bytes = Math.multiplyExact(elements, Math.toIntExact(torch.elementSize(type)));
    try (PointerScope temporary = new PointerScope()) {
      if (place.isGpu() && bytes > 0) {
        try {
          return locked(type, elements, bytes);
        } catch (RuntimeException e) {
          warn(bytes, new TorchException(e));
        }
      }
      ByteBuffer buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
      return new HostMemory(buffer, TensorBuffers.tensor(buffer, type, elements).retainReference());
    }
  }

  private static HostMemory locked(ScalarType type, int elements, int bytes) {
    TensorOptions options = new TensorOptions(type).pinned_memory(new BoolOptional(true));
    Tensor tensor = torch.zeros(new long[] {elements}, options);
    BytePointer start = new BytePointer(tensor.data_ptr()).capacity(bytes);
    return new HostMemory(
        start.asByteBuffer().order(ByteOrder.nativeOrder()), tensor.retainReference());
  }

  private static void warn(int bytes, TorchException e) {
    if (WARNED.compareAndSet(false, true)) {
      LOG.warn(
          "{} bytes of page-locked memory are not available ({}): copies from and to the GPU are"
              + " slower. Free memory of this machine, or run fewer workers on it",
          bytes,
          e.getMessage());
    }
  }

  /** Starts a copy to the device. The source must not change before a mark behind it has passed. */
  void up(Tensor there, Tensor here) {
    there.copy_(here, true);
    count(1, 0, 0);
  }

  /** Starts a copy from the device, which is complete when a mark behind it has passed. */
  void down(Tensor here, Tensor there) {
    here.copy_(there, true);
    count(0, 1, 0);
  }

  /** Copies from the device and waits for it. */
  float[] read(Tensor there) {
    long before = lastMark();
    float[] values = new float[Math.toIntExact(there.numel())];
    TensorBuffers.values(there).get(values);
    count(0, 1, 0);
    pass(before);
    return values;
  }

  private synchronized void count(int up, int down, int waits) {
    counts = counts.plus(up, down, waits);
  }

  private synchronized long nextMark() {
    return ++marks;
  }

  private synchronized long lastMark() {
    return marks;
  }

  private synchronized boolean hasPassed(long mark) {
    return mark <= passed;
  }

  private synchronized void pass(long mark) {
    passed = Math.max(passed, mark);
    count(0, 0, 1);
  }

  /**
   * A position in the order in which the device executes operations. On the processor operations
   * have ended when they return.
   */
  final class Mark implements AutoCloseable {

    private final boolean exact;
    private CudaEvent event;
    private long number;

    /**
     * Creates a mark that has passed.
     *
     * @param exact whether {@link #await} does not wait for operations that were started after the
     *     mark was set
     */
    Mark(boolean exact) {
      this.exact = exact;
    }

    /** Sets the mark behind all operations that were started so far. */
    void set() {
      number = nextMark();
      if (exact && place.isGpu()) {
        event().record();
      }
    }

    /**
     * Waits until the device has executed everything before the mark. Returns at once if a later
     * mark has been awaited.
     */
    void await() {
      if (hasPassed(number)) {
        return;
      }
      long reached = exact ? number : lastMark();
      if (place.isGpu()) {
        if (!exact) {
          event().record();
        }
        event().await();
      }
      pass(reached);
    }

    private CudaEvent event() {
      if (event == null) {
        event = new CudaEvent(place.gpu());
      }
      return event;
    }

    @Override
    public void close() {
      if (event != null) {
        event.close();
      }
    }
  }
}
