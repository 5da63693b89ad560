package io.vertigrad.serving.internal;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.StageTensor;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.RequestMemory.Share;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.ThreadingModel;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers requests on the event bus. It decodes them on a worker thread of its own, one after the
 * other, because the event loops belong to the job's members as well.
 */
final class BusEndpoint {

  private static final Logger LOG = LoggerFactory.getLogger(BusEndpoint.class);

  private final Vertx vertx;
  private final Addresses addresses;
  private final String id;
  private final RequestMemory memory;
  private final Predictor predictor;
  private Optional<String> deployed = Optional.empty();

  /** Creates an endpoint; {@code id} is the predictor's. */
  BusEndpoint(
      Vertx vertx, Addresses addresses, String id, RequestMemory memory, Predictor predictor) {
    this.vertx = vertx;
    this.addresses = addresses;
    this.id = id;
    this.memory = memory;
    this.predictor = predictor;
  }

  /** Starts listening. */
  Future<Void> open() {
    DeploymentOptions options =
        new DeploymentOptions()
            .setThreadingModel(ThreadingModel.WORKER)
            .setWorkerPoolName("requests of predictor " + id)
            .setWorkerPoolSize(1);
    return vertx
        .deployVerticle(new Listener(), options)
        .onSuccess(listener -> deployed = Optional.of(listener))
        .mapEmpty();
  }

  /**
   * Stops listening; requests that have arrived are still answered. Vert.x does it first when it
   * undeploys the verticle that opened this endpoint.
   */
  Future<Void> close() {
    return deployed
        .filter(vertx.deploymentIDs()::contains)
        .map(vertx::undeploy)
        .orElseGet(Future::succeededFuture);
  }

  /** Owns the worker thread. */
  private final class Listener extends VerticleBase {

    @Override
    public Future<?> start() {
      return vertx.eventBus().consumer(addresses.predict(), BusEndpoint.this::handle).completion();
    }
  }

  private void handle(Message<Object> message) {
    Share share = memory.share();
    try {
      predictor.requireRoom();
      SampleFormat format = predictor.format();
      if (message.body() instanceof JsonObject json) {
        require(share, json.getValue("samples") instanceof JsonArray all ? all.size() : 1, format);
        answer(
            message,
            share,
            format.read(json),
            answer -> message.reply(PredictionMessages.json(answer, format)));
      } else if (message.body() instanceof StageTensor tensor) {
        require(share, tensor.tensor().length() / format.inputs(), format);
        answer(
            message,
            share,
            PredictionMessages.inputs(tensor, format),
            answer ->
                message.reply(
                    PredictionMessages.frame(addresses.jobHash(), answer),
                    PredictionMessages.headers(answer, format)));
      } else {
        throw Refusal.invalid(
            "request: is %s, expected a JSON object or a frame with a tensor",
            SampleFormat.shown(message.body()));
      }
    } catch (Refusal why) {
      share.release();
      refuse(message, predictor.refused(why));
    } catch (RuntimeException defect) {
      share.release();
      refuse(message, defect);
    }
  }

  /** Takes the memory of a request's samples before they are decoded. */
  private static void require(Share share, int samples, SampleFormat format) {
    share.resize(RequestMemory.answerBytes(samples, format), samples + " samples");
  }

  /** Replies on the predictor's thread: another thread would have to be woken first. */
  private void answer(
      Message<Object> message, Share share, float[] inputs, Consumer<PredictionAnswer> reply) {
    predictor.predict(
        inputs,
        OptionalLong.empty(),
        false,
        (answer, why) -> {
          try {
            if (why == null) {
              reply.accept(answer);
            } else {
              refuse(message, why);
            }
          } finally {
            share.release();
          }
        });
  }

  private static void refuse(Message<Object> message, Throwable why) {
    if (why instanceof Refusal refusal) {
      message.fail(refusal.code().number(), refusal.getMessage());
    } else {
      LOG.error("a request could not be answered", why);
      message.fail(Refusal.Code.FAILED.number(), String.valueOf(why));
    }
  }
}
