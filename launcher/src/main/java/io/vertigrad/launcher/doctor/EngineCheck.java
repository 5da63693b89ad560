package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import java.util.ArrayList;
import java.util.List;

/** Checks that the compute engine loads, and reports what it runs on. */
final class EngineCheck implements Check {

  private final String engine;
  private final Device device;

  /** Creates the check; {@code device} is where the job's workers will compute. */
  EngineCheck(String engine, Device device) {
    this.engine = engine;
    this.device = device;
  }

  @Override
  public List<CheckResult> run() {
    try {
      List<CheckResult> results = new ArrayList<>();
      results.add(CheckResult.ok("engines", String.join(", ", Engine.names())));
      Engine found = Engine.named(engine);
      found.describe().forEach((key, value) -> results.add(judge(key, value)));
      results.add(usable(found));
      return results;
    } catch (IllegalArgumentException | IllegalStateException | LinkageError e) {
      return List.of(
          CheckResult.fail(
              engine,
              String.valueOf(e.getMessage()),
              engine.equals(Engine.USUAL)
                  ? "the native library must fit this machine: -Dnd4j.classifier=..., or -Pcuda"
                      + " with a GPU"
                  : "docs/guide/pytorch.md says what each engine needs"));
    }
  }

  private CheckResult usable(Engine found) {
    try {
      found.checkDevice(device);
      return CheckResult.ok(engine, "workers.device: " + device);
    } catch (IllegalArgumentException missing) {
      return CheckResult.fail(
          engine, "workers.device is %s, but %s".formatted(device, missing.getMessage()));
    }
  }

  private CheckResult judge(String key, String value) {
    String text = key + ": " + value;
    boolean bad = key.equals("missing") && !value.equals("nothing");
    return bad
        ? CheckResult.warn(engine, text, "start with ./vertigrad, which sets the environment")
        : CheckResult.ok(engine, text);
  }
}
