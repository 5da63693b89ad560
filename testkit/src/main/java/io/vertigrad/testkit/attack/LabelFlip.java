package io.vertigrad.testkit.attack;

/** Wrong labels in the data of one worker, which then trains on them honestly. */
public enum LabelFlip {
  /**
   * {@code classes - 1 - label}, as in V. Tolpegin, S. Truex, M. Gursoy, L. Liu, Data Poisoning
   * Attacks Against Federated Learning Systems, ESORICS 2020, and in the papers on bucketing.
   */
  MIRRORED {
    @Override
    int of(int label, int classes) {
      return classes - 1 - label;
    }
  },
  /** {@code label + 1}, and 0 for the last one: a file whose labels slipped. */
  SHIFTED {
    @Override
    int of(int label, int classes) {
      return (label + 1) % classes;
    }
  };

  /**
   * Returns the wrong label.
   *
   * @param label the right one, from 0
   * @param classes number of classes, more than the label
   * @return from 0 to {@code classes - 1}
   */
  public int flip(int label, int classes) {
    if (label < 0 || label >= classes) {
      throw new IllegalArgumentException(
          "label %s of %s classes: expected 0 to %s".formatted(label, classes, classes - 1));
    }
    return of(label, classes);
  }

  abstract int of(int label, int classes);
}
