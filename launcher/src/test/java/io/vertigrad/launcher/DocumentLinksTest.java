package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Checks the relative links of all documents, in the repository and in a release, the width of
 * their lines, and the words in names of test methods.
 */
class DocumentLinksTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Path ASSEMBLY = Path.of("src/main/assembly/release.xml");
  private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.+)$");
  private static final Pattern CODE = Pattern.compile("(?ms)^```.*?^```|`[^`\n]*`");

  private static final Pattern TARGET = Pattern.compile("(?<=])\\([^)\\s]*\\)|https?://\\S+");
  private static final int MOST_COLUMNS = 120;

  /** A method behind a blank line or a comment, without an annotation. */
  private static final Pattern UNMARKED_TEST =
      Pattern.compile("(?:\\n\\n|\\*/\\n) +(?:public )?void (should\\w+)\\(");

  /** Names that a colleague would have to read twice. */
  private static final Pattern TWISTED_NAME =
      Pattern.compile(
          "void (should\\w*(?:Tell|Told|Heard|Farewell|Whom|Whoever|Whatever|Wherever"
              + "|However|Whichever|GoOn|LetGo|Likewise|Anew)(?![a-z])\\w*)");

  @Test
  void shouldResolveEveryLinkInTheRepository() throws IOException {
    Map<Path, Path> all = new TreeMap<>();
    for (Path file : files(ROOT)) {
      all.put(ROOT.relativize(file), file);
    }

    assertEquals(List.of(), dead(all));
  }

  @Test
  void shouldResolveEveryLinkInARelease() throws Exception {
    Map<Path, Path> released = released();

    assertTrue(released.containsKey(Path.of("README.md")), released.keySet().toString());
    assertTrue(
        released.containsKey(Path.of("docs/reference/api.md")), released.keySet().toString());
    assertEquals(List.of(), dead(released));
  }

  @Test
  void shouldHaveNoLineOfMoreThan120Columns() throws IOException {
    List<String> wide = new ArrayList<>();
    for (Path file : files(ROOT)) {
      if (file.toString().endsWith(".md")) {
        wide(file).forEach(line -> wide.add(ROOT.relativize(file) + ":" + line));
      }
    }

    assertEquals(List.of(), wide);
  }

  @Test
  void shouldNameTestsByVerbObjectAndCondition() throws IOException {
    assertEquals(List.of(), tests(TWISTED_NAME));
  }

  @Test
  void shouldMarkEachMethodThatIsNamedAsATest() throws IOException {
    assertEquals(List.of(), tests(UNMARKED_TEST));
  }

  /** Returns the tests in which a pattern is found, with the file of each. */
  private static List<String> tests(Pattern pattern) throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : files(ROOT)) {
      if (file.toString().endsWith("Test.java")) {
        Matcher names = pattern.matcher(Files.readString(file));
        names.results().forEach(name -> found.add(file.getFileName() + ": " + name.group(1)));
      }
    }
    return found;
  }

  /** Returns the lines that are too wide; tables, code and the targets of links do not count. */
  private static List<String> wide(Path page) throws IOException {
    List<String> wide = new ArrayList<>();
    List<String> lines = Files.readAllLines(page);
    boolean fenced = false;
    boolean indented = false;
    boolean afterBlank = true;
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      boolean fence = line.strip().startsWith("```");
      fenced ^= fence;
      indented = line.startsWith("    ") && (indented || afterBlank);
      afterBlank = line.isBlank();
      int columns = TARGET.matcher(line).replaceAll("").length();
      boolean text = !fence && !fenced && !indented && !line.strip().startsWith("|");
      if (text && columns > MOST_COLUMNS) {
        wide.add("%d has %d columns, expected at most %d".formatted(i + 1, columns, MOST_COLUMNS));
      }
    }
    return wide;
  }

  /**
   * Returns links that lead to no file, or to no heading of a file; {@code files} maps paths in the
   * tree to files.
   */
  private static List<String> dead(Map<Path, Path> files) throws IOException {
    List<String> dead = new ArrayList<>();
    for (Map.Entry<Path, Path> page : files.entrySet()) {
      if (!page.getKey().toString().endsWith(".md")) {
        continue;
      }
      Matcher links = LINK.matcher(Files.readString(page.getValue()));
      while (links.find()) {
        String link = links.group(1);
        if (!link.matches("[a-z]+:.*") && !isThere(link, page.getKey(), files)) {
          dead.add(page.getKey() + ": " + link);
        }
      }
    }
    return dead;
  }

  private static boolean isThere(String link, Path page, Map<Path, Path> files) throws IOException {
    String[] parts = link.split("#", 2);
    Path target = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]).normalize();
    Path file = files.get(target);
    if (file == null) {
      return files.keySet().stream().anyMatch(other -> other.startsWith(target));
    }
    return parts.length == 1 || headings(Files.readString(file)).contains(parts[1]);
  }

  /** Returns the anchors that code hosts make from headings. */
  private static List<String> headings(String page) {
    List<String> anchors = new ArrayList<>();
    Matcher headings =
        HEADING.matcher(CODE.matcher(page).replaceAll(found -> inline(found.group())));
    while (headings.find()) {
      String text = headings.group(1).strip().toLowerCase(Locale.ROOT);
      anchors.add(text.replaceAll("[^\\p{Alnum} _-]", "").replace(' ', '-'));
    }
    return anchors;
  }

  /** Keeps code within a heading and removes code blocks, which have no headings. */
  private static String inline(String code) {
    return code.startsWith("```") ? "" : Matcher.quoteReplacement(code.replace("`", ""));
  }

  /** Returns the files that the assembly packs besides libraries, by their path in the release. */
  private static Map<Path, Path> released() throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    NodeList sets =
        factory.newDocumentBuilder().parse(ASSEMBLY.toFile()).getElementsByTagName("fileSet");
    Map<Path, Path> released = new TreeMap<>();
    for (int i = 0; i < sets.getLength(); i++) {
      Element set = (Element) sets.item(i);
      Path folder = Path.of(texts(set, "directory").get(0)).toAbsolutePath().normalize();
      Path to = Path.of(texts(set, "outputDirectory").get(0)).normalize();
      List<PathMatcher> included = matchers(texts(set, "include"));
      List<PathMatcher> excluded = matchers(texts(set, "exclude"));
      for (Path file : files(folder)) {
        Path inside = folder.relativize(file);
        boolean taken = included.isEmpty() || included.stream().anyMatch(m -> m.matches(inside));
        if (taken && excluded.stream().noneMatch(m -> m.matches(inside))) {
          released.put(to.resolve(inside).normalize(), file);
        }
      }
    }
    return released;
  }

  private static List<String> texts(Element parent, String tag) {
    NodeList found = parent.getElementsByTagName(tag);
    List<String> texts = new ArrayList<>();
    for (int i = 0; i < found.getLength(); i++) {
      texts.add(found.item(i).getTextContent());
    }
    return texts;
  }

  /**
   * Returns matchers for Maven's patterns, in which two asterisks and a slash also match no folder.
   */
  private static List<PathMatcher> matchers(Collection<String> patterns) {
    return patterns.stream()
        .flatMap(p -> p.startsWith("**/") ? Stream.of(p, p.substring(3)) : Stream.of(p))
        .map(p -> FileSystems.getDefault().getPathMatcher("glob:" + p))
        .toList();
  }

  /** Returns the files of a folder without hidden and built ones. */
  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile)
          .filter(
              file ->
                  !(File.separator + folder.relativize(file)).matches(".*/(\\.|target/|runs/).*"))
          .toList();
    }
  }
}
