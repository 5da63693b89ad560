package io.vertigrad.engine.dl4j.kernels;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.convolution_backward_data;
import org.bytedeco.dnnl.convolution_backward_weights;
import org.bytedeco.dnnl.convolution_forward;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.memory.data_type;
import org.bytedeco.dnnl.memory.format_tag;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.dnnl.primitive_desc;
import org.bytedeco.dnnl.stream;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The three passes of a convolution on oneDNN, planned for arrays of one size.
 *
 * <p>The output has its channels last. If input and output channels are multiples of 16, the input
 * has, too, and no array is copied into another layout, except the weights, which are small. Any
 * other input has its channels first.
 */
final class ConvolutionPrimitives {

  /** Number of channels that a vector of oneDNN's holds; it is fast for multiples of it. */
  static final int BLOCK = 16;

  /** The dimensions of a convolution; padding on the right and at the bottom follows from them. */
  record Size(
      long samples,
      long channelsIn,
      long channelsOut,
      long height,
      long width,
      long kernelHeight,
      long kernelWidth,
      int strideY,
      int strideX,
      int padY,
      int padX,
      boolean bias) {

    long rows() {
      return (height + 2L * padY - kernelHeight) / strideY + 1;
    }

    long columns() {
      return (width + 2L * padX - kernelWidth) / strideX + 1;
    }

    ImageLayout inputLayout() {
      return channelsIn % BLOCK == 0 ? ImageLayout.CHANNELS_LAST : ImageLayout.CHANNELS_FIRST;
    }

    private long padBottom() {
      return (rows() - 1) * strideY + kernelHeight - height - padY;
    }

    private long padRight() {
      return (columns() - 1) * strideX + kernelWidth - width - padX;
    }
  }

  private final Size size;
  private final List<Pointer> owned = new ArrayList<>();
  private final stream stream = own(new stream(OneDnn.processor()));
  private final primitive_attr attributes = own(new primitive_attr());
  private final memory.desc input;
  private final memory.desc output;
  private final memory.desc weights;
  private final memory.desc bias;
  private final memory.desc anyInput;
  private final memory.desc anyOutput;
  private final memory.desc anyWeights;
  private final convolution_forward.primitive_desc plan;
  private final OneDnnOperation forward;
  private OneDnnOperation inputGradient;
  private OneDnnOperation weightGradient;

  ConvolutionPrimitives(Size size) {
    this.size = size;
    attributes.set_scratchpad_mode(dnnl.dnnl_scratchpad_mode_user);
    long[] x = {size.samples(), size.channelsIn(), size.height(), size.width()};
    long[] y = {size.samples(), size.channelsOut(), size.rows(), size.columns()};
    long[] w = {size.channelsOut(), size.channelsIn(), size.kernelHeight(), size.kernelWidth()};
    boolean direct = size.inputLayout() == ImageLayout.CHANNELS_LAST;
    // 16 channels are the same memory in both orders, and only the second has a fast kernel here.
    format_tag last = direct || size.channelsOut() != BLOCK ? format_tag.nhwc : format_tag.nChw16c;
    input = desc(x, direct ? format_tag.nhwc : format_tag.nchw);
    output = desc(y, last);
    weights = desc(w, format_tag.oihw);
    bias = size.bias() ? desc(new long[] {size.channelsOut()}, format_tag.x) : null;
    anyInput = direct ? input : desc(x, format_tag.any);
    anyOutput = direct ? output : desc(y, format_tag.any);
    anyWeights = desc(w, format_tag.any);
    plan =
        own(new convolution_forward.primitive_desc(forwardDesc(), attributes, OneDnn.processor()));
    forward = forward();
  }

  Size size() {
    return size;
  }

  /** Frees the native memory; nothing may be computed afterwards. */
  void close() {
    for (OneDnnOperation operation :
        new OneDnnOperation[] {forward, inputGradient, weightGradient}) {
      if (operation != null) {
        operation.close();
      }
    }
    owned.forEach(Pointer::deallocate);
  }

  /**
   * Computes the output.
   *
   * @param b null if the convolution has no bias
   */
  void forward(INDArray x, INDArray w, INDArray b, INDArray y) {
    if (b == null) {
      forward.run(x, w, y);
    } else {
      forward.run(x, w, b, y);
    }
  }

  /** Computes the gradient of the input. */
  void inputGradient(INDArray dy, INDArray w, INDArray dx) {
    if (inputGradient == null) {
      inputGradient = inputGradient();
    }
    inputGradient.run(dy, w, dx);
  }

  /**
   * Computes the gradients of weights and bias, summed over the samples.
   *
   * @param db null if the convolution has no bias
   */
  void weightGradient(INDArray x, INDArray dy, INDArray dw, INDArray db) {
    if (weightGradient == null) {
      weightGradient = weightGradient();
    }
    if (db == null) {
      weightGradient.run(x, dy, dw);
    } else {
      weightGradient.run(x, dy, dw, db);
    }
  }

  private convolution_forward.desc forwardDesc() {
    return own(
        bias == null
            ? new convolution_forward.desc(
                dnnl.dnnl_forward_training,
                dnnl.dnnl_convolution_direct,
                anyInput,
                anyWeights,
                anyOutput,
                strides(),
                paddingBefore(),
                paddingAfter())
            : new convolution_forward.desc(
                dnnl.dnnl_forward_training,
                dnnl.dnnl_convolution_direct,
                anyInput,
                anyWeights,
                bias,
                anyOutput,
                strides(),
                paddingBefore(),
                paddingAfter()));
  }

  private OneDnnOperation forward() {
    OneDnnOperation operation =
        new OneDnnOperation(stream, own(new convolution_forward(plan)), scratch(plan))
            .reads(dnnl.DNNL_ARG_SRC, input, own(plan.src_desc()))
            .reads(dnnl.DNNL_ARG_WEIGHTS, weights, own(plan.weights_desc()));
    if (bias != null) {
      operation.reads(dnnl.DNNL_ARG_BIAS, bias, bias);
    }
    return operation.writes(dnnl.DNNL_ARG_DST, output, own(plan.dst_desc()));
  }

  private OneDnnOperation inputGradient() {
    convolution_backward_data.desc desc =
        own(
            new convolution_backward_data.desc(
                dnnl.dnnl_convolution_direct,
                anyInput,
                anyWeights,
                anyOutput,
                strides(),
                paddingBefore(),
                paddingAfter()));
    convolution_backward_data.primitive_desc backward =
        own(
            new convolution_backward_data.primitive_desc(
                desc, attributes, OneDnn.processor(), plan));
    return new OneDnnOperation(
            stream, own(new convolution_backward_data(backward)), scratch(backward))
        .reads(dnnl.DNNL_ARG_DIFF_DST, output, own(backward.diff_dst_desc()))
        .reads(dnnl.DNNL_ARG_WEIGHTS, weights, own(backward.weights_desc()))
        .writes(dnnl.DNNL_ARG_DIFF_SRC, input, own(backward.diff_src_desc()));
  }

  private OneDnnOperation weightGradient() {
    convolution_backward_weights.desc desc =
        own(
            bias == null
                ? new convolution_backward_weights.desc(
                    dnnl.dnnl_convolution_direct,
                    anyInput,
                    anyWeights,
                    anyOutput,
                    strides(),
                    paddingBefore(),
                    paddingAfter())
                : new convolution_backward_weights.desc(
                    dnnl.dnnl_convolution_direct,
                    anyInput,
                    anyWeights,
                    bias,
                    anyOutput,
                    strides(),
                    paddingBefore(),
                    paddingAfter()));
    convolution_backward_weights.primitive_desc backward =
        own(
            new convolution_backward_weights.primitive_desc(
                desc, attributes, OneDnn.processor(), plan));
    OneDnnOperation operation =
        new OneDnnOperation(
                stream, own(new convolution_backward_weights(backward)), scratch(backward))
            .reads(dnnl.DNNL_ARG_SRC, input, own(backward.src_desc()))
            .reads(dnnl.DNNL_ARG_DIFF_DST, output, own(backward.diff_dst_desc()))
            .writes(dnnl.DNNL_ARG_DIFF_WEIGHTS, weights, own(backward.diff_weights_desc()));
    return bias == null ? operation : operation.writes(dnnl.DNNL_ARG_DIFF_BIAS, bias, bias);
  }

  private memory scratch(primitive_desc description) {
    return own(new memory(own(description.scratchpad_desc()), OneDnn.processor()));
  }

  private memory.desc desc(long[] shape, format_tag order) {
    return own(new memory.desc(shape, data_type.f32, order));
  }

  private long[] strides() {
    return new long[] {size.strideY(), size.strideX()};
  }

  private long[] paddingBefore() {
    return new long[] {size.padY(), size.padX()};
  }

  private long[] paddingAfter() {
    return new long[] {size.padBottom(), size.padRight()};
  }

  private <T extends Pointer> T own(T pointer) {
    owned.add(pointer);
    return pointer;
  }
}
