package io.vertigrad.training;

import static org.junit.jupiter.api.Assertions.assertSame;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Block.Kind;
import io.vertigrad.compute.ParameterLayout;
import java.util.List;
import org.junit.jupiter.api.Test;

class SavedModelTest {

  @Test
  void shouldUseTheModelsNamesWhenAFileSpellsThemWithoutDots() {
    ParameterLayout built = layout("s0b0a-bn.mean", 3);

    assertSame(built, SavedModel.calledAs(built, layout("s0b0a_bn_mean", 3)));
  }

  @Test
  void shouldKeepTheFilesNamesWhenItIsAnotherModel() {
    ParameterLayout built = layout("fc.W", 3);
    ParameterLayout wider = layout("fc_W", 4);
    ParameterLayout other = layout("out_W", 3);

    assertSame(wider, SavedModel.calledAs(built, wider));
    assertSame(other, SavedModel.calledAs(built, other));
  }

  private static ParameterLayout layout(String name, int length) {
    return new ParameterLayout(List.of(new Block(name, List.of(length), Kind.TRAINABLE)));
  }
}
