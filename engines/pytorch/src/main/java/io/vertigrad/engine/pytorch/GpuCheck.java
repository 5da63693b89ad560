package io.vertigrad.engine.pytorch;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;

/**
 * Checks that libtorch can compute on a GPU, by one small operation. A card that is older or newer
 * than libtorch is found by the driver, and fails only at the first operation.
 *
 * <p>Thread-safe. The first operation of a process on a GPU takes a second and 0.5 GiB of it.
 */
final class GpuCheck {

  private static final Pattern NO_CODE =
      Pattern.compile(
          "no kernel image|ARCH_MISMATCH|unsupported toolchain|invalid device function");

  private static final String ADVICE =
      "choose another version of it (docs/guide/pytorch.md#on-a-gpu), hide the GPU with"
          + " CUDA_VISIBLE_DEVICES, or leave workers.device out";

  private static final String FULL =
      "end another process that uses it, or choose another GPU by workers.device";

  /** The check of this process. */
  static final GpuCheck HERE = new GpuCheck(GpuCheck::compute, LibTorch.library());

  private final IntConsumer operation;
  private final String library;
  private final Set<Integer> usable = new HashSet<>();

  /**
   * Creates a check.
   *
   * @param operation computes on the GPU of a number and waits for the result
   * @param library name and versions, such as {@code libtorch 2.10.0 cuda 13.1}
   */
  GpuCheck(IntConsumer operation, String library) {
    this.operation = operation;
    this.library = library;
  }

  /** Computes a matrix product, with code of libtorch and of cuBLAS. */
  @SuppressWarnings("try")
  private static void compute(int gpu) {
    try (PointerScope temporary = new PointerScope()) {
      Device device = new Device(DeviceType.CUDA, (byte) gpu);
      Tensor ones = torch.ones(new long[] {2, 2}, new TensorOptions(device));
      ones.mm(ones).item();
    }
  }

  /**
   * Checks all of these GPUs.
   *
   * @throws IllegalArgumentException with the first obstacle
   */
  void require(List<Gpu> gpus) {
    gpus.forEach(
        gpu ->
            obstacle(gpu)
                .ifPresent(
                    obstacle -> {
                      throw new IllegalArgumentException(obstacle);
                    }));
  }

  /** Returns why libtorch cannot compute on a GPU, and what to do; empty if it can. */
  synchronized Optional<String> obstacle(Gpu gpu) {
    if (usable.contains(gpu.number())) {
      return Optional.empty();
    }
    try {
      operation.accept(gpu.number());
      usable.add(gpu.number());
      return Optional.empty();
    } catch (RuntimeException e) {
      return Optional.of(reason(gpu, e));
    }
  }

  private String reason(Gpu gpu, RuntimeException failure) {
    String name = "GPU %s is %s, and %s".formatted(gpu.number(), gpu.text(), library);
    RuntimeException shortage =
        MemoryShortage.explained(
            failure, name + " finds no room on it", GpuModels.HERE.on(gpu.number()), FULL);
    if (shortage != failure) {
      return shortage.getMessage();
    }
    String message = String.valueOf(failure.getMessage()).strip();
    String reason =
        NO_CODE.matcher(message).find()
            ? "has no code for it"
            : "cannot compute on it (%s)".formatted(message.lines().findFirst().orElse(""));
    return "%s %s: %s".formatted(name, reason, ADVICE);
  }
}
