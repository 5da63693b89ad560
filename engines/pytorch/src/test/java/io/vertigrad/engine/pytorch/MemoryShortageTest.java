package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.pipeline.SplitConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryShortageTest {

  private static final String WORK = "model resnet20, batch of 1024 samples";

  /** libtorch's text for version 2.10, with the trace of a TorchScript module before it. */
  private static final String GPU =
      """
      The following operation failed in the TorchScript interpreter.
      Traceback of TorchScript, serialized code (most recent call last):
      RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of \
      79.10 GiB of which 1.20 GiB is free. Process 4242 has 10.00 GiB memory in use. Including \
      non-PyTorch memory, this process has 67.90 GiB memory in use. Of the allocated memory 60.00 \
      GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.
      """;

  @TempDir private Path folder;

  @Test
  void shouldNameWhatTheGpuHasAndWhoUsesIt() {
    assertEquals(
        WORK
            + ": GPU 1 has 1.20 GiB of its 79.10 GiB free, expected 2.00 GiB more, and is used by"
            + " this process with resnet20, resnet20 and by process 4242 with 10.00 GiB; lower"
            + " workers.batch, start fewer workers on this GPU, or set model.precision to bfloat16",
        explained(GPU, Precision.FLOAT32, List.of("resnet20", "resnet20")));
  }

  @Test
  void shouldNotProposeBfloat16ToAJobThatUsesIt() {
    assertEquals(
        WORK
            + ": the GPU is out of memory; lower workers.batch, or start fewer workers on this GPU",
        explained("CUDA error: out of memory", Precision.BFLOAT16, List.of()));
    assertEquals(
        WORK
            + ": the GPU is out of memory, and is used by this process with mlp; lower"
            + " workers.batch, or start fewer workers on this GPU",
        explained(
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            Precision.BFLOAT16,
            List.of("mlp")));
  }

  @Test
  void shouldNameTheMemoryThatTheMachineLacks() {
    assertEquals(
        WORK
            + ": this machine has no memory for another 7,629 MiB; lower workers.batch, or start"
            + " fewer workers on it",
        explained(
            "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate"
                + " memory: you tried to allocate 8000000000 bytes. Error code 12 (Cannot allocate"
                + " memory)",
            Precision.FLOAT32,
            List.of()));
  }

  /** The module repeats its output a trillion times. */
  @Test
  void shouldExplainTheErrorOfLibtorchItself() throws IOException {
    ModelConfig named = new ModelConfig("net", Map.of(), List.of(4), 3, 1, 1);
    NetworkBuilder builder = new NetworkBuilder(named, false);
    builder.dense("fc", Network.INPUT, 3, false);
    List<Network.Layer> layers = new ArrayList<>(builder.build().layers());
    String repeat = "torch.repeat(%s, [1, 1000000000000])";
    layers.add(new Network.Layer("all", List.of("fc"), repeat, List.of(), List.of(3)));
    Path file = folder.resolve("large.pt");
    ScriptWriter.write(new Network("net", named.inputShape(), layers), file);
    ModelConfig large = named.named(file.toString(), Map.of());

    assertEquals(
        "model %s, batch of 1 samples: this machine has no memory for another 11,444,092 MiB; lower workers.batch, or start fewer workers on it"
            .formatted(file),
        assertThrows(IllegalArgumentException.class, () -> Engine.named("pytorch").model(large))
            .getMessage());
  }

  /** The listener stands for work beside the passes, such as that of a loss. */
  @Test
  void shouldExplainAShortageBesideThePasses() {
    ModelConfig config =
        new ModelConfig("mlp", Map.of("hidden", 600), List.of(1, 28, 28), 10, 1, 1);
    Batch batch = Samples.batch(4, config.inputShape(), 10, 1);
    try (Model model = Engine.named("pytorch").model(config)) {
      assertEquals(
          "model mlp, batch of 4 samples: this machine has no memory for another 4,194,304 MiB;"
              + " lower workers.batch, or start fewer workers on it",
          assertThrows(
                  ComponentException.class,
                  () -> model.gradient(batch, first -> torch.zeros(1L << 40)))
              .getMessage());
      String other =
          assertThrows(
                  TorchException.class,
                  () -> model.gradient(batch, first -> torch.zeros(2, 3).mm(torch.zeros(2, 3))))
              .getMessage();
      assertFalse(other.contains("Exception raised from"), other);
    }
  }

  @Test
  void shouldExplainAShortageOfAStage() {
    ModelConfig config = new ModelConfig("mlp", Map.of(), List.of(1, 28, 28), 10, 1, 1);
    Supplier<Place> full =
        () -> {
          throw new RuntimeException("CUDA error: out of memory");
        };

    assertEquals(
        "stage 1 of model mlp: the GPU is out of memory; lower workers.batch, start fewer workers"
            + " on this GPU, or set model.precision to bfloat16",
        assertThrows(
                ComponentException.class,
                () -> new PyTorchEngine(full).split(config, SplitConfig.into(2)).stage(1))
            .getMessage());
  }

  @Test
  void shouldLetTheWorkerBeReplacedWhenTheMachineHasFailed() {
    RuntimeException full = new RuntimeException("CUDA error: out of memory");
    RuntimeException lost = new RuntimeException("CUDA error: an illegal memory access");
    RuntimeException own = new RuntimeException("mat1 and mat2 shapes cannot be multiplied");

    assertFalse(isPermanent(MemoryShortage.explained(full, WORK, Precision.FLOAT32, List.of())));
    assertFalse(isPermanent(TorchException.of(lost)));
    assertTrue(isPermanent(TorchException.of(own)));
  }

  private static boolean isPermanent(RuntimeException thrown) {
    return ComponentException.of("model \"m\"", "step 1", thrown)
            instanceof ComponentException failure
        && failure.isPermanent();
  }

  @Test
  void shouldLeaveOtherFailuresAsTheyAre() {
    RuntimeException other = new RuntimeException("mat1 and mat2 shapes cannot be multiplied");

    assertSame(other, MemoryShortage.explained(other, WORK, Precision.FLOAT32, List.of()));
    RuntimeException silent = new RuntimeException();
    assertSame(silent, MemoryShortage.explained(silent, WORK, Precision.FLOAT32, List.of()));
  }

  private static String explained(String message, Precision precision, List<String> models) {
    return MemoryShortage.explained(new RuntimeException(message), WORK, precision, models)
        .getMessage();
  }
}
