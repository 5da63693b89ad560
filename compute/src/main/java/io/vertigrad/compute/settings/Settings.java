package io.vertigrad.compute.settings;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * One section of a job file, read key by key; {@link #refuseUnknown()} closes it.
 *
 * <p>A key that is absent or null takes its default; defaults are not checked. Every error is a
 * {@link SettingsException} that names the file, the path of the key, what was found and what was
 * expected. Not thread-safe.
 */
public final class Settings {

  private static final int SHOWN_CHARACTERS = 80;
  private static final String SCHEMA = "$schema";

  private final String origin;
  private final String path;
  private final JsonObject values;
  private final Set<KeyTrait> traits;
  private final Map<String, Set<KeyTrait>> known;
  private final JsonObject defaults;
  private final Map<String, Settings> sections;

  private Settings(String origin, String path, JsonObject values, Set<KeyTrait> traits) {
    this.origin = origin;
    this.path = path;
    this.values = values;
    this.traits = traits;
    this.known = new TreeMap<>();
    this.defaults = new JsonObject();
    this.sections = new TreeMap<>();
  }

  private Settings(Settings section, Set<KeyTrait> traits) {
    this.origin = section.origin;
    this.path = section.path;
    this.values = section.values;
    this.traits = traits;
    this.known = section.known;
    this.defaults = section.defaults;
    this.sections = section.sections;
  }

  /**
   * Returns the root section of a file.
   *
   * @param origin name of the file in errors
   * @param values content of the file; it is not changed
   * @return the root section
   */
  public static Settings of(String origin, JsonObject values) {
    return new Settings(origin, "", values, Set.of());
  }

  /**
   * Returns a section that was taken out of a file, for code that receives only this section. Its
   * errors still name the file and the section's place in it.
   *
   * @param origin name of the file in errors
   * @param path keys from the root of the file to the section, separated by dots
   * @param values content of the section; it is not changed
   * @return the section
   */
  public static Settings at(String origin, String path, JsonObject values) {
    return new Settings(origin, path, values, Set.of());
  }

  /**
   * Returns a nested section, which must be closed separately; empty when absent.
   *
   * @param key of this section
   * @return the section below it
   */
  public Settings section(String key) {
    Object found = value(key);
    if (found != null && !(found instanceof JsonObject)) {
      throw wrong(key, found, "an object { ... }");
    }
    JsonObject object = found == null ? new JsonObject() : (JsonObject) found;
    Settings before = sections.get(key);
    Settings section =
        before == null
            ? new Settings(origin, at(key), object, known.get(key))
            : new Settings(before, known.get(key));
    sections.put(key, section);
    return section;
  }

  /**
   * Returns this section for reading keys that have the given traits, and sections whose keys have
   * them unless they are read with others.
   *
   * @param traits the scope of the keys
   * @return the same section
   */
  public Settings with(KeyTrait... traits) {
    return new Settings(
        this, traits.length == 0 ? Set.of() : EnumSet.copyOf(Arrays.asList(traits)));
  }

  /**
   * Returns the traits of a key. A key that has not been read has those of the innermost section
   * around it that was.
   *
   * @param path keys from this section to the key, separated by dots
   * @return its scope
   */
  public Set<KeyTrait> traits(String path) {
    int dot = path.indexOf('.');
    String first = dot < 0 ? path : path.substring(0, dot);
    Settings section = sections.get(first);
    return dot < 0 || section == null
        ? known.getOrDefault(first, traits)
        : section.traits(path.substring(dot + 1));
  }

  /**
   * Returns the keys that were read, those of the sections below included.
   *
   * @return paths from this section, sorted; a section is no key
   */
  public List<String> keys() {
    List<String> keys = new ArrayList<>();
    for (String key : known.keySet()) {
      Settings section = sections.get(key);
      if (section == null) {
        keys.add(key);
      } else {
        section.keys().forEach(below -> keys.add(key + "." + below));
      }
    }
    return keys;
  }

  /**
   * Returns true when the key is present and not null. The key then counts as known.
   *
   * @param key of this section
   * @return true when it has a value
   */
  public boolean has(String key) {
    return value(key) != null;
  }

  /**
   * Returns true when the key holds an object, which {@link #section} reads. The key then counts as
   * known.
   *
   * @param key of this section
   * @return true for an object
   */
  public boolean isSection(String key) {
    return value(key) instanceof JsonObject;
  }

  /**
   * Returns the keys that were read and have a trait.
   *
   * @param trait the trait
   * @return paths from this section, sorted; {@code section.*} stands for all keys of a section
   */
  public Set<String> keys(KeyTrait trait) {
    Set<String> names = new TreeSet<>();
    List<String> keys = keys();
    for (String key : keys) {
      String section = key.substring(0, key.lastIndexOf('.') + 1);
      boolean whole =
          !section.isEmpty()
              && keys.stream()
                  .filter(other -> other.startsWith(section))
                  .allMatch(other -> traits(other).contains(trait));
      if (traits(key).contains(trait)) {
        names.add(whole ? section + "*" : key);
      }
    }
    return names;
  }

  /**
   * Returns a text, or the default when absent.
   *
   * @param key of this section
   * @param otherwise the default
   * @return the text
   */
  public String string(String key, String otherwise) {
    Object found = value(key);
    if (found == null) {
      return byDefault(key, otherwise);
    }
    if (found instanceof String text) {
      return usable(key, text);
    }
    throw wrong(key, found, "a string");
  }

  /**
   * Returns a text that must be present and not blank.
   *
   * @param key of this section
   * @return the text
   */
  public String requiredString(String key) {
    String found = string(key, null);
    if (found == null) {
      throw refuse(key, "is missing, expected a string");
    }
    if (found.isBlank()) {
      throw wrong(key, found, "a string that is not blank");
    }
    return found;
  }

  /**
   * Returns a text that may be absent but not blank.
   *
   * @param key of this section
   * @return the text
   */
  public Optional<String> optionalString(String key) {
    return has(key) ? Optional.of(requiredString(key)) : Optional.empty();
  }

  /**
   * Returns the path of a file or folder, which may be absent but not blank.
   *
   * @param key of this section
   * @return the path
   */
  public Optional<Path> path(String key) {
    return optionalString(key).map(text -> converted(key, text, Path::of, "a path"));
  }

  /**
   * Returns an address such as {@code https://host/folder/}, which may be absent but not blank.
   *
   * @param key of this section
   * @return the address
   */
  public Optional<URI> address(String key) {
    return optionalString(key)
        .map(text -> converted(key, text, URI::create, "an address such as https://host/folder/"));
  }

  /**
   * Returns one of {@code choices}.
   *
   * @param key of this section
   * @param otherwise the default when absent; null if the key is required
   * @param choices the allowed texts
   * @return one of the choices
   */
  public String choice(String key, String otherwise, String... choices) {
    String found = string(key, otherwise);
    List<String> allowed = List.of(choices);
    if (found != null && allowed.contains(found)) {
      return found;
    }
    String expected = "one of " + String.join(", ", allowed);
    throw found == null
        ? refuse(key, "is missing, expected " + expected)
        : wrong(key, found, expected);
  }

  /**
   * Returns a whole number within the bounds, both included; {@code 3.0} counts as whole.
   *
   * @param key of this section
   * @param otherwise the default
   * @param least the lower bound
   * @param most the upper bound
   * @return the number
   */
  public int integer(String key, int otherwise, int least, int most) {
    return (int) longInteger(key, otherwise, least, most);
  }

  /**
   * Returns a whole number within the bounds, both included; {@code 3.0} counts as whole.
   *
   * @param key of this section
   * @param otherwise the default
   * @param least the lower bound
   * @param most the upper bound
   * @return the number
   */
  public long longInteger(String key, long otherwise, long least, long most) {
    Object found = value(key);
    if (found == null) {
      return byDefault(key, otherwise);
    }
    if (found instanceof Number number && number.doubleValue() == number.longValue()) {
      long value = number.longValue();
      if (value >= least && value <= most) {
        return value;
      }
    }
    throw wrong(key, found, "a whole number from %s to %s".formatted(least, most));
  }

  /**
   * Returns a finite number within the bounds, both included.
   *
   * @param key of this section
   * @param otherwise the default
   * @param least the lower bound
   * @param most the upper bound
   * @return the number
   */
  public double number(String key, double otherwise, double least, double most) {
    Object found = value(key);
    if (found == null) {
      return byDefault(key, otherwise);
    }
    if (found instanceof Number number) {
      double value = number.doubleValue();
      if (Double.isFinite(value) && value >= least && value <= most) {
        return value;
      }
    }
    throw wrong(key, found, "a number from %s to %s".formatted(least, most));
  }

  /**
   * Returns a truth value, which must be the JSON literal true or false.
   *
   * @param key of this section
   * @param otherwise the default
   * @return the flag
   */
  public boolean flag(String key, boolean otherwise) {
    Object found = value(key);
    if (found == null) {
      return byDefault(key, otherwise);
    }
    if (found instanceof Boolean flag) {
      return flag;
    }
    throw wrong(key, found, "true or false");
  }

  /**
   * Returns a list of finite numbers, immutable.
   *
   * @param key of this section
   * @param otherwise the default
   * @return the numbers
   */
  public List<Double> numbers(String key, List<Double> otherwise) {
    return list(key, otherwise, "number", Settings::finite);
  }

  /**
   * Returns the numbers of a required key that holds one finite number or a list of at least one;
   * immutable.
   *
   * @param key of this section
   * @return at least one number
   */
  public List<Double> oneOrMoreNumbers(String key) {
    Object found = value(key);
    List<Double> numbers =
        found instanceof JsonArray
            ? numbers(key, List.of())
            : Stream.ofNullable(finite(found)).toList();
    if (numbers.isEmpty()) {
      String expected = "a number or a list of numbers";
      throw found == null
          ? refuse(key, "is missing, expected " + expected)
          : wrong(key, found, expected);
    }
    return numbers;
  }

  /**
   * Returns a list of texts, immutable.
   *
   * @param key of this section
   * @param otherwise the default
   * @return the texts
   */
  public List<String> textList(String key, List<String> otherwise) {
    return list(
        key,
        otherwise,
        "string",
        element -> element instanceof String text ? usable(key, text) : null);
  }

  /**
   * Finds the key of a job file that other programs give this name, such as {@code lr}.
   *
   * @param name as it was typed
   * @return the path of the key, {@code optimizer.learningRate}; empty when other programs do not
   *     use the name
   */
  public static Optional<String> usualKey(String name) {
    return NearestKey.usual(name);
  }

  /**
   * Refuses every key that was not read, and suggests the nearest known one. The root may have a
   * key {@code $schema}, in which editors look for the schema of the file.
   */
  public void refuseUnknown() {
    for (String key : values.fieldNames()) {
      if (!known.containsKey(key) && !(path.isEmpty() && key.equals(SCHEMA))) {
        throw refuse(key, "is not a known key, " + suggestion(key));
      }
    }
  }

  /**
   * Creates an error about one key, for checks that involve several keys: {@code file: path
   * message}.
   *
   * @param key of this section
   * @param message what was found and what was expected
   * @return an error to be thrown
   */
  public SettingsException refuse(String key, String message) {
    return new SettingsException("%s: %s %s".formatted(origin, at(key), message));
  }

  /**
   * Returns the section as it was written, for the run's records.
   *
   * @return a copy
   */
  public JsonObject toJson() {
    return values.copy();
  }

  /**
   * Returns the section with its defaults: the values that were written, and the default of every
   * key that was read but is absent. The keys are sorted, so equal settings always give equal text.
   * A known key with the value null counts as absent.
   *
   * @return a copy
   */
  public JsonObject resolved() {
    Map<String, Object> resolved = new TreeMap<>(defaults.copy().getMap());
    values
        .copy()
        .getMap()
        .forEach(
            (key, value) -> {
              if (value != null || !known.containsKey(key)) {
                resolved.put(key, value);
              }
            });
    sections.forEach((key, section) -> resolved.put(key, section.resolved()));
    return new JsonObject(resolved);
  }

  private <T> List<T> list(
      String key, List<T> otherwise, String noun, Function<Object, T> element) {
    Object found = value(key);
    if (found == null) {
      return byDefault(key, otherwise);
    }
    if (!(found instanceof JsonArray array)) {
      throw wrong(key, found, "a list of %ss".formatted(noun));
    }
    List<T> elements = new ArrayList<>();
    for (int i = 0; i < array.size(); i++) {
      T value = element.apply(array.getValue(i));
      if (value == null) {
        throw wrong("%s[%s]".formatted(key, i), array.getValue(i), "a " + noun);
      }
      elements.add(value);
    }
    return List.copyOf(elements);
  }

  private static Double finite(Object element) {
    return element instanceof Number number && Double.isFinite(number.doubleValue())
        ? Double.valueOf(number.doubleValue())
        : null;
  }

  private <T> T byDefault(String key, T otherwise) {
    if (otherwise != null) {
      defaults.put(key, otherwise instanceof List<?> list ? new JsonArray(list) : otherwise);
    }
    return otherwise;
  }

  private Object value(String key) {
    known.merge(key, traits, Settings::both);
    return values.getValue(key);
  }

  private static Set<KeyTrait> both(Set<KeyTrait> before, Set<KeyTrait> now) {
    Set<KeyTrait> all = EnumSet.noneOf(KeyTrait.class);
    all.addAll(before);
    all.addAll(now);
    return all;
  }

  private SettingsException wrong(String key, Object found, String expected) {
    String shown = found instanceof String text ? '"' + text + '"' : String.valueOf(found);
    return refuse(key, "is %s, expected %s".formatted(escaped(shown), expected));
  }

  /** Refuses characters that JSON allows but file names, addresses and messages do not. */
  private String usable(String key, String text) {
    OptionalInt at = JsonText.unusableCharacter(text);
    if (at.isPresent()) {
      throw refuse(key, JsonText.unusable(text, at.getAsInt()));
    }
    return text;
  }

  private <T> T converted(String key, String text, Function<String, T> reading, String expected) {
    try {
      return reading.apply(text);
    } catch (IllegalArgumentException unreadable) {
      throw wrong(key, text, expected);
    }
  }

  private String at(String key) {
    return path.isEmpty() ? escaped(key) : path + "." + escaped(key);
  }

  /**
   * Returns the beginning of a text for a message, without line breaks and other control
   * characters.
   */
  static String escaped(String text) {
    StringBuilder shown = new StringBuilder();
    int length = Math.min(text.length(), SHOWN_CHARACTERS);
    int unusable = JsonText.unusableCharacter(text.substring(0, length)).orElse(length);
    for (int i = 0; i < length; i++) {
      char c = text.charAt(i);
      if (Character.isISOControl(c) || i >= unusable && Character.isSurrogate(c)) {
        shown.append("\\u%04x".formatted((int) c));
      } else {
        shown.append(c);
      }
    }
    return text.length() > length ? shown + "..." : shown.toString();
  }

  private String suggestion(String key) {
    if (known.isEmpty()) {
      return "expected none";
    }
    return NearestKey.of(key, path, known.keySet())
        .map("did you mean \"%s\"?"::formatted)
        .orElseGet(() -> "expected one of " + String.join(", ", known.keySet()));
  }
}
