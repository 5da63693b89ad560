package io.vertigrad.serving.internal;

import io.vertigrad.compute.data.Tokenizer;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertx.core.Context;
import io.vertx.core.Future;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/**
 * Continues the text of one request. Each token is a sample in the predictor's queue, so tokens of
 * several texts are computed together, and each with the newest parameters. Belongs to one context.
 */
final class TextGeneration {

  private static final int NONE = -1;

  private final Predictor predictor;
  private final Context context;
  private final GenerateRequest request;
  private final OptionalLong version;
  private final Reader reader;
  private final Tokenizer tokenizer;
  private final CharsetDecoder decoder =
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPLACE)
          .onUnmappableCharacter(CodingErrorAction.REPLACE);

  /** Bytes of a character that is not complete yet. */
  private byte[] rest = {};

  /** Tokens that have been written. */
  private int written;

  /** The peer of a request. */
  interface Reader {

    /** Returns whether the peer has gone. */
    boolean isGone();

    /**
     * Takes what a token adds to the text.
     *
     * @param version of the parameters
     * @param text empty if a character is not complete yet
     * @param last whether nothing follows
     * @return completes when the peer takes more
     */
    Future<Void> onText(long version, String text, boolean last);

    /** Takes the reason why nothing follows, which the predictor has counted. */
    void onRefusal(Refusal why);

    /** Reports that the peer has gone, and that nothing is computed for it any more. */
    void onGone();
  }

  /**
   * Creates a generation that has not begun.
   *
   * @param version the only version that may answer; empty for any
   */
  TextGeneration(
      Predictor predictor,
      Context context,
      GenerateRequest request,
      OptionalLong version,
      Reader reader) {
    this.predictor = predictor;
    this.context = context;
    this.request = request;
    this.version = version;
    this.reader = reader;
    this.tokenizer = predictor.format().tokenizer().orElseThrow();
  }

  /** Asks for the next token. */
  void next() {
    predictor.predict(
        request.sampler().window(),
        version,
        written > 0,
        (answer, why) -> {
          // On the predictor's thread: with many tokens a draw would hold up the server.
          int token = why == null ? request.sampler().next(answer.outputs()) : NONE;
          context.runOnContext(go -> onAnswer(answer, token, why));
        });
  }

  private void onAnswer(PredictionAnswer answer, int token, Refusal why) {
    if (reader.isGone()) {
      reader.onGone();
    } else if (why != null) {
      reader.onRefusal(why);
    } else {
      write(answer.version(), token);
    }
  }

  private void write(long newest, int token) {
    boolean last = written + 1 == request.tokens();
    String text = decoded(tokenizer.bytes(token, written == 0), last);
    written++;
    Future<Void> taken = reader.onText(newest, text, last);
    if (!last) {
      taken.onComplete(ready -> next(), gone -> reader.onGone());
    }
  }

  /** Returns the characters that these bytes complete; at the end also what is incomplete. */
  private String decoded(byte[] bytes, boolean last) {
    ByteBuffer in = ByteBuffer.allocate(rest.length + bytes.length).put(rest).put(bytes).flip();
    CharBuffer out = CharBuffer.allocate(in.remaining() + 1);
    decoder.decode(in, out, last);
    if (last) {
      decoder.flush(out);
    }
    rest = new byte[in.remaining()];
    in.get(rest);
    return out.flip().toString();
  }
}
