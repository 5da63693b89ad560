package io.vertigrad.internal.transport;

import io.vertigrad.job.JobSecret;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * How the two ends of a stream prove to each other that they know the job's secret, before any
 * frame: each answers the other's random bytes, so that nothing recorded opens a stream. Frames
 * themselves are not proved; the connection is.
 *
 * @param secret of the job that the address belongs to
 * @param address that the stream is for
 */
record StreamProof(JobSecret secret, String address) {

  /** Random bytes of either end. */
  static final int NONCE_BYTES = 32;

  /** The sender's first message: its random bytes, and which address the stream is for. */
  byte[] opening(byte[] ofSender) {
    return joined(ofSender, name());
  }

  /** The listener's answer: its own random bytes, and its code over both. */
  byte[] challenge(byte[] ofSender, byte[] ofListener) {
    return joined(ofListener, code("listener of a stream", ofSender, ofListener));
  }

  /** The sender's last word before its first request: its code over both. */
  byte[] proof(byte[] ofSender, byte[] ofListener) {
    return code("sender of a stream", ofSender, ofListener);
  }

  /** True when who sent this challenge knows the secret. */
  boolean isListener(byte[] ofSender, StreamMessage challenge) {
    byte[] ofListener = nonce(challenge);
    return JobSecret.equal(challenge.bytes(0), challenge(ofSender, ofListener));
  }

  /** True when who sent this proof knows the secret. */
  boolean isSender(byte[] ofSender, byte[] ofListener, StreamMessage proof) {
    return JobSecret.equal(proof.bytes(0), proof(ofSender, ofListener));
  }

  /** The random bytes of an opening or a challenge; of one that is too short, what there is. */
  static byte[] nonce(StreamMessage message) {
    byte[] all = message.bytes(0);
    return Arrays.copyOf(all, Math.min(all.length, NONCE_BYTES));
  }

  /** The address that an opening names. */
  static String address(StreamMessage opening) {
    return new String(opening.bytes(NONCE_BYTES), StandardCharsets.UTF_8);
  }

  private byte[] code(String purpose, byte[] ofSender, byte[] ofListener) {
    return secret.sign(
        purpose, ByteBuffer.wrap(ofSender), ByteBuffer.wrap(ofListener), ByteBuffer.wrap(name()));
  }

  private byte[] name() {
    return address.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] joined(byte[] first, byte[] second) {
    return ByteBuffer.allocate(first.length + second.length).put(first).put(second).array();
  }
}
