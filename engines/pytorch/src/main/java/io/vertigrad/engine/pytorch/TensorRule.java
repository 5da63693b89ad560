package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.nio.FloatBuffer;
import java.util.function.BooleanSupplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * An optimizer on a module's device: the formulas of {@link
 * io.vertigrad.compute.optimizer.PlainRules} as operations on the flat tensors of {@link
 * FlatCopies}, a few for the whole model.
 *
 * <p>With the model's own gradient a product and the sum with it are one operation, which may round
 * once. With a gradient from Java every operation rounds as Java does, so the bits are the same.
 *
 * <p>A step with the model's own gradient waits for the device once, to read the largest element
 * and the norm of the gradient. All other operations are only started.
 */
final class TensorRule implements DeviceUpdateRule, AutoCloseable {

  private final OptimizerConfig config;
  private final FlatCopies copies;
  private final Place place;
  private final Transfers transfers;
  private final Parts parameters;
  private final Parts gradients;
  private final boolean hasStatistics;

  /** Adam's first moments, then the squares; otherwise the velocity or the squares. */
  private final Tensor state;

  private final int stateLength;
  private boolean started;

  /** The two parts of a flat tensor. */
  private record Parts(Tensor trainable, Tensor statistics) implements AutoCloseable {

    static Parts of(Tensor flat, ParameterLayout layout) {
      return new Parts(
          flat.narrow(0, 0, layout.trainable()).retainReference(),
          flat.narrow(0, layout.trainable(), layout.statistics()).retainReference());
    }

    @Override
    public void close() {
      trainable.close();
      statistics.close();
    }
  }

  /**
   * Creates a rule with zero state.
   *
   * @param copies parameters and gradients
   * @param place of them
   */
  @SuppressWarnings("try")
  TensorRule(OptimizerConfig config, FlatCopies copies, Place place, ParameterLayout layout) {
    this.config = config;
    this.copies = copies;
    this.place = place;
    this.transfers = place.transfers();
    this.hasStatistics = layout.statistics() > 0;
    this.stateLength = Math.multiplyExact(vectors(config), layout.trainable());
    try (PointerScope temporary = new PointerScope()) {
      this.parameters = Parts.of(copies.parameters(), layout);
      this.gradients = Parts.of(copies.gradients(), layout);
      TensorOptions there = new TensorOptions(place.device());
      this.state = torch.zeros(new long[] {stateLength}, there).retainReference();
    } catch (RuntimeException e) {
      throw explained(e);
    }
  }

  /** Returns whether there is a rule for an optimizer of this name. */
  static boolean knows(String name) {
    return switch (name) {
      case "sgd", "nesterov", "adam", "adagrad", "rmsprop" -> true;
      default -> false;
    };
  }

  private static int vectors(OptimizerConfig config) {
    return switch (config.name()) {
      case "adam" -> 2;
      case "sgd" -> config.momentum() == 0 ? 0 : 1;
      default -> 1;
    };
  }

  @Override
  public boolean step(double learningRate, long iteration, float maxMagnitude) {
    return withoutHistory(
        () -> {
          copies.push();
          float factor = clipFactor(maxMagnitude);
          if (Float.isNaN(factor)) {
            return false;
          }
          if (factor != 1) {
            gradients.trainable().mul_(new Scalar(factor));
          }
          new Step(learningRate, iteration, false).apply();
          return true;
        });
  }

  @Override
  public void step(float[] gradient, double learningRate, long iteration) {
    withoutHistory(
        () -> {
          copies.push();
          copies.writeGradients(gradient);
          new Step(learningRate, iteration, true).apply();
          return true;
        });
  }

  /** Runs operations that no backward pass follows, on any thread; their tensors are released. */
  @SuppressWarnings("try")
  private boolean withoutHistory(BooleanSupplier operations) {
    boolean before = GradMode.is_enabled();
    GradMode.set_enabled(false);
    try (PointerScope temporary = new PointerScope()) {
      return operations.getAsBoolean();
    } catch (RuntimeException e) {
      throw explained(e);
    } finally {
      GradMode.set_enabled(before);
    }
  }

  private RuntimeException explained(RuntimeException failure) {
    return MemoryShortage.explained(
        TorchException.of(failure),
        "optimizer " + config.name(),
        place.models(),
        MemoryShortage.FEWER);
  }

  /**
   * Returns the factor that limits the gradient's norm; NaN if an element of the gradient is NaN
   * or, after that, beyond the bound.
   */
  private float clipFactor(float maxMagnitude) {
    if (config.clipNorm() == 0) {
      float largest = transfers.read(largest(copies.gradients()))[0];
      // A comparison with NaN is false.
      return largest <= maxMagnitude ? 1 : Float.NaN;
    }
    TensorVector figures =
        new TensorVector(largest(gradients.trainable()), norm(gradients.trainable()));
    if (hasStatistics) {
      figures.push_back(largest(gradients.statistics()));
    }
    float[] read = transfers.read(torch.stack(figures));
    float factor = GradientClip.factor(read[1], config.clipNorm());
    float ofStatistics = hasStatistics ? read[2] : 0;
    boolean within = read[0] * factor <= maxMagnitude && ofStatistics <= maxMagnitude;
    return within ? factor : Float.NaN;
  }

  private static Tensor largest(Tensor values) {
    return values.numel() == 0 ? values.sum() : values.norm(new Scalar(Float.POSITIVE_INFINITY));
  }

  /** Returns the Euclidean norm, summed in double precision. */
  private static Tensor norm(Tensor values) {
    return values.norm(new ScalarOptional(new Scalar(2)), ScalarType.Double).to(ScalarType.Float);
  }

  /** One update of all parameters with the gradients on the device, which it overwrites. */
  private final class Step {

    private final Tensor weights = parameters.trainable();
    private final Tensor gradient = gradients.trainable();
    private final double learningRate;
    private final long iteration;
    private final boolean exact;

    /**
     * Creates a step.
     *
     * @param exact whether each operation rounds as in Java
     */
    Step(double learningRate, long iteration, boolean exact) {
      this.learningRate = learningRate;
      this.iteration = iteration;
      this.exact = exact;
    }

    void apply() {
      add(gradient, weights, (float) config.l2());
      float kept = (float) (1 - learningRate * config.weightDecay());
      switch (config.name()) {
        case "sgd", "nesterov" -> momentum(kept);
        case "adam" -> adam(kept);
        case "adagrad" -> squares(kept, 1, 1);
        case "rmsprop" -> squares(kept, (float) config.beta2(), (float) (1 - config.beta2()));
        default -> throw new IllegalStateException("optimizer " + config.name());
      }
      if (hasStatistics) {
        parameters.statistics().sub_(gradients.statistics());
      }
      copies.markStepped();
    }

    private void momentum(float kept) {
      Tensor direction = gradient;
      if (stateLength > 0) {
        boolean first = !started || iteration == 0;
        started = true;
        boolean nesterov = config.name().equals("nesterov");
        double dampening = config.name().equals("sgd") ? config.dampening() : 0;
        float mu = (float) config.momentum();
        scale(state, first ? 0 : mu);
        add(state, gradient, first ? 1 : (float) (1 - dampening));
        if (nesterov) {
          add(gradient, state, mu);
        } else {
          direction = state;
        }
      }
      scale(weights, kept);
      add(weights, direction, -(float) learningRate);
    }

    private void adam(float kept) {
      double t = iteration + 1.0;
      float rate = (float) (learningRate / (1 - Math.pow(config.beta1(), t)));
      float correction = (float) (1 / Math.sqrt(1 - Math.pow(config.beta2(), t)));
      Tensor mean = state.narrow(0, 0, stateLength / 2);
      Tensor square = state.narrow(0, stateLength / 2, stateLength / 2);
      if (exact) {
        scale(mean, (float) config.beta1());
        add(mean, gradient, (float) (1 - config.beta1()));
      } else {
        mean.lerp_(gradient, new Scalar((float) (1 - config.beta1())));
      }
      scale(square, (float) config.beta2());
      addSquare(square, gradient, (float) (1 - config.beta2()));
      Tensor root = square.sqrt();
      // Dividing both sides of the quotient by the correction saves a pass over the root.
      float divided = exact ? 1 : correction;
      scale(root, correction / divided);
      root.add_(new Scalar((float) config.epsilon() / divided));
      scale(weights, kept);
      addQuotient(weights, mean, root, -rate / divided);
    }

    private void squares(float kept, float keptSquares, float added) {
      scale(state, keptSquares);
      addSquare(state, gradient, added);
      Tensor root = state.sqrt().add_(new Scalar((float) config.epsilon()));
      scale(weights, kept);
      addQuotient(weights, gradient, root, -(float) learningRate);
    }

    private void scale(Tensor vector, float factor) {
      if (factor != 1) {
        vector.mul_(new Scalar(factor));
      }
    }

    private void add(Tensor vector, Tensor summand, float factor) {
      if (factor == 1) {
        vector.add_(summand);
      } else if (factor != 0 && exact) {
        vector.add_(summand.mul(new Scalar(factor)));
      } else if (factor != 0) {
        vector.add_(summand, new Scalar(factor));
      }
    }

    private void addSquare(Tensor vector, Tensor root, float factor) {
      if (exact) {
        vector.add_(root.mul(root).mul_(new Scalar(factor)));
      } else {
        vector.addcmul_(root, root, new Scalar(factor));
      }
    }

    private void addQuotient(Tensor vector, Tensor dividend, Tensor divisor, float factor) {
      if (exact) {
        vector.add_(dividend.mul(new Scalar(factor)).div_(divisor));
      } else {
        vector.addcdiv_(dividend, divisor, new Scalar(factor));
      }
    }
  }

  @Override
  public int stateLength() {
    return stateLength;
  }

  @Override
  @SuppressWarnings("try")
  public void readState(FloatBuffer destination) {
    try (PointerScope temporary = new PointerScope()) {
      destination.put(transfers.read(state));
    }
  }

  @Override
  public void writeState(FloatBuffer source) {
    started = true;
    if (stateLength > 0) {
      withoutHistory(
          () -> {
            try (Transfers.HostMemory memory =
                transfers.hostMemory(ScalarType.Float, stateLength)) {
              memory.bytes().asFloatBuffer().put(source);
              transfers.up(state, memory.tensor());
            }
            return true;
          });
    }
  }

  @Override
  public void close() {
    parameters.close();
    gradients.close();
    state.close();
  }
}
