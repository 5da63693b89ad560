package io.vertigrad.launcher;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.Trees;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A parsed Java file, for rules that all sources keep.
 *
 * @param unit its syntax tree; names are not resolved
 * @param trees positions in it
 */
public record JavaSource(CompilationUnitTree unit, Trees trees) {

  /** Parses the main sources of all modules. */
  public static List<JavaSource> all() throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(Path.of(".."))) {
      files = all.filter(JavaSource::isMain).toList();
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
      return parsed(manager.getJavaFileObjectsFromPaths(files));
    }
  }

  /** Parses one member of a class {@code A}. */
  public static JavaSource ofMember(String member) throws IOException {
    return parsed(List.of(new SourceText("class A { " + member + " }"))).get(0);
  }

  /** Returns the name of the file, and the line of a part of it: {@code FILE:LINE}. */
  public String place(Tree part) {
    long at = trees.getSourcePositions().getStartPosition(unit, part);
    return "%s:%s".formatted(unit.getSourceFile().getName(), unit.getLineMap().getLineNumber(at));
  }

  private static boolean isMain(Path file) {
    String path = file.toString().replace('\\', '/');
    return path.endsWith(".java") && path.contains("/src/main/java/");
  }

  private static List<JavaSource> parsed(Iterable<? extends JavaFileObject> files)
      throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    JavacTask task =
        (JavacTask) compiler.getTask(null, null, null, List.of("-proc:none"), null, files);
    Trees trees = Trees.instance(task);
    List<JavaSource> sources = new ArrayList<>();
    for (CompilationUnitTree unit : task.parse()) {
      sources.add(new JavaSource(unit, trees));
    }
    return sources;
  }

  private static final class SourceText extends SimpleJavaFileObject {

    private final String text;

    private SourceText(String text) {
      super(URI.create("string:///A.java"), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
