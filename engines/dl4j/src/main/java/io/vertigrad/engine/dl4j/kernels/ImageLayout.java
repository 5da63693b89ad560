package io.vertigrad.engine.dl4j.kernels;

import java.util.Arrays;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The order in memory of arrays of shape {@code [samples, channels, height, width]}.
 *
 * <p>The order shows in an array's strides, so a stock layer reads either. A fast layer keeps the
 * order of its input.
 */
enum ImageLayout {
  /** In the order of the shape: one channel's image after the other. Arrays of other ranks, too. */
  CHANNELS_FIRST {
    @Override
    INDArray arrange(INDArray array) {
      return NativeFloats.rows(array);
    }

    @Override
    INDArray create(LayerWorkspaceMgr memory, ArrayType type, long... shape) {
      return memory.createUninitialized(type, DataType.FLOAT, shape, 'c');
    }
  },

  /** All channels of one pixel side by side. */
  CHANNELS_LAST {
    @Override
    INDArray arrange(INDArray array) {
      return of(array) == this ? array : array.permute(0, 2, 3, 1).dup('c').permute(0, 3, 1, 2);
    }

    @Override
    INDArray create(LayerWorkspaceMgr memory, ArrayType type, long... shape) {
      long[] inMemory = {shape[0], shape[2], shape[3], shape[1]};
      INDArray array = memory.createUninitialized(type, DataType.FLOAT, inMemory, 'c');
      return new ChannelsLastArray(array.permute(0, 3, 1, 2));
    }
  };

  /** Returns the layout that an array has; channels first if it has neither. */
  static ImageLayout of(INDArray array) {
    if (array.rank() != 4) {
      return CHANNELS_FIRST;
    }
    long channels = array.size(1);
    long[] strides = {
      channels * array.size(2) * array.size(3), 1, channels * array.size(3), channels
    };
    return channels > 1 && Arrays.equals(array.stride(), strides) ? CHANNELS_LAST : CHANNELS_FIRST;
  }

  /** Returns the array itself if it has this layout, otherwise a copy that has. */
  abstract INDArray arrange(INDArray array);

  /** Returns a new array of this layout with undefined content. */
  abstract INDArray create(LayerWorkspaceMgr memory, ArrayType type, long... shape);

  /** Returns a copy of this layout. */
  INDArray copy(LayerWorkspaceMgr memory, ArrayType type, INDArray array) {
    INDArray arranged = arrange(array);
    INDArray copy = create(memory, type, array.shape());
    NativeFloats.of(copy).put(NativeFloats.of(arranged));
    return copy;
  }
}
