package io.vertigrad.internal.transport;

import io.vertigrad.job.ConnectionProof;
import io.vertigrad.job.JobSecret;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The messages by which the two ends of a stream prove to each other that they know the job's
 * secret, before any frame is sent. Frames are not proved one by one; the connection is.
 *
 * @param codes computes codes from the secret and the address that the stream is for
 */
record StreamProof(ConnectionProof codes) {

  /** Number of random bytes that each end sends. */
  static final int NONCE_BYTES = ConnectionProof.NONCE_BYTES;

  StreamProof(JobSecret secret, String address) {
    this(new ConnectionProof(secret, address));
  }

  /** Returns the sender's first message: its random bytes, and the address of the stream. */
  byte[] opening(byte[] senderNonce) {
    byte[] address = codes.name().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(senderNonce.length + address.length)
        .put(senderNonce)
        .put(address)
        .array();
  }

  /** Returns the listener's answer: its own random bytes, and its code over both. */
  byte[] challenge(byte[] senderNonce, byte[] listenerNonce) {
    return codes.challenge(senderNonce, listenerNonce);
  }

  /** Returns the sender's last message before its first request: its code over both. */
  byte[] proof(byte[] senderNonce, byte[] listenerNonce) {
    return codes.proof(senderNonce, listenerNonce);
  }

  /** Returns true when the sender of this challenge knows the secret. */
  boolean isListener(byte[] senderNonce, StreamMessage challenge) {
    return codes.isFromAccepting(senderNonce, nonce(challenge), challenge.bytes(0));
  }

  /** Returns true when the sender of this proof knows the secret. */
  boolean isSender(byte[] senderNonce, byte[] listenerNonce, StreamMessage proof) {
    return codes.isFromConnecting(senderNonce, listenerNonce, proof.bytes(0));
  }

  /** Returns the random bytes of an opening or a challenge, or all of one that is shorter. */
  static byte[] nonce(StreamMessage message) {
    byte[] all = message.bytes(0);
    return Arrays.copyOf(all, Math.min(all.length, NONCE_BYTES));
  }

  /** Returns the address that an opening names. */
  static String address(StreamMessage opening) {
    return new String(opening.bytes(NONCE_BYTES), StandardCharsets.UTF_8);
  }
}
