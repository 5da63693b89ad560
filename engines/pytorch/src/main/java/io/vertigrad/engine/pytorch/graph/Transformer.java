package io.vertigrad.engine.pytorch.graph;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.pytorch.graph.ProgramBuilder.Tensor;
import java.util.Arrays;
import java.util.List;

/**
 * A decoder for texts: embeddings of tokens and of positions; in each block a layer norm before
 * causal attention, and one before two dense layers with a GELU between them; a last layer norm;
 * and the embedding of tokens as the matrix of outputs.
 *
 * <p>It puts out a row of logits at each position, or only for the token behind the window, as the
 * data have targets. Initial parameters are normal numbers: of deviation {@code 1 / sqrt(width)} in
 * embeddings, half of it in matrices, divided by {@code sqrt(2 * layers)} where a block adds to its
 * input; biases are 0. At the width of GPT-2 that is about its 0.02, and narrow networks learn too.
 *
 * @param layers number of blocks
 * @param heads number of heads of attention, which divides the width
 * @param width length of a position's vector
 * @param dropout share of the numbers that training drops behind the embeddings and at the end of
 *     both halves of a block
 */
public record Transformer(int layers, int heads, int width, double dropout) {

  private static final double EPSILON = 1e-5;

  /** Width of the dense layers, in widths of a position's vector. */
  private static final int EXPANSION = 4;

  private static final String EMBEDDING = "token_embedding.weight";

  /**
   * Reads the options.
   *
   * @throws io.vertigrad.compute.settings.SettingsException at the first error
   */
  public static Transformer read(Settings options) {
    Transformer read =
        new Transformer(
            options.integer("layers", 4, 1, 1_000),
            options.integer("heads", 4, 1, 1 << 10),
            options.integer("width", 128, 1, 1 << 16),
            options.number("dropout", 0, 0, 0.99));
    if (read.width % read.heads != 0) {
      throw options.refuse(
          "width", "is %s, expected a multiple of the %s heads".formatted(read.width, read.heads));
    }
    return read;
  }

  /**
   * Returns the number of parameters.
   *
   * @param tokens number of different tokens
   * @param length tokens of a window
   */
  public long parameters(int tokens, int length) {
    long block =
        (long) width * width * (4 + 2 * EXPANSION) // the matrices of attention and dense layers
            + (long) width * (4 + EXPANSION + 1) // their biases
            + 4L * width; // two layer norms
    return ((long) tokens + length) * width + layers * block + 2L * width;
  }

  /**
   * Returns the network with its initial parameters.
   *
   * @param config describes windows of tokens
   * @throws IllegalArgumentException when the data have other samples
   */
  public ExportedProgram program(ModelConfig config) {
    if (config.tokens() == 0 || config.inputShape().size() != 1) {
      throw new IllegalArgumentException(
          "model %s: samples of shape %s are no ids of tokens, expected the data set text"
              .formatted(config.name(), config.inputShape()));
    }
    if (config.classes() != config.tokens()) {
      throw new IllegalArgumentException(
          "model %s: the data have %s classes and %s tokens, expected the next token as target"
              .formatted(config.name(), config.classes(), config.tokens()));
    }
    return new Building(this, config).program();
  }

  /** One network that is built. */
  private static final class Building {

    private final Transformer form;
    private final ModelConfig config;
    private final int width;

    /** Deviation of the initial numbers of embeddings. */
    private final double deviation;

    private final ProgramBuilder builder = new ProgramBuilder();
    private final SplitMix64 random;

    Building(Transformer form, ModelConfig config) {
      this.form = form;
      this.config = config;
      this.width = form.width();
      this.deviation = 1 / Math.sqrt(width);
      this.random = new SplitMix64(config.seed());
    }

    ExportedProgram program() {
      int length = config.inputShape().get(0);
      Tensor ids = builder.tokens(length);
      Tensor embedding = normal(EMBEDDING, deviation, config.tokens(), width);
      Tensor positions = normal("position_embedding.weight", deviation, length, width);
      Tensor last = builder.add(builder.embedding(embedding, ids), positions);
      last = builder.dropout(last, form.dropout());
      for (int i = 0; i < form.layers(); i++) {
        last = block(last, "blocks.%s.".formatted(i));
      }
      last = norm(last, "norm");
      if (config.positions() != length) {
        last = builder.lastPosition(last);
      }
      builder.tie("head.weight", embedding);
      return builder.build(builder.linear(last, embedding));
    }

    private Tensor block(Tensor from, String name) {
      double last = deviation / 2 / Math.sqrt(2.0 * form.layers());
      Tensor seen = attention(norm(from, name + "norm1"), name + "attention.", last);
      Tensor half = builder.add(from, builder.dropout(seen, form.dropout()));
      Tensor hidden =
          dense(norm(half, name + "norm2"), name + "mlp.0", EXPANSION * width, deviation / 2);
      Tensor out = dense(builder.gelu(hidden), name + "mlp.2", width, last);
      return builder.add(half, builder.dropout(out, form.dropout()));
    }

    private Tensor attention(Tensor from, String name, double last) {
      long length = from.sizes().get(1);
      int heads = form.heads();
      Tensor all = dense(from, name + "qkv", 3 * width, deviation / 2);
      Tensor split = builder.reshape(all, -1, length, 3, heads, width / heads);
      List<Tensor> parts = builder.unbind(builder.permute(split, 2, 0, 3, 1, 4));
      Tensor seen = builder.permute(builder.causalAttention(parts), 0, 2, 1, 3);
      return dense(builder.reshape(seen, -1, length, width), name + "out", width, last);
    }

    private Tensor norm(Tensor from, String name) {
      float[] ones = new float[width];
      Arrays.fill(ones, 1);
      Tensor weight = builder.parameter(name + ".weight", ones, width);
      Tensor bias = builder.parameter(name + ".bias", new float[width], width);
      return builder.layerNorm(from, weight, bias, EPSILON);
    }

    private Tensor dense(Tensor from, String name, int outputs, double spread) {
      long inputs = from.sizes().get(from.sizes().size() - 1);
      Tensor weight = normal(name + ".weight", spread, outputs, inputs);
      Tensor bias = builder.parameter(name + ".bias", new float[outputs], outputs);
      return builder.linear(from, weight, bias);
    }

    private Tensor normal(String name, double spread, long outputs, long inputs) {
      float[] numbers = new float[Math.toIntExact(Math.multiplyExact(outputs, inputs))];
      for (int i = 0; i < numbers.length; i++) {
        numbers[i] = (float) (spread * random.normal());
      }
      return builder.parameter(name, numbers, outputs, inputs);
    }
  }
}
