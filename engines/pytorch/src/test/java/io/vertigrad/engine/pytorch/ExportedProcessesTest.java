package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Trains files of {@code torch.export} by two workers in one JVM and in processes. */
@Tag("slow")
class ExportedProcessesTest {

  private static final Path RESOURCES =
      Path.of("src/test/resources/io/vertigrad/engine/pytorch/graph").toAbsolutePath();
  private static final int CLASSES = 10;
  private static final int TOKENS = 32;

  @TempDir private Path folder;

  private JsonObject job;

  @BeforeEach
  void describe() {
    job =
        new JsonObject()
            .put("job", "exported")
            .put("engine", "pytorch")
            .put("steps", 6)
            .put("optimizer", new JsonObject().put("learningRate", 0.05))
            .put("workers", new JsonObject().put("count", 2).put("batch", 4))
            .put("evaluator", new JsonObject().put("every", 6));
  }

  @Test
  void shouldEndWithTheSameParametersWhenAResNetTrainsInProcesses() throws Exception {
    SplittableRandom random = new SplittableRandom(1);
    for (String split : new String[] {"train", "test"}) {
      for (int i = 0; i < 4 * CLASSES; i++) {
        Path of = Files.createDirectories(folder.resolve("pictures/" + split + "/c" + i % CLASSES));
        BufferedImage picture = new BufferedImage(16, 16, BufferedImage.TYPE_INT_RGB);
        for (int pixel = 0; pixel < 256; pixel++) {
          picture.setRGB(pixel % 16, pixel / 16, random.nextInt(1 << 24));
        }
        ImageIO.write(picture, "png", of.resolve(i + ".png").toFile());
      }
    }
    job.put(
        "data",
        new JsonObject()
            .put("name", "images")
            .put("directory", folder + "/pictures")
            .put("height", 16)
            .put("width", 16));

    assertSameInProcesses("resnet");
  }

  @Test
  void shouldEndWithTheSameParametersWhenATransformerTrainsInProcesses() throws Exception {
    Path words = folder.resolve("words.txt");
    StringBuilder vocabulary = new StringBuilder("<unk>\n");
    StringBuilder text = new StringBuilder();
    for (int i = 1; i < TOKENS; i++) {
      vocabulary.append("w").append(i).append('\n');
    }
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 2_000; i++) {
      text.append("w").append(1 + random.nextInt(TOKENS - 1)).append(' ');
    }
    Files.writeString(words, vocabulary);
    Files.writeString(folder.resolve("text.txt"), text);
    job.put(
        "data",
        new JsonObject()
            .put("name", "text")
            .put("directory", folder + "/text.txt")
            .put("vocabulary", words.toString())
            .put("length", 12)
            .put("predict", "each"));

    assertSameInProcesses("transformer");
  }

  private void assertSameInProcesses(String model) throws IOException, InterruptedException {
    job.put("model", new JsonObject().put("name", RESOURCES.resolve(model + ".pt2").toString()));
    Path file = Files.writeString(folder.resolve("job.json"), job.encodePrettily());
    CommandProcess.run(folder, 0, "train", file.toString(), "--run-dir", "together");
    CommandProcess.run(folder, 0, "train", file.toString(), "--run-dir", "apart", "--processes");

    assertEquals(hash("together"), hash("apart"));
    assertTrue(Files.exists(folder.resolve("apart/model.pt2")));
    String checked = CommandProcess.run(folder, 0, "evaluate", folder.resolve("apart").toString());
    assertTrue(checked.contains(hash("apart")), checked);
  }

  private String hash(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")))
        .getString("parametersHash");
  }
}
