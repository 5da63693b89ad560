package io.vertigrad.serving.grpc;

import io.vertigrad.serving.internal.InferenceProtocol;
import io.vertigrad.serving.internal.InferenceService;
import io.vertx.core.Future;

/** The Open Inference Protocol over gRPC, found by {@code ServiceLoader}. */
public final class GrpcInferenceProtocol implements InferenceProtocol {

  /** Creates a protocol, for {@code ServiceLoader}. */
  public GrpcInferenceProtocol() {
    // Servers have the state.
  }

  @Override
  public String name() {
    return "grpc";
  }

  @Override
  public Future<Port> listen(InferenceService service, int port) {
    GrpcInferenceServer server = new GrpcInferenceServer(service);
    return server.listen(port).map(server);
  }
}
