package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Dataset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Windows of a text's tokens. Features are the ids of a window; the target is the token after the
 * window or, at each position, the token after that position.
 *
 * @param bytes the text if its tokens are bytes; empty otherwise
 * @param ids the text's tokens otherwise
 * @param words the word of each id; empty if tokens are bytes
 * @param first index of the token at which the first window begins
 * @param size number of windows
 * @param length tokens of a window
 * @param stride tokens from the beginning of one window to the beginning of the next
 * @param tokens how many different tokens there are
 * @param each true if every position has a target
 */
record TextDataset(
    byte[] bytes,
    int[] ids,
    List<String> words,
    int first,
    int size,
    int length,
    int stride,
    int tokens,
    boolean each)
    implements Dataset {

  @Override
  public List<Integer> shape() {
    return List.of(length);
  }

  @Override
  public int classes() {
    return tokens;
  }

  @Override
  public Targets targets() {
    return Targets.classes(tokens, each ? length : 1);
  }

  @Override
  public void read(int index, float[] features, int offset) {
    int start = start(index);
    for (int i = 0; i < length; i++) {
      features[offset + i] = token(start + i);
    }
  }

  @Override
  public int label(int index) {
    return token(start(index) + length);
  }

  @Override
  public void readLabels(int index, int[] labels, int offset) {
    if (!each) {
      labels[offset] = label(index);
      return;
    }
    int start = start(index);
    for (int i = 0; i < length; i++) {
      labels[offset + i] = token(start + i + 1);
    }
  }

  /** Returns the text: bytes are read as UTF-8, words are separated by spaces. */
  @Override
  public String text(int... tokens) {
    if (words.isEmpty()) {
      byte[] text = new byte[tokens.length];
      for (int i = 0; i < text.length; i++) {
        text[i] = (byte) tokens[i];
      }
      return new String(text, StandardCharsets.UTF_8);
    }
    return Arrays.stream(tokens).mapToObj(words::get).collect(Collectors.joining(" "));
  }

  private int start(int index) {
    if (index < 0 || index >= size) {
      throw new IndexOutOfBoundsException(
          "sample %s, expected one from 0 to %s".formatted(index, size - 1));
    }
    return first + index * stride;
  }

  private int token(int at) {
    return ids.length > 0 ? ids[at] : bytes[at] & 0xFF;
  }
}
