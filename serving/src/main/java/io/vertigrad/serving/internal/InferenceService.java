package io.vertigrad.serving.internal;

import io.vertigrad.job.ServingConfig.Http;
import io.vertigrad.serving.internal.InferenceRequest.Form;
import io.vertigrad.serving.internal.InferenceRequest.Response;
import io.vertigrad.serving.internal.ModelRepository.Lease;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertigrad.serving.internal.RequestMemory.Share;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.BindException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.LongConsumer;

/**
 * What a protocol beside HTTP needs of the models of a server: they answer with the same limits,
 * memory and tokens, and the same checks of a request. Its methods throw a {@link Refusal}, or fail
 * with it. Any thread may use it, but {@link #infer} needs an event loop of {@link #vertx}.
 */
public final class InferenceService {

  private final Vertx vertx;
  private final RequestMemory memory;
  private final Http http;
  private final ModelRepository models;
  private final BearerTokens tokens;
  private final AtomicInteger decoding = new AtomicInteger();

  /** A request and its response in a protocol's own form. */
  public interface Message {

    /** Returns the request as HTTP has it. May take long. */
    Body read();

    /**
     * Returns an encoded response. May take long.
     *
     * @param response the JSON of a response over HTTP, of which all outputs are binary
     * @param binary the elements of the outputs, one output after another
     */
    Buffer write(JsonObject response, Buffer binary);
  }

  /**
   * A request as HTTP has it.
   *
   * @param model name of the model
   * @param version its version; empty for the one that the server chooses
   * @param bytes a JSON object, then the binary data of its inputs
   * @param headerBytes length of the JSON
   */
  public record Body(String model, String version, byte[] bytes, int headerBytes) {}

  /** What a request holds until it is answered: memory, and a model. Any thread, one at a time. */
  public static final class Holder {

    private final Share share;
    private volatile Lease lease;

    private Holder(Share share) {
      this.share = share;
    }

    /**
     * Holds memory while a request is received.
     *
     * @param bytes what it takes from now on
     */
    public void receive(long bytes) {
      share.receive(bytes);
    }

    /**
     * Holds more memory.
     *
     * @param bytes what is taken beside the rest
     * @param what names it in messages
     */
    public void add(long bytes, String what) {
      share.resize(share.bytes() + bytes, what);
    }

    /**
     * Unpacks a message that is one gzip file, and holds memory for it.
     *
     * @param mostBytes the most that it may have
     */
    public byte[] unpacked(Buffer packed, int mostBytes) {
      return Form.unpacked(
          packed, "message", "grpc-encoding", mostBytes, bytes -> add(bytes, "message"));
    }

    private Predictor hold(Lease held) {
      lease = held;
      return held.predictor();
    }

    /** Gives everything back. */
    public void release() {
      share.release();
      if (lease != null) {
        lease.release();
      }
    }
  }

  /** A request that has been checked. */
  private record Checked(Message message, InferenceRequest request, OptionalLong version) {}

  InferenceService(
      Vertx vertx, RequestMemory memory, Http http, ModelRepository models, BearerTokens tokens) {
    this.vertx = vertx;
    this.memory = memory;
    this.http = http;
    this.models = models;
    this.tokens = tokens;
  }

  /** Returns the instance whose threads ports use; none of a job's members runs there. */
  public Vertx vertx() {
    return vertx;
  }

  /** Returns the largest size of a request. */
  public int mostBytes() {
    return http.maxBytes();
  }

  /**
   * Returns where a port listens: at the host of HTTP, with its certificates.
   *
   * @param port 0 for a free one
   */
  public HttpServerOptions options(int port) {
    return InferenceServer.options(http, port);
  }

  /** Returns an error of listening at a port as the user reads it. */
  public Throwable explained(Throwable why, int port) {
    return why instanceof BindException
        ? new IllegalArgumentException(
            "port %s of %s is taken, expected a free one; 0 takes any".formatted(port, http.host()),
            why)
        : why;
  }

  /** Returns what a new request holds. */
  public Holder holder() {
    return new Holder(memory.share());
  }

  /**
   * Checks that a peer may ask.
   *
   * @param authorization {@code Bearer} and a token; empty if the peer sent none
   */
  public void requireToken(Optional<String> authorization) {
    tokens.require(authorization.orElse(null));
  }

  /** Returns whether every loaded model can answer. */
  public boolean isReady() {
    return models.isReady();
  }

  /** Returns {@code name}, {@code version} and {@code extensions} of this server. */
  public JsonObject server() {
    return InferenceServer.description(models);
  }

  /**
   * Returns whether a model can answer.
   *
   * @param version empty for the version that the server chooses
   */
  public boolean isReady(String name, String version) {
    try {
      Lease lease = lease(name, version);
      try {
        return lease.predictor().isReady();
      } finally {
        lease.release();
      }
    } catch (Refusal why) {
      if (why.code() == Code.NOT_READY) {
        return false;
      }
      throw why;
    }
  }

  /**
   * Describes a model, as HTTP does.
   *
   * @param version empty for the version that the server chooses
   */
  public JsonObject model(String name, String version) {
    Lease lease = lease(name, version);
    try {
      return InferenceRequest.metadata(name, lease.versions(), lease.predictor().format());
    } finally {
      lease.release();
    }
  }

  private Lease lease(String name, String version) {
    OptionalLong number = number(version);
    Lease lease = models.lease(name, number);
    try {
      lease.requireVersion(number);
      return lease;
    } catch (Refusal why) {
      lease.release();
      throw why;
    }
  }

  private static OptionalLong number(String version) {
    if (!version.isEmpty() && !version.matches("\\d{1,18}")) {
      throw new Refusal(
          Code.UNKNOWN,
          "version: is %s, expected a number, or none".formatted(SampleFormat.shown(version)));
    }
    return version.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(version));
  }

  /**
   * Lists the models, as HTTP does.
   *
   * @param authorization as {@link #requireToken}; without tokens nobody may
   * @param ready lists only those that answer
   */
  public JsonArray index(Optional<String> authorization, boolean ready) {
    requireManaged();
    if (!tokens.present()) {
      tokens.requireAdmin(authorization.orElse(null));
    }
    return models.index(ready);
  }

  /**
   * Loads or unloads a model.
   *
   * @param authorization as {@link #requireToken}; the token must be one that may do this
   * @param loads whether to load it
   */
  public Future<Void> change(Optional<String> authorization, String name, boolean loads) {
    requireManaged();
    tokens.requireAdmin(authorization.orElse(null));
    return Future.fromCompletionStage(
            loads ? models.load(name) : models.unload(name), vertx.getOrCreateContext())
        .recover(
            why -> Future.failedFuture(why instanceof CompletionException ? why.getCause() : why));
  }

  private void requireManaged() {
    if (!models.isManaged()) {
      throw new Refusal(
          Code.UNSUPPORTED, "the model of this server is neither loaded nor unloaded by calls");
    }
  }

  /**
   * Answers a request. It is decoded, and the answer encoded, on a worker thread if that may take
   * long.
   *
   * @param holder what the request holds; it gets the model
   * @param bytes length of the request
   * @param slow whether it takes long in any case
   * @param reading makes the request; its argument is called with numbers of bytes before they are
   *     taken
   */
  public Future<Buffer> infer(
      Holder holder, int bytes, boolean slow, Function<LongConsumer, Message> reading) {
    Context loop = vertx.getOrCreateContext();
    return decoded(loop, bytes, slow, () -> checked(holder, reading))
        .recover(why -> Future.failedFuture(counted(holder, why)))
        .compose(checked -> predicted(loop, holder, checked));
  }

  private Future<Checked> decoded(
      Context loop, int bytes, boolean slow, Callable<Checked> decoding) {
    if (!slow && bytes <= InferenceServer.SMALL_BODY) {
      try {
        return Future.succeededFuture(decoding.call());
      } catch (Exception why) {
        return Future.failedFuture(why);
      }
    }
    if (this.decoding.incrementAndGet() > InferenceServer.MOST_DECODING) {
      this.decoding.decrementAndGet();
      return Future.failedFuture(
          new Refusal(
              Code.OVERLOADED,
              "%s requests wait to be decoded already; try again later"
                  .formatted(InferenceServer.MOST_DECODING)));
    }
    return loop.executeBlocking(decoding, false)
        .onComplete(done -> this.decoding.decrementAndGet());
  }

  /** Decodes a request; what it holds covers what that takes, and then what is left of it. */
  private Checked checked(Holder holder, Function<LongConsumer, Message> reading) {
    Message message = reading.apply(more -> holder.add(more, "message"));
    Body body = message.read();
    OptionalLong version = number(body.version());
    Predictor predictor = holder.hold(models.lease(body.model(), version));
    predictor.requireRoom();
    SampleFormat format = predictor.format();
    InferenceRequest request =
        InferenceRequest.read(
            body.bytes(),
            OptionalInt.of(body.headerBytes()),
            format,
            http.maxBytes(),
            more -> holder.add(more, "inputs"));
    int samples = request.inputs().length / format.inputs();
    holder.share.resize(RequestMemory.answerBytes(samples, format), samples + " samples");
    return new Checked(message, request, version);
  }

  private Future<Buffer> predicted(Context loop, Holder holder, Checked checked) {
    Predictor predictor = holder.lease.predictor();
    Promise<PredictionAnswer> predicted = Promise.promise();
    predictor.predict(
        checked.request().inputs(),
        checked.version(),
        false,
        (answer, why) ->
            loop.runOnContext(
                go -> {
                  if (why != null) {
                    // Counted already.
                    predicted.fail(why);
                  } else {
                    predicted.complete(answer);
                  }
                }));
    return predicted
        .future()
        .compose(
            answer ->
                answer.outputs().length > InferenceServer.SMALL_ANSWER
                    ? loop.executeBlocking(() -> encoded(predictor, checked, answer), false)
                    : Future.succeededFuture(encoded(predictor, checked, answer)));
  }

  private static Buffer encoded(Predictor predictor, Checked checked, PredictionAnswer answer) {
    Response response = checked.request().response(predictor.job(), answer, predictor.format());
    int header = response.headerBytes().orElseThrow();
    Buffer body = response.body();
    return checked
        .message()
        .write(new JsonObject(body.slice(0, header)), body.slice(header, body.length()));
  }

  private Throwable counted(Holder holder, Throwable why) {
    if (why instanceof Refusal refusal) {
      return holder.lease == null
          ? models.refused(refusal)
          : holder.lease.predictor().refused(refusal);
    }
    return why;
  }
}
