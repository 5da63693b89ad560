package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NativeEnvironmentTest {

  @Test
  void shouldChooseSkylakeKernelsOnlyWhenAllFourSetsAreThere() {
    List<String> whole = List.of("flags\t\t: sse2 avx2 avx512f avx512dq avx512bw avx512vl");
    List<String> partial = List.of("model name: x", "flags : avx2 avx512f avx512dq avx512bw");

    assertEquals("SkylakeX", Processor.parse(whole).openBlasCore());
    assertEquals("Haswell", Processor.parse(partial).openBlasCore());
    assertNull(Processor.parse(List.of()).openBlasCore());
  }

  @Test
  void shouldSetThreadsAndWaitPolicyWhenTheProcessorIsUnknown() {
    var variables = NativeEnvironment.variables(2, new Processor(Set.of()));

    assertEquals("2", variables.get("OMP_NUM_THREADS"));
    assertEquals("PASSIVE", variables.get("OMP_WAIT_POLICY"));
    assertFalse(variables.containsKey("OPENBLAS_CORETYPE"));
  }
}
