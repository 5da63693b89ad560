package io.vertigrad.job;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;

/**
 * The codes by which both ends of a new connection prove that they know the same secret. Each end
 * signs the random bytes of both, so a recorded connection opens no other one.
 *
 * <pre>
 * connecting end                         accepting end
 *   random bytes (32)              -&gt;
 *                                  &lt;-   random bytes (32), code of the accepting end (32)
 *   code of the connecting end (32) -&gt;
 * </pre>
 *
 * <p>This proves the connection, not the data sent over it later; TLS protects the data.
 *
 * @param secret the secret that both ends have to know
 * @param name purpose of the connection; a proof for one name is invalid for another
 */
public record ConnectionProof(JobSecret secret, String name) {

  /** Random bytes that each end contributes. */
  public static final int NONCE_BYTES = 32;

  /** Length of the accepting end's message: its random bytes and its code. */
  public static final int CHALLENGE_BYTES = NONCE_BYTES + JobSecret.CODE_BYTES;

  private static final SecureRandom RANDOM = new SecureRandom();
  private static final String ACCEPTING = "listener of a stream";
  private static final String CONNECTING = "sender of a stream";

  /**
   * Draws the random bytes of one end of one connection.
   *
   * @return {@value #NONCE_BYTES} bytes that nobody can predict
   */
  public static byte[] nonce() {
    byte[] bytes = new byte[NONCE_BYTES];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  /**
   * Computes the accepting end's message.
   *
   * @param ofConnecting random bytes of the connecting end
   * @param ofAccepting random bytes of the accepting end
   * @return {@code ofAccepting} and the accepting end's code
   */
  public byte[] challenge(byte[] ofConnecting, byte[] ofAccepting) {
    return ByteBuffer.allocate(ofAccepting.length + JobSecret.CODE_BYTES)
        .put(ofAccepting)
        .put(code(ACCEPTING, ofConnecting, ofAccepting))
        .array();
  }

  /**
   * Computes the connecting end's code, its last message.
   *
   * @param ofConnecting random bytes of the connecting end
   * @param ofAccepting random bytes of the accepting end
   * @return the code
   */
  public byte[] proof(byte[] ofConnecting, byte[] ofAccepting) {
    return code(CONNECTING, ofConnecting, ofAccepting);
  }

  /**
   * Checks the accepting end's message.
   *
   * @param ofConnecting random bytes of the connecting end
   * @param ofAccepting random bytes of the accepting end
   * @param challenge the message
   * @return true if its sender knows the secret
   */
  public boolean isFromAccepting(byte[] ofConnecting, byte[] ofAccepting, byte[] challenge) {
    return JobSecret.equal(challenge, challenge(ofConnecting, ofAccepting));
  }

  /**
   * Checks the connecting end's code.
   *
   * @param ofConnecting random bytes of the connecting end
   * @param ofAccepting random bytes of the accepting end
   * @param proof the code
   * @return true if its sender knows the secret
   */
  public boolean isFromConnecting(byte[] ofConnecting, byte[] ofAccepting, byte[] proof) {
    return JobSecret.equal(proof, proof(ofConnecting, ofAccepting));
  }

  private byte[] code(String purpose, byte[] ofConnecting, byte[] ofAccepting) {
    return secret.sign(
        purpose,
        ByteBuffer.wrap(ofConnecting),
        ByteBuffer.wrap(ofAccepting),
        ByteBuffer.wrap(name.getBytes(StandardCharsets.UTF_8)));
  }
}
