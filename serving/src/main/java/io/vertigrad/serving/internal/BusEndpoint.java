package io.vertigrad.serving.internal;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.StageTensor;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Answers requests on the event bus. It reads them on the verticle's context. */
final class BusEndpoint {

  private static final Logger LOG = LoggerFactory.getLogger(BusEndpoint.class);

  private final Vertx vertx;
  private final Addresses addresses;
  private final Predictor predictor;
  private MessageConsumer<Object> consumer;

  BusEndpoint(Vertx vertx, Addresses addresses, Predictor predictor) {
    this.vertx = vertx;
    this.addresses = addresses;
    this.predictor = predictor;
  }

  /** Starts listening. */
  Future<Void> open() {
    consumer = vertx.eventBus().consumer(addresses.predict(), this::handle);
    return consumer.completion();
  }

  /** Stops listening; requests that have arrived are still answered. */
  Future<Void> close() {
    return consumer == null ? Future.succeededFuture() : consumer.unregister();
  }

  private void handle(Message<Object> message) {
    try {
      predictor.requireRoom();
      SampleFormat format = predictor.format();
      if (message.body() instanceof JsonObject json) {
        answer(
            message,
            format.read(json),
            answer -> message.reply(PredictionMessages.json(answer, format)));
      } else if (message.body() instanceof StageTensor tensor) {
        answer(
            message,
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
      refuse(message, predictor.refused(why));
    } catch (RuntimeException defect) {
      refuse(message, defect);
    }
  }

  /** Replies on the predictor's thread: another thread would have to be woken first. */
  private void answer(Message<Object> message, float[] inputs, Consumer<PredictionAnswer> reply) {
    predictor.predict(
        inputs,
        OptionalLong.empty(),
        (answer, why) -> {
          if (why == null) {
            reply.accept(answer);
          } else {
            refuse(message, why);
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
