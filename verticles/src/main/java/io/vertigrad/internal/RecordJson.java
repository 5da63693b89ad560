package io.vertigrad.internal;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Converts records to JSON and back. Each component is one key, in the order of the components.
 *
 * <p>Numbers, booleans, texts, lists, {@code Map<Integer, Long>} and nested records need no
 * description. A {@link Form} describes any other type. An empty {@code Optional} has no key. A
 * sealed interface is read as the first of its records whose required keys are all there.
 *
 * <p>A strict reader throws {@link IllegalArgumentException} if a value has the wrong type or a
 * required key is missing; the message names the place, what was found and what was expected. A
 * lenient reader reads such a value as 0, false, the empty string, the empty map or the empty list,
 * except that it refuses a value that does not fit its {@link Form}.
 */
public final class RecordJson {

  private static final Set<String> NOT_FINITE = Set.of("NaN", "Infinity", "-Infinity");
  private static final Map<Class<?>, Object> ABSENT =
      Map.of(
          boolean.class,
          false,
          int.class,
          0,
          long.class,
          0L,
          double.class,
          0.0,
          String.class,
          "",
          List.class,
          List.of(),
          Map.class,
          Map.of(),
          Optional.class,
          Optional.empty(),
          OptionalLong.class,
          OptionalLong.empty());

  /** The shape of a record, or those of a sealed interface's records. */
  private static final ClassValue<List<Shape>> SHAPES =
      new ClassValue<>() {
        @Override
        protected List<Shape> computeValue(Class<?> type) {
          return type.isSealed()
              ? Stream.of(type.getPermittedSubclasses()).map(Shape::of).toList()
              : List.of(Shape.of(type));
        }
      };

  private final boolean strict;
  private final Omission omission;
  private final Map<Type, Form<?, ?>> forms;

  /** The key of a component, if it is not the component's name. */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.RECORD_COMPONENT)
  public @interface Key {
    /** Returns the key. */
    String value();
  }

  /**
   * The component is a record whose keys stand beside the keys of the other components. An optional
   * one is absent if its first key is. It may also be a map of an enum to {@code Double}; the text
   * of a constant is then a key, and constants without a key are not in the map.
   */
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.RECORD_COMPONENT)
  public @interface Inline {}

  /**
   * A strict reader accepts a message without this component, or without any component of this
   * record. Booleans and optional components need no such mark.
   */
  @Retention(RetentionPolicy.RUNTIME)
  @Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
  public @interface MayBeAbsent {
    /** Returns what a {@code long} is then; other types are 0, empty, or a record without keys. */
    long value() default 0;
  }

  /** Decides which components a writer leaves out. */
  @FunctionalInterface
  public interface Omission {

    /** Returns whether the record is written without the key that has this value. */
    boolean omits(Record record, String key, Object value);
  }

  /**
   * The form of a type in JSON.
   *
   * @param type a type of components, or of elements of lists
   * @param json {@code String}, {@code JsonObject}, {@code JsonArray} or {@code Number}
   * @param expected completes "expected ..." for one value, and "expected a list of ..." for a list
   * @param reader may throw the exceptions of casts, missing elements and missing values
   */
  public record Form<T, J>(
      Class<T> type, Class<J> json, String expected, Function<T, J> writer, Function<J, T> reader) {

    /** Returns the form of an enum: the constant's name in lower case. */
    public static <E extends Enum<E>> Form<E, String> choice(Class<E> type, String expected) {
      Function<E, String> lower = constant -> constant.name().toLowerCase(Locale.ROOT);
      return new Form<>(
          type,
          String.class,
          expected,
          lower,
          text ->
              Arrays.stream(type.getEnumConstants())
                  .filter(constant -> lower.apply(constant).equals(text))
                  .findFirst()
                  .orElseThrow(IllegalArgumentException::new));
    }

    private Object write(Object value) {
      return writer.apply(type.cast(value));
    }

    private T read(Object found) {
      return Objects.requireNonNull(reader.apply(json.cast(found)));
    }

    /** Returns what to expect where the JSON is not even of the right kind. */
    private String expectedKind() {
      return json == String.class ? "a text" : json == JsonArray.class ? "a list" : expected;
    }
  }

  private RecordJson(boolean strict, Omission omission, Form<?, ?>... forms) {
    this.strict = strict;
    this.omission = omission;
    this.forms =
        Stream.of(forms).collect(Collectors.toUnmodifiableMap(Form::type, Function.identity()));
  }

  /** Returns a converter whose reader is strict. */
  public static RecordJson strict(Omission omission, Form<?, ?>... forms) {
    return new RecordJson(true, omission, forms);
  }

  /** Returns a converter whose reader is lenient. */
  public static RecordJson lenient(Omission omission, Form<?, ?>... forms) {
    return new RecordJson(false, omission, forms);
  }

  /** Writes a record. */
  public JsonObject write(Record record) {
    JsonObject json = new JsonObject();
    for (Component component : SHAPES.get(record.getClass()).get(0).components()) {
      Object value = component.valueIn(record);
      if (Optional.empty().equals(value)
          || OptionalLong.empty().equals(value)
          || omission.omits(record, component.key(), value)) {
        continue;
      }
      Object written = write(component.type(), value);
      if (component.inline()) {
        json.mergeIn((JsonObject) written);
      } else {
        json.put(component.key(), written);
      }
    }
    return json;
  }

  private Object write(Type type, Object value) {
    if (forms.containsKey(type)) {
      return forms.get(type).write(value);
    }
    if (value instanceof Optional<?> present) {
      return write(element(type), present.orElseThrow());
    }
    if (value instanceof OptionalLong present) {
      return present.getAsLong();
    }
    if (value instanceof List<?> list) {
      JsonArray json = new JsonArray();
      list.forEach(each -> json.add(write(element(type), each)));
      return json;
    }
    if (value instanceof Map<?, ?> counts) {
      JsonObject json = new JsonObject();
      new TreeMap<>(counts).forEach((key, count) -> json.put(key.toString(), number(count)));
      return json;
    }
    return value instanceof Record record ? write(record) : value;
  }

  /**
   * Reads a record.
   *
   * @param message its name, which begins the messages of exceptions
   */
  public <T> T read(Class<T> type, JsonObject json, String message) {
    Shape shape =
        SHAPES.get(type).stream()
            .filter(candidate -> !type.isSealed() || candidate.requiredIn(json))
            .findFirst()
            .orElseThrow();
    return type.cast(
        shape.create(
            shape.components().stream()
                .map(component -> read(component, json, message))
                .toArray()));
  }

  private Object read(Component component, JsonObject json, String message) {
    Type type = component.type();
    if (component.inline()) {
      return inlined(type, json, message);
    }
    Place place = new Place(message, component.key(), json.getValue(component.key()));
    if (place.found() != null || strict && !component.mayBeAbsent()) {
      return read(type, place);
    }
    if (type == long.class) {
      return component.absentNumber();
    }
    return raw(type).isRecord() || raw(type).isSealed()
        ? nested(type, new JsonObject(), place)
        : ABSENT.get(raw(type));
  }

  /** Returns a number as it is written: whole if it has no fraction. */
  private static Object number(Object value) {
    return value instanceof Double number && number == number.longValue()
        ? (Object) number.longValue()
        : value;
  }

  private Object inlined(Type type, JsonObject json, String message) {
    if (raw(type) == Map.class) {
      return named(raw(element(type)), json, message);
    }
    if (raw(type) != Optional.class) {
      return read(raw(type), json, message);
    }
    Class<?> record = raw(element(type));
    return json.getValue(SHAPES.get(record).get(0).components().get(0).key()) == null
        ? Optional.empty()
        : Optional.of(read(record, json, message));
  }

  private Map<?, Double> named(Class<?> names, JsonObject json, String message) {
    Map<Object, Double> values = new TreeMap<>();
    for (Object name : names.getEnumConstants()) {
      Place place = new Place(message, name.toString(), json.getValue(name.toString()));
      if (place.found() != null) {
        values.put(name, (Double) read(double.class, place));
      }
    }
    return values;
  }

  private Object read(Type type, Place place) {
    Object found = place.found();
    if (forms.containsKey(type)) {
      return formed(forms.get(type), place);
    }
    if (type == int.class
        || type == Integer.class
        || type == long.class
        || type == OptionalLong.class) {
      return whole(type, place);
    }
    if (type == double.class) {
      // JSON has no numbers that are not finite; they travel as text.
      expect(
          found instanceof Number || found instanceof String text && NOT_FINITE.contains(text),
          place,
          "a number");
      return Double.valueOf(found.toString());
    }
    if (type == boolean.class) {
      expect(found instanceof Boolean, place, "true or false");
      return Boolean.TRUE.equals(found);
    }
    if (type == String.class) {
      expect(found instanceof String, place, "a text");
      return String.valueOf(found);
    }
    if (raw(type) == Optional.class) {
      return Optional.of(read(element(type), place));
    }
    if (raw(type) == List.class) {
      expect(found instanceof JsonArray, place, "a list");
      return found instanceof JsonArray array ? list(element(type), array, place) : List.of();
    }
    if (raw(type) == Map.class) {
      expect(found instanceof JsonObject, place, "an object");
      return found instanceof JsonObject json ? counts(json) : Map.of();
    }
    expect(found instanceof JsonObject, place, "an object");
    return nested(type, (JsonObject) found, place);
  }

  /** Reads a whole number; an {@code int} is a count, which is never negative. */
  private Object whole(Type type, Place place) {
    Object found = place.found();
    expect(found instanceof Long || found instanceof Integer, place, "a whole number");
    Number number = found instanceof Number value ? value : 0;
    if (type == int.class || type == Integer.class) {
      expect(
          number.longValue() >= 0 && number.longValue() <= Integer.MAX_VALUE,
          place,
          "a whole number from 0 to " + Integer.MAX_VALUE);
      return number.intValue();
    }
    return type == long.class ? number.longValue() : OptionalLong.of(number.longValue());
  }

  private static Object formed(Form<?, ?> form, Place place) {
    if (!form.json().isInstance(place.found())) {
      throw place.expected(form.expectedKind());
    }
    return attempt(() -> form.read(place.found()), place, form.expected());
  }

  private List<?> list(Type element, JsonArray array, Place place) {
    Form<?, ?> form = forms.get(element);
    return form == null
        ? array.stream()
            .map(found -> read(element, new Place(place.message(), place.key(), found)))
            .toList()
        : attempt(
            () -> array.stream().map(form::read).toList(), place, "a list of " + form.expected());
  }

  private static <T> T attempt(Supplier<T> reading, Place place, String expected) {
    try {
      return reading.get();
    } catch (IllegalArgumentException
        | ClassCastException
        | IndexOutOfBoundsException
        | NullPointerException malformed) {
      throw place.expected(expected);
    }
  }

  private static Map<Integer, Long> counts(JsonObject json) {
    Map<Integer, Long> counts = new TreeMap<>();
    json.forEach(
        entry ->
            counts.put(Integer.valueOf(entry.getKey()), ((Number) entry.getValue()).longValue()));
    return counts;
  }

  private Object nested(Type record, JsonObject json, Place place) {
    return read(raw(record), json, place.message() + ": " + place.key());
  }

  private void expect(boolean holds, Place place, String what) {
    if (strict && !holds) {
      throw place.expected(what);
    }
  }

  private static Class<?> raw(Type type) {
    return (Class<?>) (type instanceof ParameterizedType generic ? generic.getRawType() : type);
  }

  /** Returns the element type of a list or of an optional value. */
  private static Type element(Type generic) {
    return ((ParameterizedType) generic).getActualTypeArguments()[0];
  }

  /** Describes how a record type's components are written in JSON. */
  private record Shape(List<Component> components, Constructor<?> constructor) {

    static Shape of(Class<?> type) {
      RecordComponent[] components = type.getRecordComponents();
      try {
        Constructor<?> constructor =
            type.getDeclaredConstructor(
                Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
        constructor.setAccessible(true);
        return new Shape(Arrays.stream(components).map(Component::of).toList(), constructor);
      } catch (NoSuchMethodException e) {
        throw new IllegalStateException(type.getName() + " is no record", e);
      }
    }

    boolean requiredIn(JsonObject json) {
      return components.stream()
          .allMatch(each -> each.mayBeAbsent() || json.getValue(each.key()) != null);
    }

    Object create(Object[] values) {
      try {
        return constructor.newInstance(values);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(constructor + " failed", e);
      }
    }
  }

  private record Component(
      String key,
      Type type,
      boolean inline,
      boolean mayBeAbsent,
      long absentNumber,
      Method accessor) {

    static Component of(RecordComponent component) {
      Key key = component.getAnnotation(Key.class);
      MayBeAbsent absent = component.getAnnotation(MayBeAbsent.class);
      component.getAccessor().setAccessible(true);
      return new Component(
          key == null ? component.getName() : key.value(),
          component.getGenericType(),
          component.isAnnotationPresent(Inline.class),
          absent != null
              || component.getDeclaringRecord().isAnnotationPresent(MayBeAbsent.class)
              || Set.of(boolean.class, Optional.class, OptionalLong.class)
                  .contains(component.getType()),
          absent == null ? 0 : absent.value(),
          component.getAccessor());
    }

    Object valueIn(Record record) {
      try {
        return accessor.invoke(record);
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(accessor + " failed", e);
      }
    }
  }

  /** A value in a message that is being read. */
  private record Place(String message, String key, Object found) {

    IllegalArgumentException expected(String what) {
      String text =
          found == null
              ? "nothing"
              : found instanceof String ? "\"" + found + "\"" : String.valueOf(found);
      return new IllegalArgumentException(
          "%s: %s: found %s, expected %s".formatted(message, key, text, what));
    }
  }
}
