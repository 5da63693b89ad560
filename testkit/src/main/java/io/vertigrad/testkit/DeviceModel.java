package io.vertigrad.testkit;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.ObjDoubleConsumer;
import java.util.function.Supplier;

/**
 * A model on a simulated device, which is another model's memory. Like an engine for a GPU it keeps
 * a copy in Java, transfers whole vectors, and only when one side needs what the other has. It
 * counts the transfers, and fails when two threads use the device at once.
 */
public final class DeviceModel implements Model {

  /** Creates the rule that the device computes. */
  public interface Rules {
    UpdateRule create(OptimizerConfig config, int length);
  }

  /** Transfers of whole vectors. */
  public int parametersUp;

  public int parametersDown;
  public int gradientsUp;
  public int gradientsDown;
  public int statesUp;
  public int statesDown;

  /** Gradients computed. */
  public int gradients;

  private final Model device;
  private final Optional<Rules> rules;
  private final float[] parameters;
  private final float[] gradient;
  private final AtomicReference<Thread> user = new AtomicReference<>();
  private boolean newerHere;
  private boolean newerThere;
  private boolean gradientThere;
  private ObjDoubleConsumer<String> scalars = (name, value) -> {};

  /**
   * Creates a model.
   *
   * @param device computes
   * @param rules empty for a device that knows no update rules
   */
  public DeviceModel(Model device, Optional<Rules> rules) {
    this.device = device;
    this.rules = rules;
    this.parameters = new float[device.layout().length()];
    this.gradient = new float[parameters.length];
    device.readParameters(0, FloatBuffer.wrap(parameters));
  }

  /** Runs work while the device is busy, so that every other use of it fails. */
  public <T> T whileBusy(Supplier<T> work) {
    Thread earlier = user.compareAndExchange(null, Thread.currentThread());
    if (earlier != null) {
      throw new IllegalStateException(
          "%s uses the device of %s".formatted(Thread.currentThread().getName(), earlier));
    }
    try {
      return work.get();
    } finally {
      user.set(null);
    }
  }

  private void alone(Runnable work) {
    whileBusy(
        () -> {
          work.run();
          return null;
        });
  }

  /** Returns the number of transfers of parameters, gradients and states together. */
  public int transfers() {
    return parametersUp + parametersDown + gradientsUp + gradientsDown + statesUp + statesDown;
  }

  @Override
  public String toString() {
    return "%s gradients; up, down: parameters %s, %s, gradients %s, %s, states %s, %s"
        .formatted(
            gradients,
            parametersUp,
            parametersDown,
            gradientsUp,
            gradientsDown,
            statesUp,
            statesDown);
  }

  @Override
  public ParameterLayout layout() {
    return device.layout();
  }

  @Override
  public void readParameters(int first, FloatBuffer destination) {
    alone(
        () -> {
          pull();
          destination.put(parameters, first, destination.remaining());
        });
  }

  @Override
  public void writeParameters(int first, FloatBuffer source) {
    alone(
        () -> {
          if (source.remaining() < parameters.length) {
            pull();
          }
          source.get(parameters, first, source.remaining());
          newerHere = true;
          newerThere = false;
        });
  }

  private void pull() {
    if (newerThere) {
      device.readParameters(0, FloatBuffer.wrap(parameters));
      parametersDown++;
      newerThere = false;
    }
  }

  private void push() {
    if (newerHere) {
      device.writeParameters(0, FloatBuffer.wrap(parameters));
      parametersUp++;
      newerHere = false;
    }
  }

  @Override
  public void reportTo(ObjDoubleConsumer<String> receiver) {
    scalars = receiver;
  }

  @Override
  public double gradient(Batch batch) {
    return whileBusy(
        () -> {
          push();
          gradients++;
          scalars.accept("gradients", gradients);
          gradientThere = true;
          return device.gradient(batch);
        });
  }

  @Override
  public void readGradient(int first, FloatBuffer destination) {
    alone(
        () -> {
          if (gradientThere) {
            device.readGradient(0, FloatBuffer.wrap(gradient));
            gradientsDown++;
            gradientThere = false;
          }
          destination.put(gradient, first, destination.remaining());
        });
  }

  @Override
  public Optional<DeviceUpdateRule> deviceRule(OptimizerConfig config) {
    return rules.map(known -> new Rule(config, known.create(config, layout().trainable())));
  }

  @Override
  public int correct() {
    return device.correct();
  }

  @Override
  public Score score(Batch batch, int topK) {
    return whileBusy(
        () -> {
          push();
          return device.score(batch, topK);
        });
  }

  @Override
  public void save(Path file) throws IOException {
    device.save(file);
  }

  @Override
  public void close() {
    device.close();
  }

  /** Takes the same steps as an optimizer in Java. */
  private final class Rule implements DeviceUpdateRule {

    private final OptimizerConfig config;
    private final UpdateRule rule;

    Rule(OptimizerConfig config, UpdateRule rule) {
      this.config = config;
      this.rule = rule;
    }

    @Override
    public boolean step(double learningRate, long iteration, float maxMagnitude) {
      return whileBusy(
          () -> {
            float[] own = new float[parameters.length];
            device.readGradient(0, FloatBuffer.wrap(own));
            if (config.clipNorm() > 0) {
              GradientClip.clip(own, layout().trainable(), config.clipNorm());
            }
            boolean finite = Magnitudes.largest(own, 0, own.length) <= maxMagnitude;
            if (finite) {
              apply(own, learningRate, iteration);
            }
            return finite;
          });
    }

    @Override
    public void step(float[] given, double learningRate, long iteration) {
      alone(
          () -> {
            gradientsUp++;
            apply(given.clone(), learningRate, iteration);
          });
    }

    private void apply(float[] g, double rate, long iteration) {
      push();
      float[] p = new float[parameters.length];
      device.readParameters(0, FloatBuffer.wrap(p));
      int trainable = layout().trainable();
      for (int i = 0; config.l2() != 0 && i < trainable; i++) {
        g[i] += (float) config.l2() * p[i];
      }
      rule.step(p, g, rate, iteration, (float) (1 - rate * config.weightDecay()), trainable);
      for (int i = trainable; i < p.length; i++) {
        p[i] -= g[i];
      }
      device.writeParameters(0, FloatBuffer.wrap(p));
      newerThere = true;
    }

    @Override
    public int stateLength() {
      return rule.stateLength();
    }

    @Override
    public void readState(FloatBuffer destination) {
      alone(
          () -> {
            statesDown++;
            rule.readState(destination);
          });
    }

    @Override
    public void writeState(FloatBuffer source) {
      alone(
          () -> {
            statesUp++;
            rule.writeState(source);
          });
    }
  }
}
