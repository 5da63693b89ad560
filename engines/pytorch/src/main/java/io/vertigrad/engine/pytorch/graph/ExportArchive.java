package io.vertigrad.engine.pytorch.graph;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.engine.pytorch.graph.ExportedProgram.Stored;
import io.vertigrad.engine.pytorch.graph.Graph.Input;
import io.vertigrad.engine.pytorch.graph.Graph.Kind;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A {@code .pt2} file as {@code torch.export.save} of PyTorch 2.6 to 2.14 writes it. It is a zip
 * that holds a graph as JSON and the values of its tensors: as raw bytes since 2.9, as files of
 * {@code torch.save} before.
 *
 * <p>Everything is checked while it is read, and memory is taken only for what the file holds.
 */
public final class ExportArchive {

  private static final String KIND = "a program of torch.export";
  private static final String ADVICE = "write one with torch.export.save(program, \"model.pt2\")";
  private static final String EXPECTED = "expected %s; %s".formatted(KIND, ADVICE);

  private static final String FORMAT = "archive_format";
  private static final String VERSION = "archive_version";
  private static final String ORDER = "byteorder";
  private static final String PROGRAMS = "models/";
  private static final String WEIGHTS = "data/weights/";
  private static final String CONSTANTS = "data/constants/";
  private static final String SAMPLES = "data/sample_inputs/model.pt";
  private static final String JSON = ".json";
  private static final String MODEL = "model";

  private static final String OLD_PROGRAM = "serialized_exported_program.json";
  private static final String OLD_WEIGHTS = "serialized_state_dict.pt";
  private static final String OLD_CONSTANTS = "serialized_constants.pt";

  private static final int MOST_JSON = 64 << 20;
  private static final int MOST_PICKLE = 16 << 20;
  private static final int MOST_TEXT = 64;
  private static final int TILE = 1 << 16;
  private static final int MOST_VALUES = Integer.MAX_VALUE - 8;

  private static final JsonObject CPU = new JsonObject().put("type", "cpu").putNull("index");

  /** Bytes that tensors may have beyond twice the length of the file. */
  private static final long MOST_EXPANDED = 256 << 20;

  /** A run of bytes that tensors share. */
  private record Storage(CheckedZip zip, String entry) {}

  /** Where the values of a tensor are. */
  private record Place(Storage storage, TensorView view) {}

  private final CheckedZip zip;
  private final boolean keep;
  private final String root;
  private final long most;

  private ExportArchive(CheckedZip zip, long length, boolean keep) {
    this.zip = zip;
    this.keep = keep;
    this.most = MOST_EXPANDED + 2 * length;
    String first = zip.names().isEmpty() ? "" : zip.names().get(0);
    this.root = zip.has(FORMAT) ? "" : first.substring(0, first.indexOf('/') + 1);
  }

  /**
   * Reads a file. It takes about as much heap as the file is long.
   *
   * @throws IllegalArgumentException when it is missing, damaged, of an unknown version, or a
   *     network that cannot be run or trained here; the message says which, and what to do
   */
  public static ExportedProgram read(Path file) {
    return open(file, true);
  }

  /**
   * Reads a file and compares all checksums, without keeping its tensors.
   *
   * @return the number of samples that the network takes, if it takes only that
   * @throws IllegalArgumentException when {@link #read} would refuse it
   */
  public static OptionalLong check(Path file) {
    return open(file, false).batch();
  }

  /** Returns true for an archive of {@code torch.export}, by the names in it. */
  public static boolean isProgram(CheckedZip zip) {
    return zip.has(OLD_PROGRAM)
        || zip.names().stream().anyMatch(name -> name.matches("([^/]+/)?archive_format"));
  }

  private static ExportedProgram open(Path file, boolean keep) {
    return CheckedZip.open(
        file, KIND, ADVICE, zip -> new ExportArchive(zip, Files.size(file), keep).read());
  }

  private ExportedProgram read() throws IOException {
    if (zip.has(OLD_PROGRAM)) {
      return read(OLD_PROGRAM, saved(OLD_WEIGHTS), saved(OLD_CONSTANTS));
    }
    checkFormat();
    String name = program();
    String weights = root + WEIGHTS + name;
    String constants = root + CONSTANTS + name;
    return read(
        root + PROGRAMS + name + JSON,
        zip.has(weights + ".pt") ? saved(weights + ".pt") : raw(WEIGHTS, name),
        zip.has(constants + ".pt") ? saved(constants + ".pt") : raw(CONSTANTS, name));
  }

  private void checkFormat() throws IOException {
    if (zip.has(root + "data.pkl")
        && zip.names().stream().anyMatch(name -> name.startsWith(root + "code/"))) {
      throw new ArchiveException(
          "is a TorchScript module, %s, or give this file a name that ends in .pt"
              .formatted(EXPECTED));
    }
    if (!zip.has(root + FORMAT)) {
      throw new ArchiveException(
          "is a zip without %s and %s, %s".formatted(FORMAT, OLD_PROGRAM, EXPECTED));
    }
    expect(FORMAT, "pt2", "an archive of torch.export");
    if (zip.has(root + VERSION)) {
      expect(VERSION, "0", "what PyTorch 2.8 to 2.14 write");
    }
    if (zip.has(root + ORDER)) {
      expect(ORDER, "little", "an archive from a little-endian machine: save it again on one");
    }
  }

  private void expect(String entry, String expected, String what) throws IOException {
    String found = new String(zip.read(root + entry, MOST_TEXT), StandardCharsets.UTF_8).strip();
    if (!found.equals(expected)) {
      throw new ArchiveException(
          "has \"%s\" in %s, expected \"%s\", %s"
              .formatted(JsonText.shown(found), entry, expected, what));
    }
  }

  private String program() throws ArchiveException {
    String folder = root + PROGRAMS;
    List<String> programs =
        zip.names().stream()
            .filter(name -> name.startsWith(folder) && name.endsWith(JSON))
            .map(name -> name.substring(folder.length(), name.length() - JSON.length()))
            .toList();
    if (programs.size() != 1) {
      boolean compiled =
          zip.names().stream().anyMatch(name -> name.startsWith(root + "data/aotinductor/"));
      throw new ArchiveException(
          programs.isEmpty() && compiled
              ? "is compiled by AOTInductor and has no graph, " + EXPECTED
              : "has %s programs in %s, expected one%s"
                  .formatted(
                      programs.size(),
                      PROGRAMS,
                      programs.isEmpty() ? ": it is damaged" : ": save each in a file of its own"));
    }
    return programs.get(0);
  }

  private ExportedProgram read(
      String programFile, Map<String, Place> weights, Map<String, Place> constants)
      throws IOException {
    String shown = programFile.substring(root.length());
    JsonValue program = JsonValue.parse(shown, zip.read(programFile, MOST_JSON));
    GraphReader reader = GraphReader.read(program);
    Map<String, Place> places = new LinkedHashMap<>();
    for (Input input : reader.graph().inputs()) {
      if (input.kind() != Kind.USER) {
        boolean constant = reader.constants().contains(input.tensor());
        places.put(input.tensor(), place(reader, input, constant ? constants : weights));
      }
    }
    if (places.values().stream().noneMatch(place -> place.view.trained())) {
      throw new ArchiveException(
          "has no parameters to train, expected a network with at least one");
    }
    // The module may have tensors that its graph does not read. PyTorch wants them back.
    weights.forEach(places::putIfAbsent);
    Map<Place, Stored> stored = load(places.values());
    // Two names of one tensor have the same place, and so the same object.
    Map<String, Stored> tensors = new LinkedHashMap<>();
    places.forEach((name, place) -> tensors.put(name, stored.get(place)));
    return new ExportedProgram(
        reader.graph(),
        tensors,
        reader.sample(),
        reader.batch(),
        reader.type().aten(),
        program.object());
  }

  private static Place place(GraphReader reader, Input input, Map<String, Place> places)
      throws ArchiveException {
    String shown = JsonText.shown(input.tensor());
    Place place = places.get(input.tensor());
    if (place == null) {
      throw new ArchiveException("has no values for %s: it is damaged".formatted(shown));
    }
    TensorView view = place.view;
    if (input.kind() == Kind.PARAMETER && view.type() != ElementType.FLOAT32) {
      throw new ArchiveException(
          "parameter %s is of %s, expected float32: export it after net.float()"
              .formatted(shown, view.type().text()));
    }
    reader.check(input, view);
    return input.kind() == Kind.PARAMETER ? place : new Place(place.storage, view.untrained());
  }

  /** Finds the tensors of {@code model_weights_config.json} and its like. */
  private Map<String, Place> raw(String folder, String name) throws IOException {
    String config = config(folder, name);
    JsonValue tensors = JsonValue.parse(config, zip.read(root + config, MOST_JSON)).get("config");
    Map<String, Place> places = new LinkedHashMap<>();
    for (Map.Entry<String, JsonValue> one : tensors.fields().entrySet()) {
      JsonValue tensor = one.getValue();
      String path = tensor.get("path_name").text();
      if (tensor.get("use_pickle").truth()) {
        throw new ArchiveException(
            "has %s as a Python object, expected a plain tensor"
                .formatted(JsonText.shown(one.getKey())));
      }
      TensorView view = TensorView.of(tensor.get("tensor_meta"));
      places.put(one.getKey(), place(zip, root + folder + path, view, one.getKey()));
    }
    return places;
  }

  /** Returns the name of the description of a folder's tensors. */
  private static String config(String folder, String name) {
    String kind = folder.equals(WEIGHTS) ? "weights" : "constants";
    return "%s%s_%s_config%s".formatted(folder, name, kind, JSON);
  }

  /** Finds the tensors of a file of {@code torch.save}. */
  private Map<String, Place> saved(String entry) throws IOException {
    if (zip.size(entry) == 0) {
      return Map.of();
    }
    String shown = entry.substring(root.length());
    CheckedZip inner = zip.nested(entry);
    String pickle =
        inner.names().stream()
            .filter(name -> name.matches("[^/]+/data\\.pkl"))
            .findFirst()
            .orElseThrow(() -> new ArchiveException(shown + " has no data.pkl: it is damaged"));
    String folder = pickle.substring(0, pickle.indexOf('/') + 1);
    if (inner.has(folder + ORDER)
        && !"little"
            .equals(new String(inner.read(folder + ORDER, MOST_TEXT), StandardCharsets.UTF_8))) {
      throw new ArchiveException(
          shown + " is of a big-endian machine, expected little-endian: save it again on one");
    }
    Map<String, Place> places = new LinkedHashMap<>();
    for (Map.Entry<String, TensorPickle.Saved> one :
        TensorPickle.read(shown, inner.read(pickle, MOST_PICKLE)).entrySet()) {
      TensorPickle.Saved tensor = one.getValue();
      String storage = folder + "data/" + tensor.storage();
      long length = inner.size(storage);
      if (length / tensor.view().type().bytes() != tensor.storageLength()) {
        throw new ArchiveException(
            "%s has %s bytes for %s, expected %s elements of %s"
                .formatted(
                    shown,
                    length,
                    JsonText.shown(one.getKey()),
                    tensor.storageLength(),
                    tensor.view().type().text()));
      }
      places.put(one.getKey(), place(inner, storage, tensor.view(), one.getKey()));
    }
    return places;
  }

  private Place place(CheckedZip zip, String entry, TensorView view, String name)
      throws ArchiveException {
    long length = zip.size(entry);
    if (view.storageBytes() > length || length > MOST_VALUES || view.bytes() > MOST_VALUES) {
      throw new ArchiveException(
          String.format(
              Locale.ROOT,
              "has %,d bytes for %s, expected %,d to %,d",
              length,
              JsonText.shown(name),
              view.storageBytes(),
              MOST_VALUES));
    }
    return new Place(new Storage(zip, entry), view);
  }

  /** Reads each storage once, and makes the tensors that lie in it. */
  private Map<Place, Stored> load(Collection<Place> places) throws IOException {
    Map<Storage, Set<Place>> storages = new LinkedHashMap<>();
    long bytes = 0;
    for (Place place : places) {
      if (storages.computeIfAbsent(place.storage, key -> new LinkedHashSet<>()).add(place)) {
        bytes += place.view.bytes();
      }
      if (bytes > most) {
        throw new ArchiveException(
            String.format(
                Locale.ROOT, "has tensors that share memory and have more than %,d bytes", most));
      }
    }
    Map<Place, Stored> stored = new HashMap<>();
    for (Map.Entry<Storage, Set<Place>> one : storages.entrySet()) {
      Storage storage = one.getKey();
      byte[] content =
          keep ? storage.zip.read(storage.entry, MOST_VALUES) : storage.zip.check(storage.entry, 0);
      for (Place place : one.getValue()) {
        TensorView view = place.view;
        ByteBuffer values = keep ? view.values(content) : ByteBuffer.wrap(content);
        stored.put(place, new Stored(view.type().aten(), view.shape(), values, view.trained()));
      }
    }
    return stored;
  }

  /**
   * Writes a program with new values, as PyTorch 2.9 to 2.14 do. Equal programs and values give
   * equal bytes.
   *
   * @param program its graph is written unchanged
   * @param values of parameters and buffers by the module's names, contiguous and little-endian
   *     from position to limit; what is absent keeps its value. Of several names of one tensor the
   *     first that is present counts
   * @param file is replaced if it exists
   * @throws IllegalArgumentException when the program has no such tensor, or one of another size
   * @throws IOException when the file cannot be written
   */
  public static void write(ExportedProgram program, Map<String, ByteBuffer> values, Path file)
      throws IOException {
    checkValues(program, values);
    Set<String> constants = constants(program);
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file));
        ZipOutputStream zip = new ZipOutputStream(out)) {
      Map<Stored, ByteBuffer> replaced = new IdentityHashMap<>();
      program
          .tensors()
          .forEach(
              (name, stored) -> {
                if (values.containsKey(name)) {
                  replaced.putIfAbsent(stored, values.get(name));
                }
              });
      Map<String, Stored> weights = new LinkedHashMap<>(program.tensors());
      weights.keySet().removeAll(constants);
      Map<String, Stored> fixed = new LinkedHashMap<>(program.tensors());
      fixed.keySet().retainAll(constants);
      Set<String> parameters = parameters(program);
      Map<String, Object> devices = devices(program);
      write(zip, WEIGHTS, weights, parameters, devices, replaced);
      write(zip, CONSTANTS, fixed, Set.of(), devices, replaced);
      write(zip, PROGRAMS + MODEL + JSON, JsonValue.bytes(program.source()));
      // The example input of the export is optional, and its pickle is not read here.
      write(zip, SAMPLES, new byte[0]);
      write(zip, FORMAT, text("pt2"));
      write(zip, VERSION, text("0"));
      write(zip, ORDER, text("little"));
      write(zip, ".data/version", text("6\n"));
    }
  }

  private static void checkValues(ExportedProgram program, Map<String, ByteBuffer> values) {
    values.forEach(
        (name, value) -> {
          Stored stored = program.tensors().get(name);
          if (stored == null) {
            throw new IllegalArgumentException(
                "%s is no tensor of the program, expected one of %s"
                    .formatted(name, JsonText.shown(program.tensors().keySet().toString())));
          }
          if (value.remaining() != stored.bytes()) {
            throw new IllegalArgumentException(
                "%s has %s bytes, expected %s".formatted(name, value.remaining(), stored.bytes()));
          }
        });
  }

  private static Set<String> constants(ExportedProgram program) {
    try {
      return GraphReader.read(new JsonValue(program.source(), "program:")).constants();
    } catch (ArchiveException e) {
      throw new IllegalArgumentException("the program " + e.getMessage(), e);
    }
  }

  /** Returns the names of parameters, with those that only the module has for one. */
  private static Set<String> parameters(ExportedProgram program) {
    Set<Stored> parameters = Collections.newSetFromMap(new IdentityHashMap<>());
    for (Input input : program.graph().inputs()) {
      if (input.kind() == Kind.PARAMETER) {
        parameters.add(program.tensors().get(input.tensor()));
      }
    }
    Set<String> names = new HashSet<>();
    program
        .tensors()
        .forEach(
            (name, stored) -> {
              if (stored.trained() || parameters.contains(stored)) {
                names.add(name);
              }
            });
    return names;
  }

  /** Returns the devices of tensors that the graph reads, as the schema describes them. */
  private static Map<String, Object> devices(ExportedProgram program) {
    JsonObject values =
        program
            .source()
            .getJsonObject("graph_module")
            .getJsonObject("graph")
            .getJsonObject("tensor_values");
    Map<String, Object> devices = new HashMap<>();
    for (Input input : program.graph().inputs()) {
      devices.put(input.tensor(), values.getJsonObject(input.value()).getValue("device"));
    }
    return devices;
  }

  private static void write(
      ZipOutputStream zip,
      String folder,
      Map<String, Stored> tensors,
      Set<String> parameters,
      Map<String, Object> devices,
      Map<Stored, ByteBuffer> replaced)
      throws IOException {
    Map<Stored, String> written = new IdentityHashMap<>();
    JsonObject described = new JsonObject();
    for (Map.Entry<String, Stored> one : tensors.entrySet()) {
      Stored stored = one.getValue();
      String path = written.get(stored);
      if (path == null) {
        path = (folder.equals(WEIGHTS) ? "weight_" : "tensor_") + written.size();
        written.put(stored, path);
        write(zip, folder + path, replaced.getOrDefault(stored, stored.values()));
      }
      described.put(
          one.getKey(),
          new JsonObject()
              .put("path_name", path)
              .put("is_param", parameters.contains(one.getKey()))
              .put("use_pickle", false)
              .put("tensor_meta", meta(stored, devices.getOrDefault(one.getKey(), CPU))));
    }
    write(zip, config(folder, MODEL), JsonValue.bytes(new JsonObject().put("config", described)));
  }

  private static JsonObject meta(Stored stored, Object device) {
    JsonArray sizes = new JsonArray();
    JsonArray strides = new JsonArray();
    List<Long> shape = stored.shape();
    for (int i = 0; i < shape.size(); i++) {
      long stride = 1;
      for (long one : shape.subList(i + 1, shape.size())) {
        stride *= Math.max(one, 1);
      }
      sizes.add(fixed(shape.get(i)));
      strides.add(fixed(stride));
    }
    return new JsonObject()
        .put("dtype", ElementType.ofAten(stored.type()).orElseThrow().schema())
        .put("sizes", sizes)
        .put("requires_grad", stored.trained())
        .put("device", device)
        .put("strides", strides)
        .put("storage_offset", fixed(0))
        .put("layout", TensorView.STRIDED);
  }

  private static JsonObject fixed(long number) {
    return new JsonObject().put("as_int", number);
  }

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void write(ZipOutputStream zip, String name, byte[] content) throws IOException {
    write(zip, name, ByteBuffer.wrap(content));
  }

  private static void write(ZipOutputStream zip, String name, ByteBuffer content)
      throws IOException {
    CRC32 crc = new CRC32();
    crc.update(content.duplicate());
    ZipEntry entry = new ZipEntry(MODEL + "/" + name);
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(content.remaining());
    entry.setCrc(crc.getValue());
    // A fixed time makes equal programs equal files.
    entry.setTimeLocal(LocalDateTime.of(1980, 1, 1, 0, 0));
    zip.putNextEntry(entry);
    byte[] tile = new byte[TILE];
    ByteBuffer rest = content.duplicate();
    while (rest.hasRemaining()) {
      int some = Math.min(TILE, rest.remaining());
      rest.get(tile, 0, some);
      zip.write(tile, 0, some);
    }
    zip.closeEntry();
  }
}
