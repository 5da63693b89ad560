package io.vertigrad.compute;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceTest {

  @Test
  void shouldReadWhatJobFilesName() {
    assertEquals(Optional.of(Device.PROCESSOR), Device.of("cpu"));
    assertEquals(Optional.of(new Device(true, OptionalInt.empty())), Device.of("cuda"));
    assertEquals(Optional.of(new Device(true, OptionalInt.of(12))), Device.of("cuda:12"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"cpu", "cuda", "cuda:0", "cuda:12"})
  void shouldHaveTheNameItWasReadFrom(String name) {
    assertEquals(name, Device.of(name).orElseThrow().toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:1000", "cpu:0"})
  void shouldReturnEmptyForOtherNames(String name) {
    assertEquals(Optional.empty(), Device.of(name));
  }

  @Test
  void shouldRefuseAProcessorWithANumber() {
    assertEquals(
        "processor 1: expected the processor without a number",
        assertThrows(IllegalArgumentException.class, () -> new Device(false, OptionalInt.of(1)))
            .getMessage());
  }
}
