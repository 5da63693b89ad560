package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberReferenceTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Reads the sources of all modules: nothing that they write may depend on the user's language. In
 * the locale {@code ar_EG}, {@code "%d".formatted(1)} is an Arabic digit, and in {@code tr_TR}
 * {@code "I".toLowerCase()} is not {@code "i"}. A file of such a name is not found again, and such
 * a number is not JSON.
 *
 * <p>{@code %s}, {@code %x}, {@code %X}, {@code %c}, {@code %b} and {@code %n} are the same in all
 * languages. All other conversions need {@code String.format(Locale.ROOT, ...)}, a change of case
 * and the pattern of a date need {@code Locale.ROOT}.
 */
@Tag("slow")
class LocaleRuleTest {

  @Test
  void shouldDependOnNoLanguageWhenSourcesWriteText() throws IOException {
    List<JavaSource> sources = JavaSource.all();

    assertTrue(sources.size() > 500, sources.size() + " sources");
    assertEquals("", String.join("\n", findings(sources)));
  }

  @Test
  void shouldRefuseEachCallWhenItDependsOnTheLanguage() throws IOException {
    List<String> members =
        List.of(
            "String s = \"%d\".formatted(1);",
            "String s = (\"a\" + \"%,d\").formatted(1);",
            "String p = \"%.1f\"; String s = p.formatted(1.0);",
            "String s(String p) { return p.formatted(1); }",
            "Object s = x.map(\"%d\"::formatted);",
            "String s = String.format(\"%08d\", 1);",
            "String s = String.format(Locale.getDefault(), \"%s\", 1);",
            "Object s = System.out.printf(\"%e\", 1.0);",
            "String s = \"%S\".formatted(\"i\");",
            "String s = \"I\".toLowerCase();",
            "Object s = x.map(String::toUpperCase);",
            "Object s = DateTimeFormatter.ofPattern(\"yyyy\");",
            "Object s = new Scanner(System.in);");

    for (String member : members) {
      assertEquals(1, findingsIn(member).size(), member);
    }
  }

  @Test
  void shouldAllowEachCallWhenItIsTheSameInAllLanguages() throws IOException {
    List<String> members =
        List.of(
            "String s = \"%s of %08x, %-8s%n\".formatted(1, 2, 3);",
            "String p = \"%s\"; String s = p.formatted(1);",
            "String s = String.format(Locale.ROOT, \"%,d\", 1);",
            "String s = \"I\".toLowerCase(Locale.ROOT);",
            "char s = Character.toLowerCase('I');",
            "Object s = DateTimeFormatter.ofPattern(\"yyyy\", Locale.ROOT);");

    for (String member : members) {
      assertEquals(List.of(), findingsIn(member));
    }
  }

  private static List<String> findingsIn(String member) throws IOException {
    return findings(List.of(JavaSource.ofMember(member)));
  }

  private static List<String> findings(List<JavaSource> sources) {
    List<String> findings = new ArrayList<>();
    sources.forEach(source -> new Rule(source, findings).scan(source.unit(), null));
    return findings;
  }

  /** Finds the calls of a file that depend on the default locale. */
  private static final class Rule extends TreeScanner<Void, Void> {

    private static final Pattern CONVERSION =
        Pattern.compile("%(\\d+\\$)?([-#+ 0,(<]*)\\d*(\\.\\d+)?([a-zA-Z%])");
    private static final Set<String> CASES = Set.of("toLowerCase", "toUpperCase");
    private static final Set<String> LOCALIZED =
        Set.of("DecimalFormat", "Formatter", "MessageFormat", "Scanner", "SimpleDateFormat");
    private static final String ROOT = "Locale.ROOT";

    private final JavaSource source;
    private final List<String> findings;

    /** The initial values of variables, as far as the file has been read. */
    private final Map<String, Tree> values = new HashMap<>();

    private Rule(JavaSource source, List<String> findings) {
      this.source = source;
      this.findings = findings;
    }

    @Override
    public Void visitVariable(VariableTree variable, Void nothing) {
      values.put(variable.getName().toString(), variable.getInitializer());
      return super.visitVariable(variable, nothing);
    }

    @Override
    public Void visitMethodInvocation(MethodInvocationTree call, Void nothing) {
      if (call.getMethodSelect() instanceof MemberSelectTree method) {
        String name = method.getIdentifier().toString();
        String owner = method.getExpression().toString();
        List<? extends ExpressionTree> arguments = call.getArguments();
        boolean prints = name.equals("printf") && !isExample();
        if (name.equals("formatted")) {
          require(isUniversal(method.getExpression()), call);
        } else if (prints || name.equals("format") && owner.equals("String")) {
          Tree first = arguments.get(0);
          require(first.toString().endsWith(ROOT) || isUniversal(first), call);
        } else if (name.equals("ofPattern") || CASES.contains(name) && !owner.equals("Character")) {
          boolean says = !arguments.isEmpty();
          require(says && arguments.get(arguments.size() - 1).toString().endsWith(ROOT), call);
        }
      }
      return super.visitMethodInvocation(call, nothing);
    }

    @Override
    public Void visitMemberReference(MemberReferenceTree reference, Void nothing) {
      String name = reference.getName().toString();
      Tree owner = reference.getQualifierExpression();
      if (name.equals("formatted")) {
        require(isUniversal(owner), reference);
      } else if (CASES.contains(name)) {
        require(owner.toString().equals("Character"), reference);
      }
      return super.visitMemberReference(reference, nothing);
    }

    @Override
    public Void visitNewClass(NewClassTree creation, Void nothing) {
      require(!LOCALIZED.contains(creation.getIdentifier().toString()), creation);
      return super.visitNewClass(creation, nothing);
    }

    /** Examples are left out where they print: to a person, in that person's language. */
    private boolean isExample() {
      return source.unit().getSourceFile().getName().contains("examples");
    }

    /** Returns whether a pattern has literals, here or as its variable's value, and all are fit. */
    private boolean isUniversal(Tree pattern) {
      List<String> literals = new ArrayList<>();
      new TreeScanner<Void, Void>() {
        @Override
        public Void visitLiteral(LiteralTree literal, Void nothing) {
          literals.add(String.valueOf(literal.getValue()));
          return null;
        }

        @Override
        public Void visitIdentifier(IdentifierTree name, Void nothing) {
          Tree value = values.get(name.getName().toString());
          return value == null || value == pattern ? null : scan(value, nothing);
        }
      }.scan(pattern, null);
      return !literals.isEmpty() && literals.stream().allMatch(Rule::isUniversal);
    }

    private static boolean isUniversal(String literal) {
      return CONVERSION
          .matcher(literal)
          .results()
          .allMatch(found -> "bchnsxX%".contains(found.group(4)));
    }

    private void require(boolean holds, Tree found) {
      if (!holds) {
        findings.add(
            "%s: %s: expected %s, or %%s in the place of %%d"
                .formatted(source.place(found), found, ROOT));
      }
    }
  }
}
