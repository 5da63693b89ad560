package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.source.tree.CaseTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.NewArrayTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.JavaSource;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Reads the sources of all modules: a property that several keys of the job file share is a {@link
 * io.vertigrad.compute.settings.KeyTrait}, given where a key is read. A class outside the settings
 * that lists keys would be forgotten when a key is added.
 *
 * <p>A list is a collection, an array, a {@code case} or the alternatives of a pattern. More than
 * two paths such as {@code data.directory} are too many, and more than two sections or other words
 * if nothing but keys is listed: the heading of a table may be called as a section is.
 */
@Tag("slow")
class KeyListsTest {

  private static final int MOST = 2;

  /** They read the keys, and give the traits. */
  private static final Set<String> SETTINGS =
      Set.of("io.vertigrad.job", "io.vertigrad.compute.settings");

  @Test
  void shouldAskForTraitsWhereCodeNamesSeveralKeys() throws IOException {
    List<JavaSource> sources = JavaSource.all();

    assertTrue(sources.size() > 500, sources.size() + " sources");
    assertEquals("", String.join("\n", findings(sources)));
  }

  @Test
  void shouldRefuseEachFormOfAList() throws IOException {
    List<String> members =
        List.of(
            "Set<String> s = Set.of(\"cluster\", \"dashboard\", \"seed\");",
            "String[] s = {\"cluster\", \"dashboard\", \"seed\"};",
            "Object s = Stream.of(\"model.name\", \"data.name\", \"other\", \"strategy.name\");",
            "Object s = Map.of(\"data.directory\", 1, \"cluster.tls\", 2, \"cluster.host\", 3);",
            "static final String KEY = \"cluster.tls\";"
                + " List<String> s = Arrays.asList(KEY, A.KEY, \"cluster.key\", \"cluster.host\");",
            "Object s = Pattern.compile(\"^(job|seed|steps)\\\\b\");",
            "int s(String k) { return switch (k) { case \"run\", \"job\", \"seed\" -> 1; default -> 0; }; }");

    for (String member : members) {
      assertEquals(1, findings(List.of(JavaSource.ofMember(member))).size(), member);
    }
  }

  @Test
  void shouldAllowWordsThatAreNoListOfKeys() throws IOException {
    List<String> members =
        List.of(
            "Object s = List.of(\"run\", \"model\", \"data\", \"notes\");",
            "Object s = Set.of(\"checkpoint.directory\", \"cluster.tls\");",
            "Object s = JsonObject.of(\"seed\", 1, \"steps\", 2, \"job\", 3);",
            "Object s = List.of(\"data.directory\", f(\"cluster.tls\"), f(\"cluster.host\"));");

    for (String member : members) {
      assertEquals(List.of(), findings(List.of(JavaSource.ofMember(member))), member);
    }
  }

  private static List<String> findings(List<JavaSource> sources) {
    Map<String, String> constants = new HashMap<>();
    sources.forEach(source -> new Constants(constants).scan(source.unit(), null));
    List<String> findings = new ArrayList<>();
    for (JavaSource source : sources) {
      Tree name = source.unit().getPackageName();
      if (name == null || !SETTINGS.contains(name.toString())) {
        new Lists(source, constants, findings).scan(source.unit(), null);
      }
    }
    return findings;
  }

  /** Walks through a file, and knows the innermost and the outermost class. */
  private abstract static class InClasses extends TreeScanner<Void, Void> {

    final Deque<String> types = new ArrayDeque<>();

    @Override
    public final Void visitClass(ClassTree declared, Void nothing) {
      types.addLast(declared.getSimpleName().toString());
      super.visitClass(declared, nothing);
      types.removeLast();
      return null;
    }
  }

  /** Collects texts by the names of their constants, such as {@code JobConfig.RESOLVED}. */
  private static final class Constants extends InClasses {

    private final Map<String, String> found;

    private Constants(Map<String, String> found) {
      this.found = found;
    }

    @Override
    public Void visitVariable(VariableTree variable, Void nothing) {
      if (variable.getInitializer() instanceof LiteralTree literal
          && literal.getValue() instanceof String text) {
        found.put(types.getFirst() + "." + variable.getName(), text);
        found.put(types.getLast() + "." + variable.getName(), text);
      }
      return super.visitVariable(variable, nothing);
    }
  }

  /** Finds the lists of keys in a file. */
  private static final class Lists extends InClasses {

    private static final Set<String> COLLECTIONS =
        Set.of("Arrays", "EnumSet", "List", "Map", "Set", "Stream");
    private static final Set<String> PATHS =
        Set.copyOf(JobConfig.read("known", new JsonObject()).settings().keys());
    private static final Set<String> WORDS = words();
    private static final Pattern ALTERNATIVES = Pattern.compile("[\\w.]+(\\|[\\w.]+)+");

    private final JavaSource source;
    private final Map<String, String> constants;
    private final List<String> findings;

    private Lists(JavaSource source, Map<String, String> constants, List<String> findings) {
      this.source = source;
      this.constants = constants;
      this.findings = findings;
    }

    /** Returns the sections of a job file and the keys outside them. */
    private static Set<String> words() {
      Set<String> words = new HashSet<>();
      PATHS.forEach(path -> words.add(path.replaceFirst("\\..*", "")));
      return words;
    }

    @Override
    public Void visitMethodInvocation(MethodInvocationTree call, Void nothing) {
      if (call.getMethodSelect() instanceof MemberSelectTree method
          && COLLECTIONS.contains(method.getExpression().toString())) {
        check(call, texts(call.getArguments()));
      }
      return super.visitMethodInvocation(call, nothing);
    }

    @Override
    public Void visitNewArray(NewArrayTree array, Void nothing) {
      if (array.getInitializers() != null) {
        check(array, texts(array.getInitializers()));
      }
      return super.visitNewArray(array, nothing);
    }

    @Override
    public Void visitCase(CaseTree label, Void nothing) {
      check(label, texts(label.getExpressions()));
      return super.visitCase(label, nothing);
    }

    @Override
    public Void visitLiteral(LiteralTree literal, Void nothing) {
      ALTERNATIVES
          .matcher(String.valueOf(literal.getValue()))
          .results()
          .forEach(found -> check(literal, List.of(found.group().split("\\|"))));
      return super.visitLiteral(literal, nothing);
    }

    private List<String> texts(List<? extends ExpressionTree> expressions) {
      List<String> texts = new ArrayList<>();
      for (ExpressionTree each : expressions) {
        if (each instanceof LiteralTree literal && literal.getValue() instanceof String text) {
          texts.add(text);
        } else if (each instanceof IdentifierTree name) {
          texts.add(constants.getOrDefault(types.getFirst() + "." + name, ""));
        } else if (each instanceof MemberSelectTree) {
          texts.add(constants.getOrDefault(each.toString(), ""));
        }
      }
      return texts;
    }

    private void check(Tree found, List<String> texts) {
      Set<String> paths = new HashSet<>(texts);
      paths.removeIf(text -> text.indexOf('.') < 0 || !PATHS.contains(text));
      boolean words = texts.size() > MOST && texts.stream().allMatch(WORDS::contains);
      if (paths.size() > MOST || words) {
        findings.add(
            "%s: lists %s: expected a KeyTrait where they are read"
                .formatted(source.place(found), texts));
      }
    }
  }
}
