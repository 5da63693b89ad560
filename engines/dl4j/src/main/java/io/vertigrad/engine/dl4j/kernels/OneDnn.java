package io.vertigrad.engine.dl4j.kernels;

import org.bytedeco.dnnl.engine;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The library oneDNN, called directly. It is loaded when a network first needs it.
 *
 * <p>ND4J contains a oneDNN of its own, but creates and plans every primitive anew and copies every
 * array into another layout and back. Here a primitive is planned once for each size of a batch.
 */
public final class OneDnn {

  private static final Logger LOG = LoggerFactory.getLogger(OneDnn.class);

  private OneDnn() {}

  /** Loads the library when it is first asked for. */
  private static final class Loaded {

    static final engine ENGINE = load();

    private static engine load() {
      try {
        return new engine(engine.kind.cpu, 0);
      } catch (LinkageError | RuntimeException e) {
        LOG.debug("oneDNN cannot be loaded; convolutions use the one that ND4J contains", e);
        return null;
      }
    }
  }

  /** Returns true if the library can be used on this machine. */
  public static boolean isAvailable() {
    return Loaded.ENGINE != null;
  }

  /** Returns the processor as a device of oneDNN; null if the library is not available. */
  static engine processor() {
    return Loaded.ENGINE;
  }
}
