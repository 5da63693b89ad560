package io.vertigrad.internal.cluster;

import io.vertigrad.job.JobSecret;
import io.vertx.core.json.JsonObject;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The messages between a node and a {@link JoinPort}. The port sends a greeting and whether it uses
 * TLS; the node answers whether it does, too. Then the port sends its random bytes, the node its
 * own with its code and its question, and the port its code with its answer.
 */
final class JoinMessages {

  static final byte[] GREETING = "VGJOIN01".getBytes(StandardCharsets.US_ASCII);
  static final int NONCE_BYTES = 32;

  /** Time for which either end waits for the next message of the other. */
  static final int MESSAGE_MILLIS = 5_000;

  /** The node's possible answers to the greeting. */
  static final int GOES_ON = 1;

  static final int HAS_NO_CERTIFICATE = 2;
  static final int USES_TLS = 3;

  /** Longest message of either end in bytes. */
  static final int MOST_BYTES = 1 << 20;

  private JoinMessages() {}

  /** Returns the code of a node's question, or of a port's answer. */
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

  /** Reads {@code count} bytes; it allocates memory as bytes arrive, not as announced. */
  static byte[] read(DataInputStream in, int count) throws IOException {
    byte[] bytes = in.readNBytes(count);
    if (bytes.length < count) {
      throw new EOFException();
    }
    return bytes;
  }

  /**
   * Reads a message with a length prefix; a length beyond {@code most} is refused before the
   * message is read.
   */
  static byte[] message(DataInputStream in, int most) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > Math.min(most, MOST_BYTES)) {
      throw new IOException(
          "found a message of %s bytes, expected 0 to %s"
              .formatted(Integer.toUnsignedLong(length), Math.min(most, MOST_BYTES)));
    }
    return read(in, length);
  }
}
