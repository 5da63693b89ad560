package io.vertigrad.engine.pytorch;

import ai.djl.ndarray.NDList;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.engine.PtSymbolBlock;
import ai.djl.pytorch.jni.IValueUtils;
import ai.djl.pytorch.jni.JniUtils;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An operation of libtorch on two tensors that DJL's binding has no call for. Tensors may be on any
 * device.
 */
final class TensorFunction {

  private final PtSymbolBlock module;

  private TensorFunction(PtSymbolBlock module) {
    this.module = module;
  }

  /**
   * Creates the operation that copies the second tensor's values into the first one, which may be
   * on another device. Views of the first tensor see the values too.
   */
  static TensorFunction copy(PtNDManager owner) {
    return of("torch.copy_(a, b)", owner);
  }

  /**
   * Creates the operation that gives the first tensor the second one's memory. All references to
   * the first tensor see the change.
   */
  static TensorFunction replace(PtNDManager owner) {
    return of("torch.set_data(a, b)", owner);
  }

  private static TensorFunction of(String operation, PtNDManager owner) {
    Path file = null;
    try {
      file = Files.createTempFile("vertigrad-", ".pt");
      ScriptWriter.write(
          List.of(
              "def forward(self: __torch__.%s,".formatted(ScriptWriter.CLASS),
              "    a: Tensor,",
              "    b: Tensor) -> Tensor:",
              "  _0 = " + operation,
              "  return a"),
          file);
      return new TensorFunction(
          JniUtils.loadModule(owner, file, false, new String[0], new String[0], true));
    } catch (IOException e) {
      throw new IllegalStateException("libtorch's own operations could not be written", e);
    } finally {
      ScriptModule.delete(file);
    }
  }

  void apply(PtNDArray first, PtNDArray second) {
    IValueUtils.forward(module, new NDList(first, second), true).close();
  }
}
