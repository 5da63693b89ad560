package io.vertigrad.serving;

import io.reactivex.rxjava3.core.Single;
import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.serving.internal.PredictionMessages;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.json.JsonObject;

/**
 * Asks the predictors of a job over the event bus. Any thread may use it.
 *
 * <pre>{@code
 * Predictions.of(vertx, "prices")
 *     .predict(new JsonObject().put("demand", 0.3).put("day", "1"))
 *     .onSuccess(found -> System.out.println(found.classes()));
 * }</pre>
 *
 * <p>A refused request fails with a {@link ReplyException} whose {@code failureCode} is one of the
 * constants.
 */
public final class Predictions {

  /** The request is wrong; the message says where, what was found and what was expected. */
  public static final int INVALID = 400;

  /** The samples would take more memory than requests may have. */
  public static final int TOO_LARGE = 413;

  /** No predictor listens, or it has no parameters yet. */
  public static final int NOT_READY = 425;

  /** The forward pass failed, or an output is not finite. */
  public static final int FAILED = 500;

  /**
   * So many samples wait ({@code serving.queue}), or hold so much memory, that this one was
   * refused.
   */
  public static final int OVERLOADED = 503;

  private final Vertx vertx;
  private final Addresses addresses;

  private Predictions(Vertx vertx, Addresses addresses) {
    this.vertx = vertx;
    this.addresses = addresses;
  }

  /**
   * Returns a client. It sends nothing yet.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @return the client
   */
  public static Predictions of(Vertx vertx, String job) {
    FrameCodecs.register(vertx.eventBus());
    return new Predictions(vertx, new Addresses(job));
  }

  /**
   * Asks about one sample by the names of its fields.
   *
   * @param sample values by name, as in the data that the model was trained on
   * @return the prediction; fails with a {@link ReplyException}
   */
  public Future<Prediction> predict(JsonObject sample) {
    return ask(new JsonObject().put("sample", sample), PredictionMessages.json())
        .map(answer -> PredictionMessages.ofJson((JsonObject) answer.body(), Prediction::new));
  }

  /**
   * Asks about samples in the form of the model's inputs, in a binary message.
   *
   * @param samples the inputs of each sample, normalised as in training; at most {@code
   *     FrameLimits.MAX_ELEMENTS} numbers in all
   * @return the predictions, in the same order; fails with a {@link ReplyException}
   * @throws IllegalArgumentException if the samples do not fit into one message
   */
  public Future<Prediction> predict(float[]... samples) {
    return ask(PredictionMessages.frame(addresses, samples), PredictionMessages.binary())
        .map(
            answer ->
                PredictionMessages.ofFrame(
                    answer.body(), answer.headers(), samples.length, Prediction::new));
  }

  /**
   * Asks as {@link #predict(JsonObject)} does, at each subscription.
   *
   * @param sample values by name
   * @return the prediction; fails with a {@link ReplyException}
   */
  public Single<Prediction> rxPredict(JsonObject sample) {
    return Single.create(
        emitter -> predict(sample).onSuccess(emitter::onSuccess).onFailure(emitter::tryOnError));
  }

  private Future<Message<Object>> ask(Object request, DeliveryOptions options) {
    return vertx
        .eventBus()
        .request(addresses.predict(), request, options)
        .recover(why -> Future.failedFuture(explained(why)));
  }

  private Throwable explained(Throwable why) {
    return why instanceof ReplyException reply && reply.failureType() == ReplyFailure.NO_HANDLERS
        ? new ReplyException(
            ReplyFailure.RECIPIENT_FAILURE,
            NOT_READY,
            "no predictor listens at %s: deploy a PredictorVerticle, or wait until it has parameters"
                .formatted(addresses.predict()))
        : why;
  }
}
