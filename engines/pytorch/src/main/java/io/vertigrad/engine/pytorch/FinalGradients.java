package io.vertigrad.engine.pytorch;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntConsumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;

/**
 * Finds out during a backward pass from which trainable element on the gradient is final.
 *
 * <p>libtorch adds the gradient of a parameter once in a pass, when all contributions have been
 * summed, and the version of the gradient's tensor increases with that. Before each addition
 * libtorch calls a hook, which looks for the additions that have happened. So the last addition of
 * a pass is not reported. A parameter that the pass does not reach holds back its own elements and
 * those of all parameters before it.
 *
 * <p>On the processor the hook is called by the thread that runs the pass, on a GPU by a thread of
 * libtorch, when the addition has been started on the GPU.
 */
final class FinalGradients {

  /**
   * One hook for all parameters, because a class of callbacks has few native functions. It outlives
   * every {@code PointerScope}.
   */
  private static final VoidTensorHook HOOK = new Hook().retainReference();

  private static final Set<FinalGradients> RUNNING = ConcurrentHashMap.newKeySet();

  private final List<Tensor> gradients;
  private final int[] starts;
  private final boolean gpu;
  private final long[] versions;
  private Thread thread;
  private IntConsumer listener;
  private Throwable failure;
  private int open;

  /** Looks at the passes that the calling thread may be computing. */
  private static final class Hook extends VoidTensorHook {

    @Override
    public void call(TensorBase gradient) {
      for (FinalGradients pass : RUNNING) {
        if (pass.gpu || pass.thread == Thread.currentThread()) {
          pass.look();
        }
      }
    }
  }

  /**
   * Adds the hook to parameters, for their lifetime.
   *
   * @param parameters the trainable ones in exchange order, each once
   * @param starts first element of each
   * @param gpu whether they are on a GPU
   */
  FinalGradients(List<Tensor> parameters, int[] starts, boolean gpu) {
    this.gradients = parameters.stream().map(one -> one.grad().<Tensor>retainReference()).toList();
    this.starts = starts.clone();
    this.gpu = gpu;
    this.versions = new long[starts.length];
    parameters.forEach(one -> one.register_hook(HOOK));
  }

  /**
   * Runs a backward pass.
   *
   * @param found receives the first final element, lower in each call. Called by the thread that
   *     the class names. An exception is rethrown when the pass has ended
   */
  void during(Runnable backward, IntConsumer found) {
    synchronized (this) {
      thread = Thread.currentThread();
      listener = found;
      failure = null;
      open = starts.length;
      for (int i = 0; i < versions.length; i++) {
        versions[i] = gradients.get(i)._version();
      }
    }
    RUNNING.add(this);
    int reported;
    try {
      backward.run();
    } finally {
      RUNNING.remove(this);
      reported = end();
    }
    finish(reported);
  }

  /**
   * Ends the pass for hooks of other passes that found it in {@link #RUNNING} before. Returns the
   * first reported parameter.
   */
  private synchronized int end() {
    int reported = open;
    open = 0;
    listener = null;
    return reported;
  }

  /** Reports the additions that have happened; does nothing after the pass has ended. */
  synchronized void look() {
    int before = open;
    while (open > 0 && additions(open - 1) > 0) {
      open--;
    }
    if (open < before && failure == null) {
      try {
        listener.accept(starts[open]);
      } catch (RuntimeException | Error e) {
        // An exception must not cross libtorch.
        failure = e;
      }
    }
  }

  private long additions(int parameter) {
    return gradients.get(parameter)._version() - versions[parameter];
  }

  private synchronized void finish(int reported) {
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
    for (int i = reported; i < starts.length; i++) {
      if (additions(i) != 1) {
        throw new IllegalStateException(
            ("the gradient of the parameter at element %s changed %s times in a backward pass,"
                    + " expected once: set exchange.overlap to false for this model")
                .formatted(starts[i], additions(i)));
      }
    }
  }

  /** Releases the gradients. */
  void close() {
    gradients.forEach(Tensor::close);
  }
}
