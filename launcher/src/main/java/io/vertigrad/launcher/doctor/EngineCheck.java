package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.Engine;
import java.util.ArrayList;
import java.util.List;

/** The compute engine loads, and says what it runs on. */
final class EngineCheck implements Check {

  private final String engine;

  EngineCheck(String engine) {
    this.engine = engine;
  }

  @Override
  public List<Finding> run() {
    try {
      List<Finding> findings = new ArrayList<>();
      findings.add(Finding.ok("engines", String.join(", ", Engine.names())));
      Engine.named(engine).describe().forEach((key, value) -> findings.add(judge(key, value)));
      return findings;
    } catch (IllegalArgumentException | IllegalStateException | LinkageError e) {
      return List.of(
          Finding.fail(
              engine,
              String.valueOf(e.getMessage()),
              engine.equals(Engine.USUAL)
                  ? "the native library must fit this machine: -Dnd4j.classifier=..., or -Pcuda"
                      + " with a GPU"
                  : "docs/pytorch.md says what each engine needs"));
    }
  }

  private Finding judge(String key, String value) {
    String text = key + ": " + value;
    boolean bad = key.equals("missing") && !value.equals("nothing");
    return bad
        ? Finding.warn(engine, text, "start with ./vertigrad, which sets the environment")
        : Finding.ok(engine, text);
  }
}
