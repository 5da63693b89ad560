package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class GpuModelsTest {

  private int emptied;
  private final GpuModels models = new GpuModels(() -> emptied++);

  @Test
  void shouldGiveMemoryBackWhenTheLastModelOfAGpuHasClosed() {
    models.opened(0, "convnet");
    models.opened(0, "convnet");
    models.opened(1, "mlp");

    models.closed(0, "convnet");
    assertEquals(0, emptied);
    models.closed(0, "convnet");
    assertEquals(1, emptied);
    models.closed(1, "mlp");

    assertEquals(2, emptied);
  }

  @Test
  void shouldCloseAModelOfAGpuThatHasFailed() {
    GpuModels failing =
        new GpuModels(
            () -> {
              throw new IllegalStateException("CUDA error: device-side assert triggered");
            });
    failing.opened(0, "convnet");

    failing.closed(0, "convnet");

    assertEquals(List.of(), failing.on(0));
  }

  @Test
  void shouldDoNothingForAModelThatIsNotThere() {
    models.opened(0, "convnet");

    models.closed(1, "convnet");
    models.closed(0, "mlp");

    assertEquals(0, emptied);
    assertEquals(List.of("convnet"), models.on(0));
    models.closed(0, "convnet");
    models.closed(0, "convnet");
    assertEquals(1, emptied);
  }
}
