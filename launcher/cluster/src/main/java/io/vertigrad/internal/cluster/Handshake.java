package io.vertigrad.internal.cluster;

import io.vertigrad.job.ConnectionProof;
import io.vertigrad.job.JobSecret;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * One end of a new connection while it proves the cluster's secret: bytes in, bytes out, no socket.
 * Every message has a fixed length, so an unproved peer cannot make this end allocate memory.
 *
 * <p>The connecting end sends a mark and its random bytes; {@link ConnectionProof} describes the
 * other messages. One thread at a time may use it.
 */
final class Handshake {

  /** Length of the longest message of either end, in bytes. */
  static final int MOST_BYTES = ConnectionProof.CHALLENGE_BYTES;

  private static final byte[] MARK = "VGPROOF2".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] NOTHING = {};

  private enum State {
    AWAITS_MARK(MARK.length),
    AWAITS_NONCE(ConnectionProof.NONCE_BYTES),
    AWAITS_CHALLENGE(ConnectionProof.CHALLENGE_BYTES),
    AWAITS_PROOF(JobSecret.CODE_BYTES),
    PROVED(0);

    private final int expectedBytes;

    State(int expectedBytes) {
      this.expectedBytes = expectedBytes;
    }
  }

  /** Reports that the other end has not proved that it knows the secret. */
  static final class RefusedException extends IOException {

    private static final long serialVersionUID = 1;

    RefusedException(String message) {
      super(message);
    }
  }

  private final ConnectionProof codes;
  private final byte[] own = ConnectionProof.nonce();
  private byte[] ofOther;
  private State state;

  private Handshake(ConnectionProof codes, State first) {
    this.codes = codes;
    this.state = first;
  }

  /** Creates the end that opened the connection. */
  static Handshake connecting(ConnectionProof codes) {
    return new Handshake(codes, State.AWAITS_CHALLENGE);
  }

  /** Creates the end that accepted the connection. */
  static Handshake accepting(ConnectionProof codes) {
    return new Handshake(codes, State.AWAITS_MARK);
  }

  /** Returns what this end sends before it has received anything. */
  byte[] opening() {
    return state == State.AWAITS_CHALLENGE
        ? ByteBuffer.allocate(MARK.length + own.length).put(MARK).put(own).array()
        : NOTHING;
  }

  /**
   * Returns the exact length of the next message from the other end, 0 once the other end is
   * proved.
   */
  int expectedBytes() {
    return state.expectedBytes;
  }

  boolean proved() {
    return state == State.PROVED;
  }

  /**
   * Processes a message of {@link #expectedBytes()} bytes.
   *
   * @return the reply to send, possibly empty
   * @throws RefusedException when the connection has to be closed
   */
  byte[] take(byte[] message) throws RefusedException {
    return switch (state) {
      case AWAITS_MARK -> expectNonce(message);
      case AWAITS_NONCE -> challenge(message);
      case AWAITS_CHALLENGE -> proof(message);
      case AWAITS_PROOF -> finish(message);
      case PROVED -> throw new IllegalStateException("the other end is proved already");
    };
  }

  private byte[] expectNonce(byte[] mark) throws RefusedException {
    if (!Arrays.equals(mark, MARK)) {
      throw new RefusedException("it does not open the connection as a node of this version does");
    }
    state = State.AWAITS_NONCE;
    return NOTHING;
  }

  private byte[] challenge(byte[] nonce) {
    ofOther = nonce;
    state = State.AWAITS_PROOF;
    return codes.challenge(ofOther, own);
  }

  private byte[] proof(byte[] challenge) throws RefusedException {
    ofOther = Arrays.copyOf(challenge, ConnectionProof.NONCE_BYTES);
    if (!codes.isFromAccepting(own, ofOther, challenge)) {
      throw anotherSecret();
    }
    state = State.PROVED;
    return codes.proof(own, ofOther);
  }

  private byte[] finish(byte[] proof) throws RefusedException {
    if (!codes.isFromConnecting(ofOther, own, proof)) {
      throw anotherSecret();
    }
    state = State.PROVED;
    return NOTHING;
  }

  private static RefusedException anotherSecret() {
    return new RefusedException("it has another secret (cluster.secretFile)");
  }
}
