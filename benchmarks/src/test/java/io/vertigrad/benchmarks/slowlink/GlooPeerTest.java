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
      echo "$rounds.5 1.25"
      """;

  @TempDir Path folder;

  @Test
  void shouldDivideTheDifferenceOfTwoRunsWhoseRanksAreAtBothEnds() throws Exception {
    GlooPeer peer = GlooPeer.of(script(LINES), folder.resolve("gloo.py"));

    GlooPeer.Measured measured = peer.measure(ends(), "mlp", "sync", 64, 100, 20, 30);

    // A round takes a second by what rank 0 prints: 3.5 s for 3 rounds give 17 more in 20 s.
    assertEquals(128.0, measured.samplesPerSecond(), 1e-9);
    assertEquals(128 * 100 * 125_000 / (1_000_000 / 17.0), measured.limit(), 1e-3);
    try (Stream<String> started = Files.lines(folder.resolve("started"))) {
      assertEquals(
          List.of("far veth-f 1 1 of 3", "near veth-n 1 0 of 3", "near veth-n 1 2 of 3"),
          started.distinct().sorted().toList());
    }
  }

  @Test
  void shouldNameTheRankThatFailed() throws Exception {
    String broken =
        LINES.replace(
            "echo \"$rounds", "[ $rank = 0 ] || { echo no >&2; exit 3; }\necho \"$rounds");
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
  void shouldReadTheFirstNumberThatARankPrints() throws Exception {
    assertEquals(1.5, GlooPeer.seconds("1.5 0.25\n"));
    assertEquals(1.5, GlooPeer.seconds("{\"seconds\": 1.5, \"cpuSeconds\": 3}\n"));
    assertEquals(1.5e-3, GlooPeer.seconds("[1.5e-03, 2]"));
    assertThrows(IOException.class, () -> GlooPeer.seconds("nothing"));
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
