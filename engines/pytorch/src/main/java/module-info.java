/** Computes models with libtorch, through DJL. */
module io.vertigrad.engine.pytorch {
  requires transitive io.vertigrad.compute;
  requires ai.djl.api;
  requires ai.djl.pytorch_engine;
  requires com.sun.jna;
  requires org.slf4j;

  provides io.vertigrad.compute.Engine with
      io.vertigrad.engine.pytorch.PyTorchEngine;
}
