package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.engine.testing.FileMutants;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests DL4J files that are damaged or malicious. */
@Tag("slow")
class DamagedModelTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final String CONFIGURATION = "configuration.json";
  private static final String PARAMETERS = "coefficients.bin";
  private static final int CLASSES = 10;

  /**
   * Length of the data before the values: the shape with its header, then the header of the values.
   */
  private static final int COUNT_AT = 18 + 8 + 6 + 6 * 8 + 18;

  @TempDir private Path folder;
  private Path zip;

  @BeforeEach
  void save() throws IOException {
    zip = folder.resolve("model.zip");
    try (Model model = Samples.model("convnet", Map.of(), DIGIT, 1)) {
      model.save(zip);
    }
  }

  @Test
  void shouldReportAFileThatIsNoModel() throws IOException {
    byte[] whole = Files.readAllBytes(zip);
    Path empty = Files.write(folder.resolve("empty.zip"), new byte[0]);
    Path half = Files.write(folder.resolve("half.zip"), Arrays.copyOf(whole, whole.length / 2));
    Path other = folder.resolve("other.zip");
    write(other, Map.of("readme.txt", "no model".getBytes(StandardCharsets.UTF_8)));
    Path loop = folder.resolve("loop.zip");
    Files.createSymbolicLink(loop, loop);
    Path json = Files.writeString(folder.resolve("list.json"), "[1, 2]");
    Path deep = Files.writeString(folder.resolve("deep.json"), "{\"a\":".repeat(100_000));

    assertRefused(empty, "not a DL4J model (zip file is empty), expected a zip of ModelSerializer");
    assertRefused(half, "not a DL4J model (zip END header not found)");
    assertRefused(other, "not a DL4J model (no configuration.json in it)");
    assertRefused(loop, "no such file, expected a DL4J .zip or configuration .json");
    assertRefused(folder, "no such file");
    assertRefused(json, "configuration.json: expected one object");
    assertRefused(deep, "configuration.json: line 1, column");
  }

  @Test
  void shouldNameTheNumbersWhenParametersAndConfigurationDiffer() throws IOException {
    Map<String, byte[]> entries = entries(zip);
    byte[] parameters = entries.get(PARAMETERS);
    byte[] huge = parameters.clone();
    Arrays.fill(huge, COUNT_AT + 1, COUNT_AT + 8, (byte) 0x7f);
    Path lies = written(Map.of(PARAMETERS, huge), entries);
    Path cut =
        written(Map.of(PARAMETERS, Arrays.copyOf(parameters, parameters.length - 4)), entries);
    Path wide =
        written(Map.of(CONFIGURATION, changed(entries, "\"nout\" : 10", "\"nout\" : 11")), entries);
    Path vast =
        written(
            Map.of(CONFIGURATION, changed(entries, "\"nout\" : 10", "\"nout\" : 2000000000")),
            entries);

    assertRefused(lies, "parameters in 7,840 bytes, the configuration needs 1,960 of 4 bytes");
    assertRefused(cut, "coefficients.bin holds 1,960 parameters in 7,836 bytes");
    assertRefused(wide, "holds 1,960 parameters in 7,840 bytes, the configuration needs 2,153");
    assertRefused(vast, "not a DL4J model (the configuration has");
  }

  @Test
  void shouldReportAnUnknownDataFormatOfALayer() throws IOException {
    Map<String, byte[]> entries = entries(zip);
    String format = "\"cnn2dDataFormat\" : \"NCHW\"";
    String unknown = format.replace("NCHW", "cCHW");
    String json = new String(entries.get(CONFIGURATION), StandardCharsets.UTF_8);
    Path first = written(Map.of(CONFIGURATION, bytes(json.replaceFirst(format, unknown))), entries);
    Path all = written(Map.of(CONFIGURATION, changed(entries, format, unknown)), entries);

    assertRefused(first, "but cannot be trained on them (Invalid input data or configuration");
    assertRefused(all, "does not take samples of shape [1, 28, 28]: Invalid input, does not match");
  }

  @Test
  void shouldReportALayerWithoutActivation() throws IOException {
    Map<String, byte[]> entries = entries(zip);
    Path file =
        written(Map.of(CONFIGURATION, changed(entries, "activationFn", "activation")), entries);
    ModelConfig config = new ModelConfig(file.toString(), Map.of(), DIGIT, CLASSES, 1, 1);

    assertRefused(file, "cannot be made into a network (");
    String split =
        assertThrows(
                IllegalArgumentException.class,
                () -> Engine.named("dl4j").split(config, SplitConfig.into(2)))
            .getMessage();
    assertTrue(split.startsWith("model " + file + ": "), split);
  }

  @Test
  void shouldNotRunTheContentOfAZip() throws IOException {
    ByteArrayOutputStream object = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(object)) {
      out.writeObject(new Trap());
    }
    Path trapped = written(Map.of("preprocessor.bin", object.toByteArray()), entries(zip));

    open(trapped);

    assertEquals(0, Trap.sprung, "objects that were read");
  }

  @Test
  @Timeout(value = 600, unit = TimeUnit.SECONDS)
  void shouldReadOrRefuseWhenAZipIsDamaged() throws Exception {
    int refused = FileMutants.read(zip, 1, "model " + zip + ": ", DamagedModelTest::open);

    assertTrue(refused > FileMutants.count() / 2, refused + " were refused");
  }

  /** Damages the configuration and corrects its checksum. */
  @Test
  @Timeout(value = 600, unit = TimeUnit.SECONDS)
  void shouldReadOrRefuseWhenAConfigurationIsDamaged() throws Exception {
    Map<String, byte[]> entries = entries(zip);
    Path json = folder.resolve("configuration");
    Files.write(json, entries.get(CONFIGURATION));
    Path damaged = folder.resolve("damaged.zip");

    int refused =
        FileMutants.read(
            json,
            2,
            "model " + damaged + ": ",
            mutant -> {
              write(damaged, with(entries, Map.of(CONFIGURATION, Files.readAllBytes(mutant))));
              open(damaged);
            });

    assertTrue(refused > FileMutants.count() / 2, refused + " were refused");
  }

  /** Damages the parameters and corrects their checksum. */
  @Test
  @Timeout(value = 600, unit = TimeUnit.SECONDS)
  void shouldReadOrRefuseWhenParametersAreDamaged() throws Exception {
    Map<String, byte[]> entries = entries(zip);
    Path header = folder.resolve("header");
    byte[] whole = entries.get(PARAMETERS);
    Files.write(header, Arrays.copyOf(whole, COUNT_AT + 20));
    byte[] rest = Arrays.copyOfRange(whole, COUNT_AT + 20, whole.length);
    Path damaged = folder.resolve("damaged.zip");

    FileMutants.read(
        header,
        3,
        "model " + damaged + ": ",
        mutant -> {
          ByteArrayOutputStream joined = new ByteArrayOutputStream();
          joined.writeBytes(Files.readAllBytes(mutant));
          joined.writeBytes(rest);
          write(damaged, with(entries, Map.of(PARAMETERS, joined.toByteArray())));
          open(damaged);
        });
  }

  private static void open(Path file) {
    ModelConfig config = new ModelConfig(file.toString(), Map.of(), DIGIT, CLASSES, 1, 1);
    try (Model model = Engine.named("dl4j").model(config)) {
      Batch batch = Samples.batch(2, DIGIT, CLASSES, 1);
      model.probabilities(batch, CLASSES);
      model.gradient(batch);
    }
  }

  private static void assertRefused(Path file, String message) {
    String found = assertThrows(IllegalArgumentException.class, () -> open(file)).getMessage();
    assertTrue(found.startsWith("model " + file + ": "), found);
    assertTrue(found.contains(message), found);
    assertEquals(1, found.lines().count(), found);
  }

  private Path written(Map<String, byte[]> changes, Map<String, byte[]> entries)
      throws IOException {
    Path file = Files.createTempFile(folder, "changed", ".zip");
    write(file, with(entries, changes));
    return file;
  }

  private static Map<String, byte[]> with(
      Map<String, byte[]> entries, Map<String, byte[]> changes) {
    Map<String, byte[]> all = new TreeMap<>(entries);
    all.putAll(changes);
    return all;
  }

  private static byte[] changed(Map<String, byte[]> entries, String old, String by) {
    String json = new String(entries.get(CONFIGURATION), StandardCharsets.UTF_8);
    assertTrue(json.contains(old), json);
    return bytes(json.replace(old, by));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static Map<String, byte[]> entries(Path file) throws IOException {
    Map<String, byte[]> entries = new TreeMap<>();
    try (ZipFile opened = new ZipFile(file.toFile())) {
      for (ZipEntry entry : Collections.list(opened.entries())) {
        entries.put(entry.getName(), opened.getInputStream(entry).readAllBytes());
      }
    }
    return entries;
  }

  private static void write(Path file, Map<String, byte[]> entries) throws IOException {
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(file))) {
      for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
        out.putNextEntry(new ZipEntry(entry.getKey()));
        out.write(entry.getValue());
        out.closeEntry();
      }
    }
  }

  /** Counts how often an object is created from its serialised form. */
  private static final class Trap implements Serializable {

    private static final long serialVersionUID = 1L;
    private static int sprung;

    private Object readResolve() {
      sprung++;
      return this;
    }
  }
}
