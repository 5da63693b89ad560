package io.vertigrad.testkit;

import io.vertigrad.codecs.TensorLeaks;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test class during which a tensor was lent and never given back.
 *
 * <p>JUnit finds this extension by itself where {@code
 * junit.jupiter.extensions.autodetection.enabled} is true. It finds leaks in a JVM with {@code
 * -Dvertigrad.leaks=true} only.
 */
public final class TensorLeakCheck implements AfterAllCallback {

  @Override
  public void afterAll(ExtensionContext context) {
    List<String> leaks = TensorLeaks.find();
    if (!leaks.isEmpty()) {
      throw new AssertionError(
          "%s tensors were lent and never given back:%n%s"
              .formatted(leaks.size(), String.join("\n", leaks)));
    }
  }
}
