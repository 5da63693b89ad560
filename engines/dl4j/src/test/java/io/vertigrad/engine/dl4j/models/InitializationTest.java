package io.vertigrad.engine.dl4j.models;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.engine.dl4j.ModelFactory;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import org.deeplearning4j.nn.api.Model;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.api.ndarray.INDArray;

class InitializationTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final List<Integer> IMAGE = List.of(3, 32, 32);

  @Test
  void shouldDrawTheSameBitsWhenTheInitializationIsPytorchOrAbsent() {
    ModelConfig silent = config("convnet", Map.of(), DIGIT);
    ModelConfig said = config("convnet", Map.of("initialization", "pytorch"), DIGIT);

    assertEquals("56bfe993", crc(new ConvNetFactory(), silent));
    assertEquals("56bfe993", crc(new ConvNetFactory(), said));
  }

  @Test
  void shouldFillWeightsAndBiasesUpToTheInputsInverseRootWhenItIsPytorch() {
    Map<String, INDArray> mlp = table(new MlpFactory(), config("mlp", Map.of(), DIGIT));

    assertUniform(1 / Math.sqrt(784), mlp.get("0_W"));
    assertUniform(1 / Math.sqrt(784), mlp.get("0_b"));
    assertUniform(1 / Math.sqrt(512), mlp.get("1_W"));
  }

  @Test
  void shouldFollowGlorotWithBiasesOfZeroWhenLayersAreDense() {
    Map<String, Object> options = Map.of("initialization", "glorot", "hidden", 128);
    Map<String, INDArray> mlp = table(new MlpFactory(), config("mlp", options, DIGIT));

    assertUniform(Math.sqrt(6.0 / (784 + 128)), mlp.get("0_W"));
    assertUniform(Math.sqrt(6.0 / (128 + 10)), mlp.get("1_W"));
    assertArrayEquals(new float[128], values(mlp.get("0_b")), 0);
    assertArrayEquals(new float[10], values(mlp.get("1_b")), 0);
  }

  @Test
  void shouldCountTheWholeWindowWhenLayersAreConvolutions() {
    Map<String, Object> options = Map.of("initialization", "glorot");
    Map<String, INDArray> resnet = table(new ResNet20Factory(), config("resnet20", options, IMAGE));
    Map<String, INDArray> convnet = table(new ConvNetFactory(), config("convnet", options, DIGIT));

    assertUniform(Math.sqrt(6.0 / (9 * (16 + 32))), resnet.get("s1b0a-conv_W"));
    assertUniform(Math.sqrt(6.0 / (16 + 32)), resnet.get("s1b0s-conv_W"));
    assertUniform(Math.sqrt(6.0 / (64 + 10)), resnet.get("fc_W"));
    assertArrayEquals(new float[10], values(resnet.get("fc_b")), 0);
    assertArrayEquals(new float[3], values(convnet.get("0_b")), 0);
  }

  @Test
  void shouldKeepBatchNormUnchanged() {
    Map<String, Object> options = Map.of("initialization", "glorot");
    Map<String, INDArray> resnet = table(new ResNet20Factory(), config("resnet20", options, IMAGE));
    float[] ones = new float[16];
    Arrays.fill(ones, 1);

    assertArrayEquals(ones, values(resnet.get("stem-bn_gamma")), 0);
    assertArrayEquals(new float[16], values(resnet.get("stem-bn_beta")), 0);
    assertArrayEquals(ones, values(resnet.get("stem-bn_var")), 0);
  }

  @Test
  void shouldListTheChoicesWhenTheValueIsUnknown() {
    ModelConfig config = config("mlp", Map.of("initialization", "he"), DIGIT);

    assertEquals(
        "model mlp: option initialization is he, expected one of pytorch, glorot",
        assertThrows(IllegalArgumentException.class, () -> new MlpFactory().network(config))
            .getMessage());
  }

  /**
   * Checks that no value exceeds the bound, that one is close to it, and the deviation of a uniform
   * number.
   */
  private static void assertUniform(double bound, INDArray array) {
    float[] values = values(array);
    double most = 0;
    double squares = 0;
    for (float value : values) {
      most = Math.max(most, Math.abs(value));
      squares += value * (double) value;
    }
    assertTrue(most <= bound && most > 0.98 * bound, most + " of " + bound);
    // The relative deviation of the mean square of n uniform numbers is sqrt(4 / 5n); five of them.
    double allowed = 5 * Math.sqrt(0.8 / values.length);
    assertEquals(1, squares / values.length / (bound * bound / 3), allowed);
  }

  private static String crc(ModelFactory factory, ModelConfig config) {
    CRC32 crc = new CRC32();
    for (float value : values(((Model) factory.network(config)).params())) {
      int bits = Float.floatToIntBits(value);
      for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
        crc.update(bits >>> shift);
      }
    }
    return Long.toHexString(crc.getValue());
  }

  private static Map<String, INDArray> table(ModelFactory factory, ModelConfig config) {
    return ((Model) factory.network(config)).paramTable();
  }

  private static float[] values(INDArray array) {
    FloatBuffer buffer = NativeFloats.of(array);
    float[] values = new float[buffer.capacity()];
    buffer.get(values);
    return values;
  }

  private static ModelConfig config(String name, Map<String, Object> options, List<Integer> shape) {
    return new ModelConfig(name, options, shape, 10, 7, 1);
  }
}
