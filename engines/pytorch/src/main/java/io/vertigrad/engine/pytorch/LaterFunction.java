package io.vertigrad.engine.pytorch;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A function that presets before 2.10 do not have. The engine is also built with those. */
enum LaterFunction {
  AUTOCAST_ENABLED("set_autocast_enabled", DeviceType.class, boolean.class),
  AUTOCAST_TYPE("set_autocast_dtype", DeviceType.class, ScalarType.class),
  AUTOCAST_CACHE("set_autocast_cache_enabled", boolean.class),
  EMPTY_CACHE("emptyCache");

  private final Method method;

  LaterFunction(String name, Class<?>... types) {
    Method found = null;
    try {
      found = torch.class.getMethod(name, types);
    } catch (NoSuchMethodException older) {
      // Stays null.
    }
    this.method = found;
  }

  /** Returns true if the presets on the class path have the function. */
  boolean present() {
    return method != null;
  }

  /**
   * Calls the function.
   *
   * @throws TorchException when libtorch reports an error
   */
  void call(Object... values) {
    try {
      method.invoke(null, values);
    } catch (InvocationTargetException e) {
      throw new TorchException(new RuntimeException(e.getCause().getMessage(), e.getCause()));
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(method + " cannot be called", e);
    }
  }
}
