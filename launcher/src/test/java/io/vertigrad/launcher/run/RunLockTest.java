package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.job.InputException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RunLockTest {

  private static final String SELF = Long.toString(ProcessHandle.current().pid());

  @TempDir private Path folder;
  private RunDirectory run;

  @BeforeEach
  void begin() {
    run = new RunDirectory(folder);
  }

  @Test
  void shouldReportTheHolderAndItsPage() {
    RunLock lock = RunLock.take(run);
    try (lock) {
      assertEquals(Optional.of(new RunLock.Holder(SELF, Optional.empty())), RunLock.look(run));

      lock.show("http://127.0.0.1:8350/");

      assertEquals(
          Optional.of(new RunLock.Holder(SELF, Optional.of("http://127.0.0.1:8350/"))),
          RunLock.look(run));
      String refused = assertThrows(InputException.class, () -> RunLock.take(run)).getMessage();
      assertTrue(refused.contains(": process " + SELF + " runs it, expected a run"), refused);
    }
    assertEquals(Optional.empty(), RunLock.look(run));
  }

  @Test
  void shouldForgetThePageOfAnEarlierHolder() {
    RunLock earlier = RunLock.take(run);
    earlier.show("http://127.0.0.1:8350/");
    earlier.close();

    RunLock lock = RunLock.take(run);
    try (lock) {
      assertEquals(Optional.of(new RunLock.Holder(SELF, Optional.empty())), RunLock.look(run));
    }
  }

  @Test
  void shouldMakeNoFileWhereItLooks() {
    assertEquals(Optional.empty(), RunLock.look(run));

    assertTrue(Files.notExists(run.lock()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "javascript:alert(1)",
        "http://evil.example/?x",
        "https://a/",
        "/a",
        "http://a b/"
      })
  void shouldTakeNoOtherTextForAPage(String page) throws IOException {
    RunLock lock = RunLock.take(run);
    try (lock) {
      Files.writeString(run.lock(), SELF + "\n" + page + "\n");

      assertEquals(Optional.empty(), RunLock.look(run).orElseThrow().page());
    }
  }
}
