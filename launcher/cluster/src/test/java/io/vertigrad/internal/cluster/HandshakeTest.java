package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.ConnectionProof;
import io.vertigrad.job.JobSecret;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class HandshakeTest {

  private final JobSecret secret = JobSecret.random();
  private final ConnectionProof codes = new ConnectionProof(secret, "a port");

  @Test
  void shouldProveBothEndsWhenTheyKnowTheSecret() throws Exception {
    Handshake here = Handshake.connecting(codes);
    Handshake there = Handshake.accepting(codes);

    byte[] challenge = open(there, here.opening());
    assertEquals(here.expectedBytes(), challenge.length);
    assertFalse(there.proved());
    byte[] proof = here.take(challenge);
    assertTrue(here.proved());
    assertEquals(there.expectedBytes(), proof.length);
    assertEquals(0, there.take(proof).length);

    assertTrue(there.proved());
    assertEquals(0, there.expectedBytes());
  }

  @Test
  void shouldRefuseAPeerWithAnotherSecretOrPort() throws Exception {
    for (ConnectionProof other :
        new ConnectionProof[] {
          new ConnectionProof(JobSecret.random(), "a port"),
          new ConnectionProof(JobSecret.none(), "a port"),
          new ConnectionProof(secret, "another port")
        }) {
      Handshake here = Handshake.connecting(codes);
      byte[] challenge = open(Handshake.accepting(other), here.opening());
      assertThrows(Handshake.RefusedException.class, () -> here.take(challenge));
      assertFalse(here.proved());

      Handshake there = Handshake.accepting(codes);
      Handshake stranger = Handshake.connecting(other);
      open(there, stranger.opening());
      assertThrows(Handshake.RefusedException.class, () -> there.take(new byte[32]));
      assertFalse(there.proved());
    }
  }

  @Test
  void shouldRefuseARecordedProofOnAnotherConnection() throws Exception {
    Handshake here = Handshake.connecting(codes);
    Handshake there = Handshake.accepting(codes);
    byte[] opening = here.opening();
    byte[] proof = here.take(open(there, opening));
    there.take(proof);

    Handshake again = Handshake.accepting(codes);
    open(again, opening);

    assertThrows(Handshake.RefusedException.class, () -> again.take(proof));
  }

  @Test
  void shouldRefuseOtherProtocolsByTheirFirstEightBytes() {
    Handshake there = Handshake.accepting(codes);

    assertEquals(8, there.expectedBytes());
    assertThrows(Handshake.RefusedException.class, () -> there.take("HZC12345".getBytes()));
  }

  /** Passes the connecting end's mark and random bytes to the accepting end. */
  private static byte[] open(Handshake there, byte[] opening) throws Exception {
    int mark = there.expectedBytes();
    assertEquals(0, there.take(Arrays.copyOf(opening, mark)).length);
    assertEquals(opening.length - mark, there.expectedBytes());
    return there.take(Arrays.copyOfRange(opening, mark, opening.length));
  }
}
