/** Tensors, frames and their codecs. */
module io.vertigrad.codecs {
  requires transitive io.vertx.core;
  requires io.netty.buffer;
  requires org.slf4j;

  exports io.vertigrad.codecs;
}
