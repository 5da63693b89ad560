package io.vertigrad.internal.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.StartedManager;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

/** Checks what a client without the secret finds at a node's port. */
final class PortProbe {

  private PortProbe() {}

  static int busPort(ClusterStart start) {
    return StartedManager.of(start).getNodeInfo().port();
  }

  /** Sends a frame from one node to the other over a stream; returns that stream's port. */
  static int streamPort(Vertx here, Vertx there) throws Exception {
    FrameCodecs.register(here.eventBus());
    FrameCodecs.register(there.eventBus());
    Refusal frame =
        new Refusal(new ExchangeId(1, 2, 3, 4, 5, 6), Refusal.Reason.UNAVAILABLE, "busy");
    await(Transport.listen(here, "frames", Future::succeededFuture));
    ExchangeConfig config = JobConfig.read("test", new JsonObject()).exchange();

    assertEquals(frame, await(Transport.of(there, config).request("frames", frame, 5_000)));

    DeliveryOptions where = new DeliveryOptions().addHeader("vertigrad-stream", "");
    return await(there.eventBus().<JsonObject>request("frames", null, where))
        .body()
        .getInteger("port");
  }

  /**
   * Sends bytes that the bus would understand without TLS; returns true when the other end closes.
   */
  static boolean hangsUp(int port) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(2_000);
      OutputStream out = socket.getOutputStream();
      out.write(new byte[] {0, 0, 0, 5, 1, 0, 0, 0, 0});
      out.flush();
      InputStream in = socket.getInputStream();
      while (in.read() >= 0) {
        Thread.onSpinWait();
      }
      return true;
    } catch (java.net.SocketTimeoutException stillOpen) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
