package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Trains the job of a file in a JVM of its own, which a test kills, and writes its result. */
final class KilledTraining {

  private KilledTraining() {}

  /** Trains; the arguments are the job file and the file of the result. */
  public static void main(String[] arguments) throws Exception {
    Vertx vertx = Vertx.vertx();
    JsonObject job = new JsonObject(Files.readString(Path.of(arguments[0])));
    Map<Integer, StreamTests> tests = new ConcurrentHashMap<>();
    RunningJob running = TrainingJob.of(job).deploy(vertx).await(120, TimeUnit.SECONDS);
    running
        .events()
        .ofType(StreamTested.class)
        .subscribe(event -> tests.put(event.rank(), event.tests()));
    TrainingResult result = running.result().await(300, TimeUnit.SECONDS);
    StreamTests all = tests.values().stream().reduce(StreamTests::plus).orElseThrow();
    Files.writeString(
        Path.of(arguments[1]),
        new JsonObject()
            .put("hash", result.parametersHash())
            .put("version", result.version())
            .put("samples", result.samples())
            .put("tests", all.toJson())
            .encode());
    vertx.close().await(30, TimeUnit.SECONDS);
  }
}
