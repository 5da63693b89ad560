package io.vertigrad.internal.transport;

import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassReader;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.ClassWriter;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.MethodVisitor;
import com.tngtech.archunit.thirdparty.org.objectweb.asm.Opcodes;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;

/**
 * Loads this program's classes a second time, with a call at the beginning of each method, and
 * records the classes whose methods are entered while a predicate holds.
 *
 * <p>Constructors and static initialisers are not recorded.
 */
public final class EnteredCode extends ClassLoader {

  /** Its methods are called in every step. */
  private static final String WATCHED = "io.vertigrad.internal.worker.ServerExchange";

  private static final String PROGRAM = "io.vertigrad.";
  private static final String HERE = EnteredCode.class.getName().replace('.', '/');

  /** Looking at callers is slow, and the calls of a class soon repeat. */
  private static final int MOST_LOOKS = 2_000;

  private static final StackWalker STACK = StackWalker.getInstance();

  private static final Predicate<List<String>> NOTHING = callers -> false;
  private static final LongAdder CALLS = new LongAdder();
  private static final Map<String, Integer> LOOKS = new ConcurrentHashMap<>();
  private static final Set<String> ENTERED = new ConcurrentSkipListSet<>();
  private static volatile Predicate<List<String>> recorded = NOTHING;

  static {
    registerAsParallelCapable();
  }

  /** Creates a loader with no class loaded. */
  EnteredCode() {
    super(EnteredCode.class.getClassLoader());
  }

  /**
   * Records from now on, instead of what was recorded before.
   *
   * @param callers whether to record a call with this stack within the program, as {@code
   *     Type.method}; the first is the method that was called
   */
  static void record(Predicate<List<String>> callers) {
    ENTERED.clear();
    LOOKS.clear();
    recorded = callers;
  }

  /** Stops recording and returns the names of the classes that were entered. */
  static Set<String> stop() {
    recorded = NOTHING;
    return Set.copyOf(ENTERED);
  }

  /** Returns how many calls of methods of {@link #WATCHED} there were. */
  static long calls() {
    return CALLS.sum();
  }

  /** Called at the beginning of each method. */
  public static void entered(String type) {
    if (type.equals(WATCHED)) {
      CALLS.increment();
    }
    Predicate<List<String>> now = recorded;
    if (now != NOTHING
        && !ENTERED.contains(type)
        && LOOKS.merge(type, 1, Integer::sum) <= MOST_LOOKS) {
      List<String> callers =
          STACK.walk(
              frames ->
                  frames
                      .skip(1)
                      .filter(frame -> frame.getClassName().startsWith(PROGRAM))
                      .map(frame -> frame.getClassName() + "." + frame.getMethodName())
                      .toList());
      if (now.test(callers)) {
        ENTERED.add(type);
      }
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith(PROGRAM) || name.equals(EnteredCode.class.getName())) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> loaded = findLoadedClass(name);
      return loaded == null ? findClass(name) : loaded;
    }
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
      if (file == null) {
        throw new ClassNotFoundException(name);
      }
      ClassReader reader = new ClassReader(file);
      ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
      reader.accept(new CallAtTheBeginning(name, writer), 0);
      byte[] code = writer.toByteArray();
      return defineClass(name, code, 0, code.length);
    } catch (IOException e) {
      throw new ClassNotFoundException(name, e);
    }
  }

  private static final class CallAtTheBeginning extends ClassVisitor {

    private final String type;

    CallAtTheBeginning(String type, ClassVisitor next) {
      super(Opcodes.ASM9, next);
      this.type = type;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
      return name.startsWith("<")
          ? next
          : new MethodVisitor(Opcodes.ASM9, next) {
            @Override
            public void visitCode() {
              super.visitCode();
              visitLdcInsn(type);
              visitMethodInsn(
                  Opcodes.INVOKESTATIC, HERE, "entered", "(Ljava/lang/String;)V", false);
            }
          };
    }
  }
}
