package io.vertigrad.compute.data;

import io.vertigrad.compute.Targets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Some samples of another data set, in an order of their own; nothing is copied. */
public final class DataSubset implements Dataset {

  private final Dataset all;
  private final int[] indices;

  /**
   * Creates a view.
   *
   * @param all the data set that has the samples
   * @param indices the samples to use, by their index there
   * @throws IndexOutOfBoundsException if an index is not that of a sample
   */
  public DataSubset(Dataset all, int... indices) {
    this.all = all;
    this.indices = indices.clone();
    for (int index : indices) {
      if (index < 0 || index >= all.size()) {
        throw new IndexOutOfBoundsException(
            "sample %s, expected one from 0 to %s".formatted(index, all.size() - 1));
      }
    }
  }

  @Override
  public int size() {
    return indices.length;
  }

  @Override
  public List<Integer> shape() {
    return all.shape();
  }

  @Override
  public int classes() {
    return all.classes();
  }

  @Override
  public Targets targets() {
    return all.targets();
  }

  @Override
  public List<String> classNames() {
    return all.classNames();
  }

  @Override
  public Map<String, Object> fitted() {
    return all.fitted();
  }

  @Override
  public int tokens() {
    return all.tokens();
  }

  @Override
  public String text(int... ids) {
    return all.text(ids);
  }

  @Override
  public void read(int index, float[] features, int offset) {
    all.read(indices[index], features, offset);
  }

  @Override
  public float black(int channel) {
    return all.black(channel);
  }

  @Override
  public Optional<List<Normalisation>> normalisation() {
    return all.normalisation();
  }

  @Override
  public int label(int index) {
    return all.label(indices[index]);
  }

  @Override
  public void readLabels(int index, int[] labels, int offset) {
    all.readLabels(indices[index], labels, offset);
  }

  @Override
  public void readTargets(int index, float[] targets, int offset) {
    all.readTargets(indices[index], targets, offset);
  }
}
