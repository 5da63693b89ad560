package io.vertigrad.compute.data.files;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.vertigrad.compute.data.DataException;
import java.nio.file.Path;

/**
 * Searches, guided by coverage, for bytes that the pickle reader neither reads nor refuses.
 *
 * <p>An ordinary build replays the stored inputs, one pickle of each protocol and one that calls a
 * program. To search for a minute: {@code JAZZER_FUZZ=1 mvn -pl codecs,compute test
 * -Dtest=PickleReaderFuzzTest -Djazzer.hooks=true}.
 */
class PickleReaderFuzzTest {

  @FuzzTest(maxDuration = "1m")
  void shouldReadOrRefuseWhenAnyBytesAreGiven(byte[] bytes) {
    try {
      PickleReader.read(Path.of("fuzz"), bytes);
    } catch (DataException e) {
      if (!e.getMessage().startsWith("fuzz: ")) {
        throw new AssertionError("an error that does not name the file", e);
      }
    }
  }
}
