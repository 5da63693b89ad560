package io.vertigrad.engine.dl4j.kernels;

import com.google.flatbuffers.FlatBufferBuilder;
import org.nd4j.linalg.api.buffer.DataBuffer;
import org.nd4j.linalg.api.ndarray.BaseNDArray;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.LongShapeDescriptor;

/**
 * An array with its channels last in memory that adds another one in one loop over the memory.
 *
 * <p>A graph adds the gradients of an activation with several readers. ND4J computes each element's
 * place from its four indices if an array is not in the order of its shape, which takes ten times
 * as long as one loop over the memory.
 */
@SuppressWarnings(
    "overrides") // a stock class overrides varargs methods; javac warns in every subclass
final class ChannelsLastArray extends BaseNDArray {

  private static final long serialVersionUID = 1L;

  private final transient INDArray view;

  /** Creates an array over the memory of a view of the same shape and strides. */
  ChannelsLastArray(INDArray view) {
    super(view.data(), view.shape(), view.stride(), view.offset(), view.ordering());
    this.view = view;
  }

  @Override
  public INDArray addi(INDArray other) {
    if (!equalShapes(other)) {
      return super.addi(other);
    }
    INDArray arranged = ImageLayout.CHANNELS_LAST.arrange(other);
    view.permute(0, 2, 3, 1).addi(arranged.permute(0, 2, 3, 1));
    return this;
  }

  @Override
  public INDArray unsafeDuplication() {
    return view.unsafeDuplication();
  }

  @Override
  public INDArray unsafeDuplication(boolean blocking) {
    return view.unsafeDuplication(blocking);
  }

  @Override
  public LongShapeDescriptor shapeDescriptor() {
    return view.shapeDescriptor();
  }

  @Override
  public String getString(long index) {
    return view.getString(index);
  }

  @Override
  protected int stringBuffer(FlatBufferBuilder builder, DataBuffer buffer) {
    throw new UnsupportedOperationException("array of floats: it has no strings");
  }
}
