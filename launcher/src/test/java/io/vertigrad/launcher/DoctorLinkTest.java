package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class DoctorLinkTest {

  @Test
  void shouldFailInOneLineWhenNobodyListens() throws Exception {
    int free;
    try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      free = port.getLocalPort();
    }

    CommandRun run = CommandRun.of("doctor", "--link", "127.0.0.1:" + free);

    assertEquals(1, run.exit(), run.err());
    assertEquals(
        """
        FAIL  link        127.0.0.1:%s: nobody listens there (Connection refused)
                          -> run there: ./vertigrad doctor --link-server %s
        """
            .formatted(free, free),
        run.out());
  }

  @Test
  void shouldFailInOneLineWhenThePortOfTheServerIsTaken() throws Exception {
    try (ServerSocket port = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String where = "127.0.0.1:" + port.getLocalPort();

      CommandRun run = CommandRun.of("doctor", "--link-server", where);

      assertEquals(1, run.exit(), run.err());
      assertTrue(run.out().startsWith("FAIL  link        " + where + ": "), run.out());
      assertTrue(run.out().endsWith("-> name a free port of this machine\n"), run.out());
    }
  }

  @Test
  void shouldRefuseAnAddressThatIsNone() {
    CommandRun noPort = CommandRun.of("doctor", "--link", "somewhere");
    CommandRun noHost = CommandRun.of("doctor", "--link", "15900");
    CommandRun both = CommandRun.of("doctor", "--link", "a:1", "--link-server", "70000");
    CommandRun tooHigh = CommandRun.of("doctor", "--link-server", "70000");

    assertEquals(2, noPort.exit());
    assertTrue(noPort.err().contains("--link somewhere: expected HOST:PORT"), noPort.err());
    assertEquals(2, noHost.exit());
    assertEquals(2, both.exit());
    assertTrue(both.err().contains("--link and --link-server: expected one"), both.err());
    assertEquals(2, tooHigh.exit());
    assertTrue(tooHigh.err().contains("--link-server 70000: expected"), tooHigh.err());
  }
}
