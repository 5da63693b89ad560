package io.vertigrad.training;

import io.vertigrad.job.JobSecret;
import io.vertx.core.json.JsonObject;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What the two ends of a {@link JoinPort} say to each other. The port begins with a greeting and
 * whether it goes on with TLS; the node says whether it does, too. Then come the port's random
 * bytes, the node's with its code and its question, and the port's code with its answer.
 */
final class JoinMessages {

  static final byte[] GREETING = "VGJOIN01".getBytes(StandardCharsets.US_ASCII);
  static final int NONCE_BYTES = 32;

  /** How long either end waits for the other's next word. */
  static final int WORD_MILLIS = 5_000;

  /** What a node answers to the greeting. */
  static final int GOES_ON = 1;

  static final int HAS_NO_CERTIFICATE = 2;
  static final int USES_TLS = 3;

  /** No message of either end is longer. */
  static final int MOST_BYTES = 1 << 20;

  private JoinMessages() {}

  /** The code of a node's question, or of a port's answer. */
  static byte[] code(
      JobSecret secret, boolean ofNode, byte[] ofPort, byte[] ofSender, byte[] message) {
    return secret.sign(
        ofNode ? "question of a node" : "answer to a node",
        ByteBuffer.wrap(ofPort),
        ByteBuffer.wrap(ofSender),
        ByteBuffer.wrap(message));
  }

  static byte[] bytes(JsonObject message) {
    return message.toBuffer().getBytes();
  }

  static void write(DataOutputStream out, byte[] code, byte[] message) throws IOException {
    out.write(code);
    out.writeInt(message.length);
    out.write(message);
    out.flush();
  }

  /** Reads {@code count} bytes; memory grows with what has arrived, not with what was announced. */
  static byte[] read(DataInputStream in, int count) throws IOException {
    byte[] bytes = in.readNBytes(count);
    if (bytes.length < count) {
      throw new EOFException();
    }
    return bytes;
  }

  /** A message with its length before it; a length beyond {@code most} is refused unread. */
  static byte[] message(DataInputStream in, int most) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > Math.min(most, MOST_BYTES)) {
      throw new IOException(
          "found a message of %d bytes, expected 0 to %d"
              .formatted(Integer.toUnsignedLong(length), Math.min(most, MOST_BYTES)));
    }
    return read(in, length);
  }
}
