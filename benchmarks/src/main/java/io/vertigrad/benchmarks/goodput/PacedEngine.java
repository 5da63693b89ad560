package io.vertigrad.benchmarks.goodput;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.settings.Settings;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * An engine named {@code paced}: the engine {@code dl4j}, whose gradients take at least a given
 * time, as if a device of the process computed them. The processor idles meanwhile. Workers of one
 * process take turns, so two of them are half as fast. The parameters that a run ends in do not
 * depend on the pace.
 */
public final class PacedEngine implements Engine {

  /** The system property with the least milliseconds of a gradient; 0, the default, for no pace. */
  static final String MILLIS = "vertigrad.benchmarks.pace";

  static final String NAME = "paced";

  private static final Lock DEVICE = new ReentrantLock(true);

  private final Supplier<Engine> engine;
  private final long nanos;

  /** Creates the engine; called by the {@code ServiceLoader}. */
  public PacedEngine() {
    this(() -> Engine.named(USUAL), Integer.getInteger(MILLIS, 0));
  }

  /** Creates an engine that computes with another one, each gradient in at least this time. */
  PacedEngine(Supplier<Engine> engine, int millis) {
    this.engine = engine;
    nanos = TimeUnit.MILLISECONDS.toNanos(millis);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public void check(String name, Settings options) {
    engine.get().check(name, options);
  }

  @Override
  public void prepare(int threads) {
    engine.get().prepare(threads);
  }

  @Override
  public Model model(ModelConfig config) {
    Model model = engine.get().model(config);
    return nanos == 0
        ? model
        : (Model)
            Proxy.newProxyInstance(
                PacedEngine.class.getClassLoader(),
                new Class<?>[] {Model.class},
                (proxy, method, arguments) ->
                    method.getName().equals("gradient")
                        ? paced(model, method, arguments)
                        : call(model, method, arguments));
  }

  @Override
  public UpdateRule updateRule(OptimizerConfig config, int length) {
    return engine.get().updateRule(config, length);
  }

  @Override
  public Map<String, String> describe() {
    return engine.get().describe();
  }

  private Object paced(Model model, Method method, Object[] arguments) throws Throwable {
    DEVICE.lockInterruptibly();
    try {
      long end = System.nanoTime() + nanos;
      Object result = call(model, method, arguments);
      TimeUnit.NANOSECONDS.sleep(end - System.nanoTime());
      return result;
    } finally {
      DEVICE.unlock();
    }
  }

  private static Object call(Model model, Method method, Object[] arguments) throws Throwable {
    try {
      return method.invoke(model, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
