/** Predictors: answers with a model while it is trained, or afterwards. */
module io.vertigrad.serving {
  requires transitive io.vertigrad.verticles;
  requires com.fasterxml.jackson.core;
  requires io.vertigrad.http;
  requires org.slf4j;

  exports io.vertigrad.serving;
  exports io.vertigrad.serving.internal to
      io.vertigrad.serving.grpc;

  uses io.vertigrad.serving.internal.InferenceProtocol;
}
