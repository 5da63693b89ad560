package io.vertigrad.benchmarks.slowlink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests how ranks are started and read, with a script in place of Python. */
class GlooPeerTest {

  private static final String LINES =
      """
      #!/bin/sh
      if [ "$1" = -c ]; then
        echo '{"OMP_NUM_THREADS": "1"}'
        exit
      fi
      while [ $# -gt 0 ]; do
        case $1 in
          --rank) rank=$2 ;;
          --rounds) rounds=$2 ;;
          --world) world=$2 ;;
        esac
        shift
      done
      echo "$END $GLOO_SOCKET_IFNAME $OMP_NUM_THREADS $rank of $world" >> FOLDER/started
      printf '%s 0.5\n' 100.5 101 102.25 $((102 + rounds)).25
      """;

  @TempDir Path folder;

  @Test
  void shouldDivideTheDifferenceOfTwoRunsWhoseRanksAreAtBothEnds() throws Exception {
    GlooPeer peer = GlooPeer.of(script(LINES), folder.resolve("gloo.py"));

    GlooPeer.Measured measured = peer.measure(ends(), "mlp", "sync", 64, 100, 20, 30);

    // A round takes a second by what rank 0 prints, so the runs have 4 and 20 rounds: with the
    // first ones 6 and 30.
    assertEquals(128.0, measured.samplesPerSecond(), 1e-9);
    assertEquals(128 * 100 * 125_000 / (1_000_000 / 24.0), measured.limit(), 1e-3);
    try (Stream<String> started = Files.lines(folder.resolve("started"))) {
      assertEquals(
          List.of("far veth-f 1 1 of 3", "near veth-n 1 0 of 3", "near veth-n 1 2 of 3"),
          started.distinct().sorted().toList());
    }
  }

  @Test
  void shouldNameTheRankThatFailed() throws Exception {
    String broken = LINES.replace("printf", "[ $rank = 0 ] || { echo no >&2; exit 3; }\nprintf");
    GlooPeer peer = GlooPeer.of(script(broken), folder.resolve("gloo.py"));

    IOException failure =
        assertThrows(
            IOException.class, () -> peer.measure(ends(), "mlp", "allreduce", 64, 100, 1, 30));

    assertEquals("gloo rank 1: found exit code 3, expected 0: no", failure.getMessage());
  }

  @Test
  void shouldSayThatAPythonHasNoPyTorch() throws Exception {
    String none = "#!/bin/sh\necho Traceback >&2\necho \"No module named 'torch'\" >&2\nexit 1\n";
    String python = script(none);

    IOException failure =
        assertThrows(IOException.class, () -> GlooPeer.of(python, folder.resolve("gloo.py")));

    assertTrue(failure.getMessage().endsWith(": No module named 'torch'"), failure.getMessage());
  }

  @Test
  void shouldReadTheLastTwoClocksThatARankPrints() throws Exception {
    assertEquals(0.5, GlooPeer.secondsPerRound("1.0 9\n2.0 9\n3.0 9\n\n5.0 9\n", 4));

    IOException failure =
        assertThrows(IOException.class, () -> GlooPeer.secondsPerRound("1.5 0.25\n", 4));
    assertEquals(
        "gloo rank 0: printed '1.5 0.25', expected 4 lines of rising seconds",
        failure.getMessage());
    assertThrows(IOException.class, () -> GlooPeer.secondsPerRound("1\n2\n4\n4\n", 4));
    assertThrows(IOException.class, () -> GlooPeer.secondsPerRound("a\nb\nc\nd\n", 4));
  }

  /** The long run forwards a million bytes more than the short one. */
  private GlooPeer.Ends ends() {
    Iterator<Long> forwarded = List.of(0L, 500_000L, 500_000L, 2_000_000L).iterator();
    return new GlooPeer.Ends(
        words -> at("near", words),
        words -> at("far", words),
        "veth-n",
        "veth-f",
        () -> new long[] {7, forwarded.next()});
  }

  private static List<String> at(String end, List<String> words) {
    List<String> all = new ArrayList<>(List.of("env", "END=" + end));
    all.addAll(words);
    return all;
  }

  private String script(String lines) throws IOException {
    Path file = Files.createTempFile(folder, "python", "");
    Files.writeString(file, lines.replace("FOLDER", folder.toString()));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    return file.toString();
  }
}
