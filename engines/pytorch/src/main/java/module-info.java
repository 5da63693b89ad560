/** Computes models with libtorch, through its JavaCPP presets. */
module io.vertigrad.engine.pytorch {
  requires transitive io.vertigrad.compute;
  requires com.sun.jna;
  requires org.bytedeco.javacpp;
  requires org.bytedeco.pytorch;
  requires org.slf4j;

  provides io.vertigrad.compute.Engine with
      io.vertigrad.engine.pytorch.PyTorchEngine;
}
