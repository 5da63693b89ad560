package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.engine.pytorch.graph.ExportArchive;
import io.vertigrad.engine.pytorch.graph.Graph;
import io.vertigrad.engine.pytorch.graph.GraphExecutor;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares files of {@code torch.export} with what PyTorch 2.14 computed with the same networks:
 * {@code graph/exported.py} wrote some of them.
 */
class ExportedModelTest {

  private static final double TRAINED = 1e-5;
  private static final double INFERRED = 1e-6;
  private static final float RATE = 0.1f;

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "mlp",
        "conv",
        "resnet",
        "transformer",
        "lstm",
        "regression",
        "recurrent",
        "norms",
        "mixed",
        "frozen",
        "evaluated",
        "fixed",
        "views",
        "decomposed"
      })
  void shouldComputeWhatPyTorchDoesWhenItTrains(String name) {
    Reference reference = Reference.of(name);
    try (Model model = reference.open(file(name), new PyTorchEngine())) {
      assertOutput(reference, model);

      reference.train(model);

      int compared = 0;
      int first = 0;
      float[] trained = parameters(model);
      for (Block block : inOrder(model)) {
        assertArrayEquals(
            reference.values("after." + block.name()),
            Arrays.copyOfRange(trained, first, first + block.length()),
            (float) TRAINED,
            block.name());
        compared++;
        first += block.length();
      }
      assertEquals(reference.compared(), compared);
    }
  }

  @Test
  void shouldLeaveOutDropoutWhenItInfers() {
    Reference reference = Reference.of("dropped");
    try (Model model = reference.open(file("dropped"), new PyTorchEngine())) {
      assertOutput(reference, model);
      double loss = model.gradient(reference.batch());

      assertTrue(
          Math.abs(model.gradient(reference.batch()) - loss) > 1e-4, "dropout draws in training");
      assertOutput(reference, model);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"resnet", "transformer", "norms", "fixed", "views"})
  void shouldContinueFromTheSameParametersWhenItWasSaved(String name) throws IOException {
    Reference reference = Reference.of(name);
    Path saved = folder.resolve("saved.pt2");
    Path again = folder.resolve("again.pt2");
    try (Model model = reference.open(file(name), new PyTorchEngine())) {
      reference.train(model);
      model.save(saved);
      model.export("pt2", again);
      try (Model read = reference.open(saved, new PyTorchEngine())) {
        assertEquals(model.layout(), read.layout());
        assertArrayEquals(parameters(model), parameters(read), 0);
        assertEquals(model.gradient(reference.batch()), read.gradient(reference.batch()), 0);
      }
    }
    assertEquals(-1, Files.mismatch(saved, again), "equal models are equal bytes");
  }

  @ParameterizedTest
  @ValueSource(strings = {"resnet", "transformer", "lstm"})
  void shouldComputeTheSameWhenItsTensorsAreElsewhere(String name) {
    Reference reference = Reference.of(name);
    try (Model here = reference.open(file(name), new PyTorchEngine());
        Model there = reference.open(file(name), new PyTorchEngine(Place::copied))) {
      assertEquals(here.layout(), there.layout());
      reference.train(here);
      reference.train(there);

      assertArrayEquals(parameters(here), parameters(there), (float) TRAINED);
    }
  }

  @Test
  void shouldComputeInHalfPrecisionWhenItIsAskedTo() {
    Reference reference = Reference.of("transformer");
    ModelConfig config = reference.config(file("transformer"));
    try (Model exact = new PyTorchEngine().model(config);
        Model rounded = new PyTorchEngine().model(config.in(Precision.BFLOAT16))) {
      assertEquals(exact.gradient(reference.batch()), rounded.gradient(reference.batch()), 0.02);
    }
  }

  @Test
  void shouldKeepBuffersWhenItInfersAfterTrainingChangedViewsOfThem() {
    Reference reference = Reference.of("views");
    try (Model model = reference.open(file("views"), new PyTorchEngine())) {
      reference.train(model);
      float[] before = parameters(model);
      float[] first = model.probabilities(reference.batch(), reference.classes());

      assertArrayEquals(first, model.probabilities(reference.batch(), reference.classes()), 0);
      assertArrayEquals(before, parameters(model), 0);
    }
  }

  @Test
  void shouldWarnWhenBatchNormWasDecomposedInEvaluationMode() {
    assertTrue(warning("decomposed-evaluated").contains("its batch norm keeps its statistics"));
    assertTrue(warning("evaluated").contains("was exported in evaluation mode, and trains with"));
    assertEquals("", warning("decomposed"));
  }

  private static String warning(String name) {
    LibTorch.start(1);
    try (GraphModule module =
        new GraphModule(name, ExportArchive.read(file(name)), Place.shared(), Precision.FLOAT32)) {
      return module.warning().orElse("");
    }
  }

  @Test
  void shouldExchangeTiedWeightsOnceAndKeepTheModulesNames() {
    Reference reference = Reference.of("transformer");
    try (Model model = reference.open(file("transformer"), new PyTorchEngine())) {
      List<String> names = model.layout().blocks().stream().map(Block::name).toList();

      assertTrue(names.contains("l.0.a.q.weight"));
      assertTrue(names.contains("e.weight"));
      assertFalse(names.contains("o.weight"), "it is the same tensor as e.weight");
    }
  }

  @Test
  void shouldAddCountersAndNamesOfTiedWeightsWhenItsStateIsWritten() {
    Reference mlp = Reference.of("mlp");
    try (Model model = mlp.open(file("mlp"), new PyTorchEngine())) {
      mlp.train(model);
      Model.State counter = model.furtherState().get(0);

      assertEquals(1, model.furtherState().size());
      assertEquals("b.num_batches_tracked", counter.name());
      assertEquals("I64", counter.type());
      assertEquals(List.of(), counter.shape());
      assertEquals(5, counter.values().order(ByteOrder.LITTLE_ENDIAN).getLong(0), "steps");
    }
    Reference transformer = Reference.of("transformer");
    try (Model model = transformer.open(file("transformer"), new PyTorchEngine())) {
      transformer.train(model);
      Model.State tied = model.furtherState().get(0);

      assertEquals("o.weight", tied.name());
      assertEquals(
          parameters(model)[0], tied.values().order(ByteOrder.LITTLE_ENDIAN).getFloat(0), 0);
    }
  }

  @Test
  void shouldNeverTrainWhatIsFrozen() {
    Reference reference = Reference.of("frozen");
    try (Model model = reference.open(file("frozen"), new PyTorchEngine())) {
      Map<String, Block.Kind> kinds = new TreeMap<>();
      model.layout().blocks().forEach(block -> kinds.put(block.name(), block.kind()));

      assertEquals(Block.Kind.STATISTIC, kinds.get("a.weight"));
      assertEquals(Block.Kind.TRAINABLE, kinds.get("b.weight"));
    }
  }

  @Test
  void shouldRefuseAnotherBatchWhenTheFileHasAFixedOne() {
    Reference reference = Reference.of("fixed");
    PyTorchEngine engine = new PyTorchEngine();
    Settings job = Settings.of("job.json", new JsonObject());
    engine.checkBatch(file("fixed").toString(), 6, job);
    engine.checkBatch(file("mlp").toString(), 7, job);

    SettingsException refused =
        assertThrows(
            SettingsException.class, () -> engine.checkBatch(file("fixed").toString(), 32, job));

    assertTrue(refused.getMessage().contains("workers.batch is 32"), refused.getMessage());
    assertTrue(refused.getMessage().contains("for batches of 6"), refused.getMessage());
    Settings balanced =
        Settings.of(
            "job.json", JsonObject.of("workers", JsonObject.of("batch", 6, "balance", "speed")));
    engine.checkBatch(file("mlp").toString(), 6, balanced);
    refused =
        assertThrows(
            SettingsException.class,
            () -> engine.checkBatch(file("fixed").toString(), 6, balanced));
    assertTrue(refused.getMessage().contains("workers.balance is"), refused.getMessage());
    try (Model model = reference.open(file("fixed"), engine)) {
      Batch whole = reference.batch();
      Batch part =
          new Batch(
              Arrays.copyOf(whole.features(), 2 * 8),
              Arrays.copyOf(whole.labels(), 2),
              whole.shape(),
              0);
      float[] expected = Arrays.copyOf(model.probabilities(whole, 3), 2 * 3);

      assertArrayEquals(expected, model.probabilities(part, 3), (float) INFERRED);
      RuntimeException short2 =
          assertThrows(IllegalArgumentException.class, () -> model.gradient(part));
      assertTrue(short2.getMessage().contains("workers.dropLast"), short2.getMessage());
    }
  }

  @Test
  void shouldSayWhatItWasExportedForWhenTheDataDiffer() {
    ModelConfig config = Reference.of("conv").config(file("conv"));
    ModelConfig other =
        new ModelConfig(
            config.name(), Map.of(), List.of(1, 20, 20), 5, 1, 1, Loss.CROSS_ENTROPY, 1, 0);

    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> new PyTorchEngine().model(other));

    assertTrue(
        refused.getMessage().contains("was exported for samples of [1, 16, 16]"),
        refused.getMessage());
    assertTrue(refused.getMessage().contains("[1, 20, 20]"), refused.getMessage());
  }

  @Test
  void shouldNameTheNodeWhenItCannotRun() {
    Graph.Reference weight = new Graph.Reference("p_weight");
    Graph.Output one = new Graph.Output(List.of("found"), false);
    assertRefused(
        new Graph.Node(
            "add_",
            "torch.ops.aten.add_.Tensor",
            List.of(
                new Graph.Argument("self", weight),
                new Graph.Argument("other", new Graph.Constant(1L))),
            List.of(one)),
        "node add_ (torch.ops.aten.add_.Tensor) changes a parameter in place, expected only");
    assertRefused(
        new Graph.Node(
            "relu",
            "torch.ops.aten.relu.default",
            List.of(new Graph.Argument("self", new Graph.Elements(List.of(weight)))),
            List.of(one)),
        "node relu (torch.ops.aten.relu.default) has an argument self that is a list, expected");
    assertRefused(
        new Graph.Node(
            "neg",
            "_operator.neg",
            List.of(new Graph.Argument("", new Graph.Constant(1L))),
            List.of(new Graph.Output(List.of("found", "other"), true))),
        "node neg (_operator.neg) has other results than one number");
  }

  @SuppressWarnings("try")
  private static void assertRefused(Graph.Node node, String expected) {
    Graph graph =
        new Graph(
            List.of(
                new Graph.Input("p_weight", Graph.Kind.PARAMETER, "weight"),
                new Graph.Input("x", Graph.Kind.USER, "x")),
            List.of(node),
            "found",
            List.of());
    LibTorch.start(1);
    try (Place place = Place.shared();
        PointerScope scope = new PointerScope()) {
      Map<String, Tensor> tensors = Map.of("weight", torch.ones(2));
      String found =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> new GraphExecutor(graph, tensors, place.device()))
              .getMessage();
      assertTrue(found.startsWith(expected), found);
    }
  }

  private static void assertOutput(Reference reference, Model model) {
    float[] expected = reference.output();
    assertArrayEquals(
        expected, model.probabilities(reference.batch(), reference.classes()), (float) INFERRED);
  }

  private static float[] parameters(Model model) {
    FloatBuffer found = FloatBuffer.allocate(model.layout().length());
    model.readParameters(0, found);
    return found.array();
  }

  private static List<Block> inOrder(Model model) {
    return Arrays.stream(Block.Kind.values())
        .flatMap(kind -> model.layout().blocks().stream().filter(one -> one.kind() == kind))
        .toList();
  }

  private static Path file(String name) {
    return resource("graph/" + name + ".pt2");
  }

  private static Path resource(String name) {
    try {
      return Path.of(ExportedModelTest.class.getResource(name).toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A batch, and what PyTorch computes with it: a safetensors file. */
  private record Reference(JsonObject head, ByteBuffer data) {

    static Reference of(String name) {
      try {
        ByteBuffer file =
            ByteBuffer.wrap(Files.readAllBytes(resource("graph/" + name + ".safetensors")))
                .order(ByteOrder.LITTLE_ENDIAN);
        int length = Math.toIntExact(file.getLong());
        String head = new String(file.array(), Long.BYTES, length, StandardCharsets.UTF_8);
        ByteBuffer data = file.position(Long.BYTES + length).slice().order(file.order());
        return new Reference(new JsonObject(head), data);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    Model open(Path file, PyTorchEngine engine) {
      return engine.model(config(file));
    }

    ModelConfig config(Path file) {
      boolean tokens = type("x").equals("I64");
      return new ModelConfig(
          file.toString(),
          Map.of(),
          shape("x").subList(1, shape("x").size()),
          classes(),
          1,
          1,
          isRegression() ? Loss.MEAN_SQUARED_ERROR : Loss.CROSS_ENTROPY,
          shape("y").size() > 1 ? shape("y").get(1) : 1,
          tokens ? classes() : 0);
    }

    Batch batch() {
      float[] targets = values("y");
      int[] labels = new int[isRegression() ? 0 : targets.length];
      for (int i = 0; i < labels.length; i++) {
        labels[i] = (int) targets[i];
      }
      List<Integer> shape = shape("x");
      return new Batch(
          shape.get(0),
          values("x"),
          labels,
          isRegression() ? targets : new float[0],
          shape.subList(1, shape.size()),
          0);
    }

    /** Takes the steps of the reference, and compares the loss before each. */
    void train(Model model) {
      for (float loss : values("loss")) {
        assertEquals(loss, model.gradient(batch()), TRAINED);
        FloatBuffer gradient = FloatBuffer.allocate(model.layout().length());
        model.readGradient(0, gradient);
        float[] stepped = parameters(model);
        for (int i = 0; i < stepped.length; i++) {
          stepped[i] -= (i < model.layout().trainable() ? RATE : 1) * gradient.get(i);
        }
        model.writeParameters(0, FloatBuffer.wrap(stepped));
      }
    }

    boolean isRegression() {
      return type("y").equals("F32");
    }

    int classes() {
      List<Integer> output = shape("output");
      return isRegression() ? 1 : output.get(output.size() - 1);
    }

    /** Returns the values of a regression, or the probabilities of the output. */
    float[] output() {
      float[] output = values("output");
      assertNotNull(output);
      for (int row = 0; row < output.length && !isRegression(); row += classes()) {
        double sum = 0;
        for (int i = 0; i < classes(); i++) {
          sum += Math.exp(output[row + i]);
        }
        for (int i = 0; i < classes(); i++) {
          output[row + i] = (float) (Math.exp(output[row + i]) / sum);
        }
      }
      return output;
    }

    /**
     * Returns the number of tensors that are exchanged: tied ones once, counters and empty ones
     * not.
     */
    int compared() {
      return (int)
          head.fieldNames().stream()
              .filter(name -> name.startsWith("after.") && type(name).equals("F32"))
              .filter(name -> !shape(name).contains(0))
              .filter(name -> !name.equals("after.o.weight") || head.containsKey("after.o.bias"))
              .count();
    }

    private String type(String name) {
      return head.getJsonObject(name).getString("dtype");
    }

    private List<Integer> shape(String name) {
      return head.getJsonObject(name).getJsonArray("shape").stream()
          .map(Integer.class::cast)
          .toList();
    }

    /** Returns a tensor's values; null if there is none. */
    private float[] values(String name) {
      if (!head.containsKey(name)) {
        return null;
      }
      JsonArray place = head.getJsonObject(name).getJsonArray("data_offsets");
      int first = place.getInteger(0);
      boolean integers = type(name).equals("I64");
      float[] values = new float[(place.getInteger(1) - first) / (integers ? 8 : 4)];
      for (int i = 0; i < values.length; i++) {
        values[i] = integers ? data.getLong(first + 8 * i) : data.getFloat(first + 4 * i);
      }
      return values;
    }
  }
}
