package io.vertigrad.engine.pytorch.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TensorPickleTest {

  private static final String ORDERED = "ccollections\nOrderedDict\n";
  private static final String TENSOR = "ctorch._utils\n_rebuild_tensor_v2\n";
  private static final String STORAGE =
      "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0k" + "X\3\0\0\0cpuK\6tQ";
  private static final String VALUE =
      TENSOR + "(" + STORAGE + "K\1K\2K\2\u0086K\2K\1\u0086\u0089" + ORDERED + ")RtR";
  private static final String MARKED = "ctorch._tensor\n_rebuild_from_type_v2\n";
  private static final String NAME = "X\1\0\0\0w";

  @Test
  void shouldReadADictionaryOfTensors() throws ArchiveException {
    TensorPickle.Saved saved = read("}(" + NAME + VALUE + "u.").get("w");

    assertEquals("k", saved.storage());
    assertEquals(6, saved.storageLength());
    assertEquals(
        new TensorView(ElementType.FLOAT32, List.of(2L, 2L), List.of(2L, 1L), 1, false),
        saved.view());
  }

  @Test
  void shouldReadParametersMetadataAndRepeatedValues() throws ArchiveException {
    String metadata = "}X\11\0\0\0_metadata" + ORDERED + ")Rsb";
    String parameter =
        "ctorch._utils\n_rebuild_parameter\n" + VALUE + "\u0088" + ORDERED + ")R\u0087R";
    Map<String, TensorPickle.Saved> read =
        read(ORDERED + ")Rq\0(" + NAME + parameter + "q\1X\1\0\0\0vh\1u" + metadata + ".");

    assertTrue(read.get("w").view().trained());
    assertEquals(read.get("w"), read.get("v"));
  }

  @Test
  void shouldReadATensorWhenItHasPythonAttributes() throws ArchiveException {
    String inner =
        TENSOR + "ctorch\nTensor\n" + VALUE.substring(TENSOR.length(), VALUE.length() - 1);
    Map<String, TensorPickle.Saved> read =
        read("}" + NAME + MARKED + "(" + inner + "}X\4\0\0\0note\u0088stRs.");

    assertEquals(read("}" + NAME + VALUE + "s."), read);
    assertRefused(
        "}" + NAME + MARKED + "(" + inner.replace("Tensor\n", "FloatStorage\n") + "}tRs.",
        "has a tensor of another class");
  }

  @Test
  void shouldRefuseAPickleWhenItCallsSomethingElse() {
    assertRefused("cos\nsystem\nX\2\0\0\0ls\u0085R.", "calls os.system, expected dense tensors");
    assertRefused("ctorch\nload\n.", "calls torch.load, expected");
    assertRefused("ctorch._utils\n_rebuild_sparse_tensor\n.", "calls torch._utils._rebuild_sparse");
    assertRefused("ctorch\n\n.", "calls torch., expected");
    assertRefused("}(" + NAME + "cbuiltins\neval\nu.", "calls builtins.eval");
  }

  @Test
  void shouldRefuseAPickleWhenItHasAnotherOperation() {
    assertRefused("}o.", "has the operation 0x6f at byte 3, which no dictionary of tensors needs");
    assertRefused("i", "has the operation 0x69 at byte 2");
    assertRefused("\u0081.", "has the operation 0x81");
    assertRefused("\u0093.", "has the operation 0x93");
    assertRefused("\u0080\4}.", "is of protocol 4, expected 2, the default of PyTorch");
  }

  @Test
  void shouldRefuseAPickleWhenItIsNoDictionaryOfTensors() {
    assertRefused("K\1.", "is 1, expected a dictionary of tensors");
    assertRefused("N.", "is None, expected a dictionary of tensors");
    assertRefused("(.", "is no value, expected a dictionary of tensors");
    assertRefused("].", "is a list, expected a dictionary");
    assertRefused("}" + NAME + "Ns.", "has None under w, expected a tensor");
    assertRefused("}K\1" + VALUE + "s.", "has 1 as a key, expected a name");
    assertRefused("}(" + NAME + VALUE + NAME + VALUE + "u.", "has two values under w");
    assertRefused("}(" + NAME + "u.", "sets items of a dictionary");
  }

  @Test
  void shouldRefuseAPickleWhenItsStackIsWrong() {
    assertRefused(".", "takes a value where there is none");
    assertRefused("t.", "takes a value where there is none");
    assertRefused("K\1\u0087.", "takes a value where there is none");
    assertRefused("h\5.", "repeats value 5, which it does not have");
    assertRefused("q\1.", "takes a value where there is none");
    assertRefused("K\1K\2K\3s.", "sets items of 1");
    assertRefused("}Na.", "appends to a dictionary");
    assertRefused("K\1Nb.", "sets the state of 1");
    assertRefused("K\1)R.", "calls 1");
    assertRefused("K\1Q.", "refers to something else than a storage");
    assertRefused(ORDERED + "K\1\u0085R.", "has an OrderedDict of other objects");
    assertRefused(TENSOR + ")R.", "has a tensor whose description is not one");
    assertRefused("(".repeat((1 << 20) + 1) + ".", "has more than 1048576 values at a time");
    assertRefused("(Nt".repeat(700_000) + ".", "has more than 2097152 operations");
  }

  @Test
  void shouldRefuseAPickleWhenItsNumbersLie() {
    assertRefused("X\377\377\377\377.", "has a text of 4294967295 bytes, 1 are left");
    assertRefused("\u008a\11", "has a number of 9 bytes");
    assertRefused("}", "ends too early");
    assertRefused("J\1", "ends too early");
    assertRefused("ctorch", "ends too early");
    assertRefused(
        "}" + NAME + VALUE.replace("K\1K\2K\2\u0086", "J\377\377\377\377K\2K\2\u0086") + "s.",
        "has a tensor of shape [2, 2] with strides [2, 1] from element -1, which no storage can");
    assertRefused(
        "}" + NAME + VALUE.replace("K\2K\2\u0086", "K\2N\u0086") + "s.",
        "has a tensor with None as a dimension");
  }

  @Test
  void shouldReadOrRefuseAPickleWhenBytesAreChanged() {
    byte[] whole = bytes("}(" + NAME + VALUE + "u.");
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 20_000; i++) {
      byte[] changed = whole.clone();
      for (int n = 1 + random.nextInt(3); n > 0; n--) {
        changed[random.nextInt(changed.length)] =
            random.nextBoolean() ? (byte) random.nextInt(256) : whole[random.nextInt(whole.length)];
      }
      try {
        TensorPickle.read("pickle", changed);
      } catch (ArchiveException e) {
        assertTrue(e.getMessage().startsWith("pickle "), e.getMessage());
      } catch (RuntimeException e) {
        throw new AssertionError(Arrays.toString(changed), e);
      }
    }
  }

  private static void assertRefused(String pickle, String expected) {
    String found = assertThrows(ArchiveException.class, () -> read(pickle)).getMessage();
    assertTrue(found.startsWith("pickle ") && found.contains(expected), found);
  }

  private static Map<String, TensorPickle.Saved> read(String pickle) throws ArchiveException {
    return TensorPickle.read("pickle", bytes(pickle));
  }

  private static byte[] bytes(String pickle) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    if (pickle.charAt(0) != '\u0080') {
      bytes.writeBytes(new byte[] {(byte) 0x80, 2});
    }
    bytes.writeBytes(pickle.getBytes(StandardCharsets.ISO_8859_1));
    return bytes.toByteArray();
  }
}
