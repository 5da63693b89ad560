package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Gives batches to a module. On the processor a module reads them in Java's memory. On a GPU each
 * batch is one copy of features and targets, from two page-locked buffers in turn, so that the next
 * batch can be written while the last one is copied. Belongs to the model's thread.
 */
final class BatchInput implements AutoCloseable {

  /**
   * A batch for a module.
   *
   * @param features of all samples
   * @param targets classes of int64 in one column, or labels or values of float32 in one column for
   *     each output; null where the loss is computed in Java
   */
  record Tensors(Tensor features, Tensor targets) {}

  private final Place place;
  private final ScalarType type;
  private final Slot[] slots;
  private int turn;

  /** A buffer for a batch, and the mark behind its last copy. */
  private static final class Slot {

    private final Transfers.Mark copied;
    private Transfers.HostMemory memory;
    private Batch written;

    Slot(Transfers transfers) {
      copied = transfers.new Mark(false);
      memory = transfers.hostMemory(ScalarType.Byte, 0);
    }
  }

  /**
   * Creates an input without batches.
   *
   * @param place of the module
   * @param type of the numbers that the module takes: float32, or int64 for ids of tokens
   */
  BatchInput(Place place, ScalarType type) {
    this.place = place;
    this.type = type;
    this.slots = new Slot[place.isShared() ? 1 : 2];
    for (int i = 0; i < slots.length; i++) {
      slots[i] = new Slot(place.transfers());
    }
  }

  /** Writes a batch that {@link #take} will return next. */
  void write(Batch batch) {
    Slot slot = slots[turn];
    int features = featureBytes(batch);
    int targets = targetBytes(batch);
    int length = Math.addExact(features, targets);
    slot.copied.await();
    if (slot.memory.bytes().capacity() < length) {
      slot.memory.close();
      slot.memory = place.transfers().hostMemory(ScalarType.Byte, length);
    }
    ByteBuffer bytes = slot.memory.bytes();
    if (type == ScalarType.Long) {
      putAsLong(batch.features(), bytes.asLongBuffer());
    } else {
      bytes.asFloatBuffer().put(batch.features());
    }
    if (targets > 0) {
      ByteBuffer rest = bytes.slice(features, targets).order(bytes.order());
      LongBuffer labels = rest.asLongBuffer();
      for (int label : batch.labels()) {
        labels.put(label);
      }
      rest.position(labels.position() * Long.BYTES);
      rest.slice().order(bytes.order()).asFloatBuffer().put(batch.targets());
    }
    slot.written = batch;
  }

  private static void putAsLong(float[] values, LongBuffer destination) {
    for (float value : values) {
      destination.put((long) value);
    }
  }

  /**
   * Returns a batch for the module, after writing it if it was not written. The tensors belong to
   * the innermost {@code PointerScope}.
   *
   * @param shape of all samples as the module takes them
   */
  Tensors take(Batch batch, long... shape) {
    Slot slot = slots[turn];
    if (slot.written != batch) {
      write(batch);
    }
    slot.written = null;
    turn = (turn + 1) % slots.length;
    int features = featureBytes(batch);
    int targets = targetBytes(batch);
    if (place.isShared() && targets == 0) {
      return new Tensors(TensorBuffers.tensor(slot.memory.bytes(), type, shape), null);
    }
    Tensor whole = onDevice(slot, features + targets);
    long values = (long) batch.features().length * torch.elementSize(type);
    return new Tensors(
        whole.narrow(0, 0, values).view(type).view(shape),
        targets == 0 ? null : targets(batch, whole.narrow(0, features, targets)));
  }

  private static Tensor targets(Batch batch, Tensor bytes) {
    return batch.labels().length > 0
        ? bytes.view(ScalarType.Long).view(-1, 1)
        : bytes.view(ScalarType.Float).view(batch.count(), -1);
  }

  private Tensor onDevice(Slot slot, int length) {
    Tensor here = slot.memory.tensor().narrow(0, 0, length);
    if (place.isShared()) {
      return here;
    }
    DeviceOptional device = new DeviceOptional(place.device());
    TensorOptions options = new TensorOptions(ScalarType.Byte).device(device);
    Tensor there = torch.empty(new long[] {length}, options, new MemoryFormatOptional());
    place.transfers().up(there, here);
    slot.copied.set();
    return there;
  }

  /** Returns the length of the features, padded so that the targets are aligned. */
  private int featureBytes(Batch batch) {
    int bytes = Math.multiplyExact(batch.features().length, (int) torch.elementSize(type));
    return Math.addExact(bytes, Math.floorMod(-bytes, Long.BYTES));
  }

  private int targetBytes(Batch batch) {
    if (!place.hasTensorLosses()) {
      return 0;
    }
    return Math.addExact(
        Math.multiplyExact(batch.labels().length, Long.BYTES),
        Math.multiplyExact(batch.targets().length, Float.BYTES));
  }

  @Override
  public void close() {
    for (Slot slot : slots) {
      slot.copied.close();
      slot.memory.close();
    }
  }
}
