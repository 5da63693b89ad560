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
  byte[] opening(byte[] ofSender) {
    byte[] address = codes.name().getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(ofSender.length + address.length).put(ofSender).put(address).array();
  }

  /** Returns the listener's answer: its own random bytes, and its code over both. */
  byte[] challenge(byte[] ofSender, byte[] ofListener) {
    return codes.challenge(ofSender, ofListener);
  }

  /** Returns the sender's last message before its first request: its code over both. */
  byte[] proof(byte[] ofSender, byte[] ofListener) {
    return codes.proof(ofSender, ofListener);
  }

  /** Returns true when the sender of this challenge knows the secret. */
  boolean isListener(byte[] ofSender, StreamMessage challenge) {
    return codes.isFromAccepting(ofSender, nonce(challenge), challenge.bytes(0));
  }

  /** Returns true when the sender of this proof knows the secret. */
  boolean isSender(byte[] ofSender, byte[] ofListener, StreamMessage proof) {
    return codes.isFromConnecting(ofSender, ofListener, proof.bytes(0));
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
